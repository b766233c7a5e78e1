//! The last events.

use driver::view::{EventView, RunView};
use ratatui::{buffer::Buffer, layout::Rect};

use super::paint::{Ink, Pen};
use crate::console::{clock::Zone, layout::Pane, model::Model, palette::Role, text};

/// Where the lines of a whole text begin.
const INDENT: usize = 4;

/// Draws the pane.
pub(super) fn draw(model: &Model, view: &RunView, buf: &mut Buffer, area: Rect) {
    let ink = Ink::of(model);
    if let Some(mut pen) = Pen::new(buf, ink, area, 0) {
        pen.put(Role::Strong, " ");
        let zone = model.zone();
        pen.cell(Role::Strong, if zone == Zone::default() { "TIME UTC" } else { "TIME" }, 8);
        pen.number(Role::Strong, "PASS", 6);
        pen.cell(Role::Strong, "SUBJECT", 14);
        pen.cell(Role::Strong, "KIND", 8);
        pen.put(Role::Strong, "EVENT");
    }
    let height = usize::from(area.height.saturating_sub(1));
    let whole = whole(model, view, usize::from(area.width));
    // The lines below the selected row push up what would leave no room for them.
    let below = model.events.at().saturating_sub(model.events.top()).saturating_add(whole.len());
    let pushed = below.saturating_add(1).saturating_sub(height);
    let top = model.events.top().saturating_add(pushed).min(model.events.at());
    let mut line = 1_usize;
    for (at, event) in view.events.iter().enumerate().skip(top) {
        let Some(mut pen) = Pen::new(buf, ink, area, line) else { break };
        row(&mut pen, event, model.zone());
        line = line.saturating_add(1);
        if at != model.events.at() {
            continue;
        }
        if model.pane == Pane::Events {
            pen.cover(Role::Selected);
        }
        for text in &whole {
            let Some(mut pen) = Pen::new(buf, ink, area, line) else { break };
            pen.put(Role::Plain, &format!("{:INDENT$}{text}", ""));
            line = line.saturating_add(1);
        }
    }
}

/// The whole text of the selected event, if it is asked for.
fn whole(model: &Model, view: &RunView, width: usize) -> Vec<String> {
    let event = view.events.get(model.events.at()).filter(|_| model.wraps);
    event.map_or_else(Vec::new, |event| {
        let text = Ink::of(model).clean(&model.options.place.text(&event.text));
        text::wrap(&text, width.saturating_sub(INDENT).max(1))
    })
}

fn row(pen: &mut Pen<'_>, event: &EventView, zone: Zone) {
    let role = match event.kind.as_str() {
        "failure" => Role::Bad,
        "hold" => Role::Draft,
        _ => Role::Plain,
    };
    let subject = if event.subject.is_empty() { "-" } else { &event.subject };
    pen.put(Role::Plain, " ");
    pen.cell(Role::Faint, &zone.of_day(event.at), 8);
    pen.number(Role::Faint, &event.pass.to_string(), 6);
    pen.cell(Role::Plain, subject, 14);
    pen.cell(role, &event.kind, 8);
    pen.put(Role::Plain, &event.text);
    if event.count > 1 {
        pen.put(Role::Faint, &format!(" (x{})", event.count));
    }
}
