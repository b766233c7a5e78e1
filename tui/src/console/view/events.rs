//! The last events.

use driver::view::{EventView, RunView};
use ratatui::{buffer::Buffer, layout::Rect};

use super::paint::{Ink, Pen};
use crate::console::{clock, layout::Pane, model::Model, palette::Role};

/// Draws the pane.
pub(super) fn draw(model: &Model, view: &RunView, buf: &mut Buffer, area: Rect) {
    let ink = Ink::of(model);
    if let Some(mut pen) = Pen::new(buf, ink, area, 0) {
        pen.put(Role::Strong, " ");
        pen.cell(Role::Strong, "TIME UTC", 8);
        pen.number(Role::Strong, "PASS", 6);
        pen.cell(Role::Strong, "SUBJECT", 14);
        pen.cell(Role::Strong, "KIND", 8);
        pen.put(Role::Strong, "EVENT");
    }
    let top = model.events.top();
    let height = usize::from(area.height.saturating_sub(1));
    for (at, event) in view.events.iter().skip(top).take(height).enumerate() {
        let Some(mut pen) = Pen::new(buf, ink, area, at.saturating_add(1)) else { break };
        row(&mut pen, event);
        if top.saturating_add(at) == model.events.at() && model.pane == Pane::Events {
            pen.cover(Role::Selected);
        }
    }
}

fn row(pen: &mut Pen<'_>, event: &EventView) {
    let role = match event.kind.as_str() {
        "failure" => Role::Bad,
        "hold" => Role::Draft,
        _ => Role::Plain,
    };
    let subject = if event.subject.is_empty() { "-" } else { &event.subject };
    pen.put(Role::Plain, " ");
    pen.cell(Role::Faint, &clock::of_day(event.at), 8);
    pen.number(Role::Faint, &event.pass.to_string(), 6);
    pen.cell(Role::Plain, subject, 14);
    pen.cell(role, &event.kind, 8);
    pen.put(Role::Plain, &event.text);
    if event.count > 1 {
        pen.put(Role::Faint, &format!(" (x{})", event.count));
    }
}
