//! Everything that is known of one slot, why it is where it is first (P7).

use driver::view::NodeView;
use reconciler_core::{id::LogicalNodeId, time::Timestamp};

use super::{
    content::{Content, keys},
    paint::{Ink, Line},
};
use crate::{
    console::{clock, model::Model, palette::Role, popup::Told, stage, text},
    explained,
};

const NAME_WIDTH: usize = 11;
/// Names of facts are longer.
const FACT_WIDTH: usize = 17;

/// The box of a slot: as it is shown, then what the driver says of it in full; or its lines of the fleet text.
pub(super) fn content(
    model: &Model,
    slot: &LogicalNodeId,
    told: &Told,
    raw: bool,
    width: usize,
) -> Content {
    let other = if raw { "in words" } else { "fleet text" };
    let foot = keys(model, &[("Esc", "close"), ("j k", "scroll"), ("d", other), ("c", "copy")]);
    let title = format!("Node {slot}");
    if raw {
        return Content { title, body: lines_of(model, told, width), foot };
    }
    let Some(node) = model.node(slot) else {
        let body = vec![Line::of(Role::Faint, "this slot is gone")];
        return Content { title, body, foot };
    };
    let mut body = listed(model, facts(model, node), NAME_WIDTH, width);
    match &told.answer {
        Some(Ok(view)) => {
            let zone = model.zone();
            let view = model.options.place.explained(view.as_ref().clone());
            body.push(Line::default());
            let facts =
                explained::facts(&view, |at| format!("{} {}", zone.of_day(at), zone.name()));
            body.extend(listed(model, facts, FACT_WIDTH, width));
            body.extend(listed(model, explained::obstacles(&view), FACT_WIDTH, width));
        }
        Some(Err(refusal)) => {
            body.push(Line::default());
            body.extend(listed(model, [("not told", refusal.message.clone())], NAME_WIDTH, width));
        }
        None => {}
    }
    Content { title, body, foot }
}

/// Names and values, each as wide as there is room.
fn listed<N: AsRef<str>>(
    model: &Model,
    rows: impl IntoIterator<Item = (N, String)>,
    names: usize,
    width: usize,
) -> Vec<Line> {
    let ink = Ink::of(model);
    let mut body = Vec::new();
    for (name, value) in rows {
        let lines = text::wrap(&ink.clean(&value), width.saturating_sub(names));
        for (at, line) in lines.into_iter().enumerate() {
            let name = text::cell(if at == 0 { name.as_ref() } else { "" }, names);
            body.push(Line::of(Role::Faint, name).and(Role::Plain, line));
        }
    }
    body
}

/// Everything that decides, in the form that tests and traces are written in.
fn lines_of(model: &Model, told: &Told, width: usize) -> Vec<Line> {
    let ink = Ink::of(model);
    let text = match &told.answer {
        Some(Ok(view)) if !view.text.is_empty() => view.text.clone(),
        Some(Ok(_)) => vec!["there is no record of it yet".to_owned()],
        Some(Err(refusal)) => vec![refusal.message.clone()],
        None => vec!["the driver has not answered yet".to_owned()],
    };
    let wrapped = text.iter().flat_map(|line| text::wrap(&ink.clean(line), width));
    wrapped.map(|line| Line::of(Role::Plain, line)).collect()
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
