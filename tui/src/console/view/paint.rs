//! The few ways in which text reaches a frame; all of them clean it and stay inside their area.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    widgets::{Block, Widget},
};

use crate::console::{
    glyphs::Glyphs,
    model::Model,
    palette::{Palette, Role},
    text,
};

/// Palette and glyphs of a console.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ink {
    /// The colours.
    pub(super) palette: Palette,
    /// The signs.
    pub(super) glyphs: Glyphs,
}

impl Ink {
    pub(super) const fn of(model: &Model) -> Self {
        Self { palette: model.palette(), glyphs: model.glyphs() }
    }

    pub(super) const fn style(&self, role: Role) -> Style {
        self.palette.of(role)
    }

    /// Cleans text from outside.
    pub(super) fn clean(&self, text: &str) -> String {
        text::clean(text, self.glyphs.ascii)
    }
}

/// A line of text in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(pub(super) Vec<(Role, String)>);

impl Line {
    /// A line of one piece.
    pub(super) fn of(role: Role, text: impl Into<String>) -> Self {
        Self(vec![(role, text.into())])
    }

    /// This line and one more piece.
    pub(super) fn and(mut self, role: Role, text: impl Into<String>) -> Self {
        self.0.push((role, text.into()));
        self
    }
}

/// Writes along one row, from left to right, and never beyond its end.
pub(super) struct Pen<'a> {
    buf: &'a mut Buffer,
    ink: Ink,
    row: Rect,
    x: u16,
}

impl<'a> Pen<'a> {
    /// A pen at the start of the row `at` of an area; nothing if the area has no such row.
    pub(super) fn new(buf: &'a mut Buffer, ink: Ink, area: Rect, at: usize) -> Option<Self> {
        let area = area.intersection(buf.area);
        let down = u16::try_from(at).ok().filter(|at| *at < area.height)?;
        let row = Rect { y: area.y.saturating_add(down), height: 1, ..area };
        Some(Self { buf, ink, row, x: row.x })
    }

    /// The columns that are left.
    pub(super) fn room(&self) -> usize {
        usize::from(self.row.right().saturating_sub(self.x))
    }

    /// Writes a text, cut where the row ends.
    pub(super) fn put(&mut self, role: Role, content: &str) {
        self.styled(self.ink.style(role), content);
    }

    /// Writes a text underlined.
    pub(super) fn underlined(&mut self, role: Role, content: &str) {
        self.styled(self.ink.style(role).add_modifier(Modifier::UNDERLINED), content);
    }

    fn styled(&mut self, style: Style, content: &str) {
        let shown = text::fit(&self.ink.clean(content), self.room());
        let (x, _) = self.buf.set_stringn(self.x, self.row.y, shown, self.room(), style);
        self.x = x;
    }

    /// Writes a text in exactly `width` columns, and a space.
    pub(super) fn cell(&mut self, role: Role, content: &str, width: usize) {
        let shown = text::cell(&self.ink.clean(content), width);
        self.put(role, &shown);
        self.put(Role::Plain, " ");
    }

    /// Writes a text in exactly `width` columns, to the right, and a space.
    pub(super) fn number(&mut self, role: Role, content: &str, width: usize) {
        let shown = text::right(&self.ink.clean(content), width);
        self.put(role, &shown);
        self.put(Role::Plain, " ");
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: &Line) {
        for (role, content) in &line.0 {
            self.put(*role, content);
        }
    }

    /// Lays a role over the whole row.
    pub(super) fn cover(&mut self, role: Role) {
        self.buf.set_style(self.row, self.ink.style(role));
    }
}

/// Draws lines from the top of an area, as many as fit.
pub(super) fn lines(buf: &mut Buffer, ink: Ink, area: Rect, lines: &[Line]) {
    for (at, line) in lines.iter().enumerate().take(usize::from(area.height)) {
        if let Some(mut pen) = Pen::new(buf, ink, area, at) {
            pen.line(line);
        }
    }
}

/// Draws a frame with its title.
pub(super) fn frame(buf: &mut Buffer, ink: Ink, area: Rect, title: &str, focused: bool) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let role = if focused { Role::Focus } else { Role::Plain };
    let room = usize::from(area.width).saturating_sub(4);
    let title = text::fit(&ink.clean(title), room);
    Block::bordered()
        .border_set(ink.glyphs.frame)
        .border_style(ink.style(role))
        .title(title)
        .title_style(ink.style(role))
        .render(area, buf);
}

/// Empties an area, whatever was there.
pub(super) fn blank(buf: &mut Buffer, area: Rect) {
    ratatui::widgets::Clear.render(area.intersection(buf.area), buf);
}
