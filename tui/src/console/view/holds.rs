//! The open holds: what is in doubt, and the exact command that leaves it (P6).

use driver::view::{HoldView, RunView};
use ratatui::{buffer::Buffer, layout::Rect};

use super::paint::{Ink, Line, Pen, lines};
use crate::console::{
    clock,
    keymap::Context,
    layout::{self, Pane},
    model::Model,
    palette::Role,
    text,
};

/// Draws the pane.
pub(super) fn draw(model: &Model, view: &RunView, buf: &mut Buffer, area: Rect) {
    let ink = Ink::of(model);
    let (list, below) = layout::list_part(Pane::Holds, area);
    if view.holds.is_empty() {
        return lines(buf, ink, list, &[Line::of(Role::Good, " nothing is held")]);
    }
    if let Some(mut pen) = Pen::new(buf, ink, list, 0) {
        pen.put(Role::Strong, " ");
        pen.cell(Role::Strong, "SUBJECT", 18);
        pen.cell(Role::Strong, "REASON", 24);
        pen.number(Role::Strong, "SINCE", 5);
    }
    let top = model.holds.top();
    let height = usize::from(list.height.saturating_sub(1));
    for (at, hold) in view.holds.iter().skip(top).take(height).enumerate() {
        let Some(mut pen) = Pen::new(buf, ink, list, at.saturating_add(1)) else { break };
        let here = top.saturating_add(at) == model.holds.at();
        pen.put(Role::Plain, if here { ">" } else { " " });
        pen.cell(Role::Plain, &hold.subject, 18);
        pen.cell(Role::Bad, hold.code.as_str(), 24);
        pen.number(Role::Plain, &clock::length(model.now.wall.since(hold.since)), 5);
        if here && model.pane == Pane::Holds {
            pen.cover(Role::Selected);
        }
    }
    if let Some(hold) = view.holds.get(model.holds.at()) {
        lines(buf, ink, below, &explain(model, hold, below));
    }
}

/// The command comes first: it must be seen even where the text is long.
fn explain(model: &Model, hold: &HoldView, area: Rect) -> Vec<Line> {
    let ink = Ink::of(model);
    let room = usize::from(area.width).saturating_sub(2);
    let key = |usual| model.options.keys.told(Context::Browse(Pane::Holds), usual);
    let (release, open) = (key("r"), key("v"));
    let ways =
        format!(" {release} releases it here, {open} shows open operations; or leave it with:");
    let mut out = vec![
        Line::of(Role::Faint, ways),
        Line::of(Role::Strong, format!(" > {}", model.options.place.command(&hold.way_out))),
    ];
    let what = text::wrap(&ink.clean(&model.options.place.text(&hold.text)), room);
    out.extend(what.into_iter().map(|line| Line::of(Role::Plain, format!(" {line}"))));
    out
}
