//! Everything that is known of one slot, why it is where it is first (P7).

use driver::view::NodeView;
use reconciler_core::{id::LogicalNodeId, time::Timestamp};

use super::{
    content::{Content, keys},
    paint::{Ink, Line},
};
use crate::console::{clock, model::Model, palette::Role, stage, text};

const NAME_WIDTH: usize = 11;

/// The box of a slot.
pub(super) fn content(model: &Model, slot: &LogicalNodeId, width: usize) -> Content {
    let foot = keys(model, &[("Esc", "close"), ("j k", "scroll"), ("c", "copy")]);
    let title = format!("Node {slot}");
    let Some(node) = model.node(slot) else {
        let body = vec![Line::of(Role::Faint, "this slot is gone")];
        return Content { title, body, foot };
    };
    let ink = Ink::of(model);
    let mut body = Vec::new();
    for (name, value) in facts(model, node) {
        let lines = text::wrap(&ink.clean(&value), width.saturating_sub(NAME_WIDTH));
        for (at, line) in lines.into_iter().enumerate() {
            let name = text::cell(if at == 0 { name } else { "" }, NAME_WIDTH);
            body.push(Line::of(Role::Faint, name).and(Role::Plain, line));
        }
    }
    Content { title, body, foot }
}

fn facts(model: &Model, node: &NodeView) -> Vec<(&'static str, String)> {
    let (now, zone) = (model.now.wall, model.zone());
    let nothing = || "-".to_owned();
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let track = model.glyphs().track(stage::track(node));
    let due = node.due.map(|due| match clock::left(due, now) {
        Some(left) => format!("{} {}, in {left}", zone.of_day(due), zone.name()),
        None if due == Timestamp::MAX => "never".to_owned(),
        None => "now".to_owned(),
    });
    let mut facts = vec![
        ("why", model.options.place.text(&node.reason)),
        ("stage", format!("{track}  {} (reached {})", node.stage.as_str(), node.reached.as_str())),
        (
            "since",
            format!(
                "{} {}, {}",
                zone.of_day(node.since),
                zone.name(),
                clock::length(now.since(node.since))
            ),
        ),
        ("ribbon", node.ribbon.clone()),
        ("ready", yes(node.ready)),
        ("deleting", yes(node.deleting)),
        ("hold", node.hold.map_or_else(nothing, |code| code.as_str().to_owned())),
        ("attempt", node.attempt.to_string()),
        ("pending", node.pending.map_or_else(nothing, |command| command.as_str().to_owned())),
        ("failures", node.failures.to_string()),
        ("due", due.unwrap_or_else(nothing)),
        ("last error", node.last_error.clone().unwrap_or_else(nothing)),
        ("endpoint", node.endpoint.clone().unwrap_or_else(nothing)),
        ("lease", node.lease.clone().unwrap_or_else(nothing)),
    ];
    if let Some(second) = &node.second {
        let going = if second.deleting { "gives way, " } else { "" };
        let stage = second.stage.as_str();
        let text = format!("attempt {}, {stage}: {going}{}", second.attempt, second.reason);
        facts.push(("beside", text));
    }
    facts
}
