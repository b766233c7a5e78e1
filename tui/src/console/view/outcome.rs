//! What became of a plan, each outcome with a face of its own.

use driver::view::Refusal;

use super::{
    content::{Content, keys},
    paint::{Ink, Line},
};
use crate::console::{clock, model::Model, moment::Moment, palette::Role, text};

/// Something is under way.
pub(super) fn busy(model: &Model, what: &str, since: Moment) -> Content {
    let age = clock::length(model.now.wall.since(since.wall));
    Content {
        title: String::new(),
        body: vec![Line::of(Role::Busy, format!("{what}, {age}"))],
        foot: keys(model, &[("Esc", "look elsewhere; what was sent goes on")]),
    }
}

/// The plan is asked for.
pub(super) fn asking(model: &Model, since: Moment) -> Content {
    let age = clock::length(model.now.wall.since(since.wall));
    Content {
        title: "Plan".to_owned(),
        body: vec![Line::of(Role::Busy, format!("planning, {age}"))],
        foot: keys(model, &[("Esc", "never mind")]),
    }
}

/// The apply is under way.
pub(super) fn waiting(model: &Model, since: Moment) -> Content {
    let age = clock::length(model.now.wall.since(since.wall));
    Content {
        title: "Applying".to_owned(),
        body: vec![Line::of(Role::Busy, format!("sent to the driver, {age}"))],
        foot: keys(model, &[("Esc", "look elsewhere; the apply goes on")]),
    }
}

/// What it was made from has moved.
pub(super) fn stale(model: &Model, refusal: &Refusal, width: usize) -> Content {
    let mut content = refused(model, "Stale", refusal, width);
    content.foot = keys(model, &[("r", "plan my draft again"), ("Esc", "keep the draft")]);
    content
}

/// It is not allowed, or did not work.
pub(super) fn refused(model: &Model, title: &str, refusal: &Refusal, width: usize) -> Content {
    let ink = Ink::of(model);
    let mut body = wrapped(ink, Role::Bad, &refusal.message, width);
    for moved in &refusal.moved {
        body.extend(wrapped(ink, Role::Plain, &format!("- {moved}"), width));
    }
    body.push(Line::of(Role::Strong, "Nothing was applied."));
    if let Some(hint) = &refusal.hint {
        body.extend(wrapped(ink, Role::Plain, hint, width));
    }
    let foot = keys(model, &[("r", "plan again"), ("Esc", "keep the draft")]);
    Content { title: title.to_owned(), body, foot }
}

/// The link broke while it was under way.
pub(super) fn unknown(model: &Model, why: &str, width: usize) -> Content {
    let ink = Ink::of(model);
    let told = "The driver may or may not have taken the plan, and decides alone. When the link is back, \
                the generation in the header tells; until then do not apply again.";
    let mut body = wrapped(ink, Role::Bad, &format!("outcome unknown: {why}"), width);
    body.extend(wrapped(ink, Role::Plain, told, width));
    Content { title: "Unknown".to_owned(), body, foot: keys(model, &[("Esc", "close")]) }
}

fn wrapped(ink: Ink, role: Role, content: &str, width: usize) -> Vec<Line> {
    let lines = text::wrap(&ink.clean(content), width);
    lines.into_iter().map(|line| Line::of(role, line)).collect()
}
