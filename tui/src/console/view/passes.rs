//! The last passes that did something.

use driver::view::RunView;
use ratatui::{buffer::Buffer, layout::Rect};

use super::paint::{Ink, Pen};
use crate::console::{layout::Pane, model::Model, palette::Role};

/// A pane from this width on shows the time and the transitions too.
const WIDE: usize = 56;

/// Draws the pane.
pub(super) fn draw(model: &Model, view: &RunView, buf: &mut Buffer, area: Rect) {
    let ink = Ink::of(model);
    let wide = usize::from(area.width) >= WIDE;
    if let Some(mut pen) = Pen::new(buf, ink, area, 0) {
        let names = ["PASS", "EFF", "OBS", "FAIL", "MS"].map(str::to_owned);
        let extra = wide.then(|| ["TRN".to_owned(), "TIME".to_owned()]);
        row(&mut pen, [Role::Strong; 2], &names, extra.as_ref());
        pen.put(Role::Strong, "TRIGGER");
    }
    let top = model.passes.top();
    let height = usize::from(area.height.saturating_sub(1));
    for (at, pass) in view.passes.iter().skip(top).take(height).enumerate() {
        let Some(mut pen) = Pen::new(buf, ink, area, at.saturating_add(1)) else { break };
        let names = [
            pass.pass.to_string(),
            pass.effects.to_string(),
            pass.facts.to_string(),
            pass.failures.to_string(),
            millis(pass.micros),
        ];
        let extra = wide.then(|| [pass.transitions.to_string(), model.zone().of_day(pass.at)]);
        let failures = if pass.failures > 0 { Role::Bad } else { Role::Plain };
        row(&mut pen, [Role::Plain, failures], &names, extra.as_ref());
        pen.put(Role::Plain, &pass.trigger);
        if top.saturating_add(at) == model.passes.at() && model.pane == Pane::Passes {
            pen.cover(Role::Selected);
        }
    }
}

fn row(pen: &mut Pen<'_>, roles: [Role; 2], cells: &[String; 5], extra: Option<&[String; 2]>) {
    let [role, failures] = roles;
    let [pass, effects, facts, failed, millis] = cells;
    pen.number(role, pass, 6);
    if let Some([transitions, time]) = extra {
        pen.cell(role, time, 8);
        pen.number(role, transitions, 3);
    }
    pen.number(role, effects, 3);
    pen.number(role, facts, 3);
    pen.number(failures, failed, 4);
    pen.number(role, millis, 5);
}

/// Milliseconds with one digit after the point, counted in whole numbers.
fn millis(micros: u64) -> String {
    format!("{}.{}", micros / 1_000, micros % 1_000 / 100)
}
