//! What is open and could be recovered, with the ways on.

use driver::view::{RecoveryOperationView, RecoveryVerb};

use super::{
    content::{Content, keys},
    outcome,
    paint::{Ink, Line},
};
use crate::console::{model::Model, palette::Role, popup::Operations, text};

/// The box of open operations.
pub(super) fn content(model: &Model, operations: &Operations, width: usize) -> Content {
    let ink = Ink::of(model);
    let close = || keys(model, &[("Esc", "close")]);
    let title = "Open operations".to_owned();
    match operations {
        Operations::Asking { .. } => {
            let body = vec![Line::of(Role::Busy, "reading the journal")];
            Content { title, body, foot: close() }
        }
        Operations::Refused(refusal) => {
            let mut content = outcome::refused(model, "Open operations", refusal, width);
            content.foot = close();
            content
        }
        Operations::Choice { list, .. } if list.is_empty() => {
            let body = vec![Line::of(Role::Good, "nothing is open")];
            Content { title, body, foot: close() }
        }
        Operations::Choice { list, at } => {
            let foot =
                keys(model, &[("j k", "choose"), ("Enter", "show its plan"), ("Esc", "close")]);
            Content { title, body: listed(ink, list, *at, width), foot }
        }
    }
}

/// The line of the chosen way.
pub(super) fn chosen_line(model: &Model, operations: &Operations, width: usize) -> usize {
    let Operations::Choice { list, at } = operations else { return 0 };
    let lines = listed(Ink::of(model), list, *at, width);
    let is_chosen = |line: &Line| line.0.first().is_some_and(|(role, _)| *role == Role::Selected);
    lines.iter().position(is_chosen).unwrap_or(0)
}

fn listed(ink: Ink, list: &[RecoveryOperationView], at: usize, width: usize) -> Vec<Line> {
    let mut body = Vec::new();
    let mut way = 0_usize;
    for one in list {
        let head =
            format!("operation {} of {}: {}, {}", one.id, one.group, one.status, one.direction);
        body.push(Line::of(Role::Strong, head));
        let class = one.checkpoint.class.as_deref().unwrap_or("unknown");
        let mut facts = vec![
            format!("goal: {}", one.goals),
            format!("checkpoint {}: {class}, {}", one.checkpoint.text, one.checkpoint.lane),
        ];
        facts.extend(one.back_to.iter().map(|to| format!("can be taken back to: {to}")));
        facts.extend(one.holds.iter().map(|hold| format!("hold {hold}")));
        for fact in facts {
            let lines = text::wrap(&ink.clean(&fact), width.saturating_sub(2));
            body.extend(lines.into_iter().map(|line| Line::of(Role::Plain, format!("  {line}"))));
        }
        for mode in &one.modes {
            let (role, mark) = if way == at { (Role::Selected, '>') } else { (Role::Plain, ' ') };
            body.push(Line::of(role, format!("  {mark} {:9} {} ", mode.as_str(), told(*mode))));
            way = way.saturating_add(1);
        }
    }
    body
}

const fn told(verb: RecoveryVerb) -> &'static str {
    match verb {
        RecoveryVerb::Resume => "end the holds of its group, and go on the way that it goes",
        RecoveryVerb::Rollback => "take its group back to what it was before",
        RecoveryVerb::Release => "end the holds and close it; what is missing is planned anew",
    }
}
