//! The screen as a whole: which parts are there at its size, and what lies over them.

use ratatui::{Frame, buffer::Buffer, layout::Rect};

use super::{
    events, fleet, footer, groups, header, holds,
    paint::{Ink, Line, blank, frame, lines},
    passes, popup,
};
use crate::console::{
    layout::{Layout, MINIMAL, Pane, Tier},
    model::Model,
    palette::Role,
};

/// Paints the model; total at every size.
pub fn draw(model: &Model, target: &mut Frame<'_>) {
    let screen = target.area();
    paint(model, target.buffer_mut(), screen);
}

fn paint(model: &Model, buf: &mut Buffer, screen: Rect) {
    let ink = Ink::of(model);
    let layout = Layout::of(screen);
    if layout.tier == Tier::TooSmall {
        return too_small(model, buf, ink, screen);
    }
    header::draw(model, buf, ink, &layout);
    tabs(model, buf, ink, &layout);
    for pane in Pane::ALL {
        if let Some(area) = layout.pane(pane, model.pane) {
            draw_pane(model, buf, &layout, pane, area);
        }
    }
    if !model.is_linked() {
        buf.set_style(layout.body.intersection(buf.area), ink.style(Role::Faint));
    }
    footer::draw(model, buf, ink, &layout);
    popup::draw(model, buf, ink, screen);
}

fn draw_pane(model: &Model, buf: &mut Buffer, layout: &Layout, pane: Pane, area: Rect) {
    let ink = Ink::of(model);
    let inside = layout.inside(area);
    if layout.tier != Tier::Minimal {
        let title = title(model, pane);
        frame(buf, ink, area, &title, pane == model.pane);
    }
    let Some(view) = model.shown.as_deref() else {
        let text = if pane == Pane::Fleet { " waiting for the first snapshot" } else { "" };
        return lines(buf, ink, inside, &[Line::of(Role::Faint, text)]);
    };
    match pane {
        Pane::Groups => groups::draw(model, view, buf, inside),
        Pane::Fleet => fleet::draw(model, view, buf, inside, layout.tier),
        Pane::Passes => passes::draw(model, view, buf, inside),
        Pane::Events => events::draw(model, view, buf, inside),
        Pane::Holds => holds::draw(model, view, buf, inside),
    }
}

fn title(model: &Model, pane: Pane) -> String {
    let head = format!("[{}] {}", pane.number(), pane.title());
    let Some(view) = model.shown.as_deref() else { return head };
    match pane {
        Pane::Groups => format!("{head} {}", view.groups.len()),
        Pane::Fleet => fleet::title(model, view, &head),
        Pane::Events if model.events.is_following() => format!("{head} [follow]"),
        Pane::Passes | Pane::Events => head,
        Pane::Holds => format!("{head} {}", view.holds.len()),
    }
}

fn tabs(model: &Model, buf: &mut Buffer, ink: Ink, layout: &Layout) {
    let mut line = Line::default();
    for pane in Pane::ALL {
        let held = model.shown.as_deref().is_some_and(|view| !view.holds.is_empty());
        let mark = if pane == Pane::Holds && held { "!" } else { "" };
        let name = format!("{} {}{mark}", pane.number(), pane.title());
        line = if pane == model.pane {
            line.and(Role::Strong, format!(" [{name}]"))
        } else {
            line.and(Role::Plain, format!("  {name} "))
        };
    }
    lines(buf, ink, layout.tabs, &[line]);
}

/// A screen too small for a pane still says how the run stands and how to leave.
fn too_small(model: &Model, buf: &mut Buffer, ink: Ink, screen: Rect) {
    blank(buf, screen);
    let (width, height) = MINIMAL;
    let size = format!("{}x{} is too small; need {width}x{height}.", screen.width, screen.height);
    let card = [
        Line::of(Role::Strong, size),
        header::brief(model),
        Line::of(Role::Plain, "q quit  (levelhead status works)"),
    ];
    lines(buf, ink, screen, &card);
}
