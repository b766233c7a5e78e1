//! One pass: what woke it, what it moved, and what happened in it.

use driver::view::{EventView, RunView};
use reconciler_core::id::PassNumber;

use super::{
    content::{Content, keys},
    paint::{Ink, Line},
};
use crate::console::{
    model::Model,
    palette::Role,
    past::{self, Moved},
    stage, text,
};

/// Moves that are listed; the counts above them tell of all.
const MOVES_MAX: usize = 200;

/// The box of a pass.
pub(super) fn content(model: &Model, pass: PassNumber, width: usize) -> Content {
    let foot = keys(model, &[("[ ]", "pass before, after"), ("c", "copy"), ("Esc", "close")]);
    let title = format!("Pass {pass}");
    let live = model.live.as_deref();
    let found = live.and_then(|live| Some((live, past::age_of(live, pass)?)));
    let Some((view, age)) = found else {
        let body = vec![Line::of(Role::Faint, "this pass is not kept any longer")];
        return Content { title, body, foot };
    };
    let mut body = head(model, view, age);
    let moves = past::moves(view, age);
    body.push(Line::default());
    body.push(Line::of(Role::Strong, format!("{} nodes moved", moves.len())));
    body.extend(moves.iter().take(MOVES_MAX).map(moved));
    let events: Vec<&EventView> = view.events.iter().filter(|event| event.pass == pass).collect();
    body.push(Line::default());
    body.push(Line::of(Role::Strong, format!("{} events", events.len())));
    let ink = Ink::of(model);
    for event in events.into_iter().rev() {
        let subject = if event.subject.is_empty() { "-" } else { &event.subject };
        let told = format!("{subject} {}: {}", event.kind, event.text);
        let lines = text::wrap(&ink.clean(&told), width.saturating_sub(2));
        body.extend(lines.into_iter().map(|line| Line::of(Role::Plain, format!("  {line}"))));
    }
    Content { title, body, foot }
}

fn head(model: &Model, view: &RunView, age: usize) -> Vec<Line> {
    let Some(pass) = past::pass_at(view, age) else { return Vec::new() };
    let zone = model.zone();
    let when = format!("{} {}, woken by {}", zone.of_day(pass.at), zone.name(), pass.trigger);
    let micros = pass.micros;
    let counts = format!(
        "{} facts, {} transitions, {} effects, {} failures, {}.{:03} ms",
        pass.facts,
        pass.transitions,
        pass.effects,
        pass.failures,
        micros / 1_000,
        micros % 1_000
    );
    vec![Line::of(Role::Plain, when), Line::of(Role::Plain, counts)]
}

fn moved(moved: &Moved) -> Line {
    let Moved { slot, before, after } = moved;
    let legal = stage::legal(*before, *after);
    let role = if legal { Role::Plain } else { Role::Bad };
    let note = if legal { "" } else { "  more than one step" };
    Line::of(Role::Strong, format!("  {slot}"))
        .and(role, format!("  {} -> {}{note}", stage::told(*before), stage::told(*after)))
}
