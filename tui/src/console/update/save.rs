//! What is shown, as files: all that is known as data, and the focused pane as text.

use driver::view::{EventView, GroupView, HoldView, NodeView, PassView, RunView};
use reconciler_core::time::Timestamp;

use crate::console::{layout::Pane, message::Cmd, model::Model, stage, text};

/// Writes the run as it is shown.
pub(super) fn shown(model: &mut Model) -> Vec<Cmd> {
    let Some(view) = model.shown.clone() else {
        model.flash("there is nothing to write yet");
        return Vec::new();
    };
    // A view is plain data, which always has a text.
    let data = serde_json::to_string_pretty(view.as_ref()).unwrap_or_default();
    let stem = format!("levelhead-{}-pass{}", view.run, view.pass);
    vec![Cmd::Save { stem, parts: vec![("json", data), ("txt", lines(model, &view))] }]
}

/// Writes a text that is too long for a clipboard.
pub(super) fn text(model: &Model, text: String) -> Vec<Cmd> {
    let run = model.shown.as_deref().map(|view| view.run.to_string()).unwrap_or_default();
    vec![Cmd::Save { stem: format!("levelhead-{run}-copy"), parts: vec![("txt", text)] }]
}

/// The list of the focused pane, all of it, a line each; times in UTC.
fn lines(model: &Model, view: &RunView) -> String {
    let mut lines = vec![format!(
        "{} of {} ready, generation {}, pass {}",
        view.ready, view.want, view.generation, view.pass
    )];
    let rows: Vec<String> = match model.pane {
        Pane::Groups => {
            let row = |group: &GroupView| {
                format!("{}  want {}  ready {}", group.group, group.want, group.ready)
            };
            view.groups.iter().map(row).collect()
        }
        Pane::Fleet => {
            let now = model.told_at();
            let row = |node: &NodeView| {
                let word = stage::word_of(node);
                format!("{}  {word}  {}  {}", node.slot, node.ribbon, node.reason)
            };
            view.nodes.iter().filter(|node| model.filter.lets(node, now)).map(row).collect()
        }
        Pane::Passes => {
            let row = |pass: &PassView| {
                format!("{}  {}  {}  {} us", pass.pass, when(pass.at), pass.trigger, pass.micros)
            };
            view.passes.iter().map(row).collect()
        }
        Pane::Events => {
            let row = |event: &EventView| {
                let (at, kind) = (when(event.at), &event.kind);
                format!("{}  {at}  {}  {kind}  {}", event.seq, event.subject, event.text)
            };
            view.events.iter().map(row).collect()
        }
        Pane::Holds => {
            let row = |hold: &HoldView| {
                let way_out = model.options.place.command(&hold.way_out);
                format!("{}  {}  {}  {way_out}", hold.subject, hold.code.as_str(), hold.text)
            };
            view.holds.iter().map(row).collect()
        }
    };
    lines.extend(rows);
    let clean = lines.iter().map(|line| text::clean(line, false) + "\n");
    clean.collect::<Vec<_>>().concat()
}

/// A moment in UTC, as programs read it.
fn when(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX).to_string()
}
