//! What changed between two snapshots of a run, and how the later one is made of the earlier and the change.
//!
//! How a change is found stands in `diff`.

use reconciler_core::{
    id::{Generation, GroupId, LogicalNodeId, PassNumber},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{
    drift::DriftView,
    run::{
        EventView, FileView, GroupView, HoldView, NodeView, OrphanView, OutstandingView, PassView,
        ProviderView, RunState, RunView,
    },
};

/// From one snapshot of a driver to a later one of the same.
///
/// The scalar fields are those of the later snapshot. A list that is absent did not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDelta {
    /// When the later snapshot was made.
    pub at: Timestamp,
    /// The last pass that did something.
    pub pass: PassNumber,
    /// The generation of the live shape.
    pub generation: Generation,
    /// Where that came from.
    #[serde(default)]
    pub changed_by: Option<String>,
    /// How the run stands.
    pub state: RunState,
    /// How many nodes are wanted, without those that are switched off.
    pub want: u32,
    /// How many of them are ready.
    pub ready: u32,
    /// When the next thing falls due.
    #[serde(default)]
    pub due: Option<Timestamp>,
    /// How many letters each ribbon has now.
    pub ribbon_len: u32,
    /// By how many letters each ribbon moved: one that is not in `nodes` repeats its last letter as often.
    pub ribbon_shift: u32,
    /// The desired-state file, if one is followed.
    #[serde(default)]
    pub file: Option<FileView>,
    /// Groups that are new or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupView>,
    /// Groups that are there no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups_gone: Vec<GroupId>,
    /// Slots that are new or changed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeView>,
    /// Slots that are there no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_gone: Vec<LogicalNodeId>,
    /// Passes that ran since, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassView>,
    /// How many passes are kept: older ones are forgotten.
    pub passes_kept: u32,
    /// Events that are new or were repeated, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventView>,
    /// How many events are kept.
    pub events_kept: u32,
    /// All open holds, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Vec<HoldView>>,
    /// All that is outstanding, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<Vec<OutstandingView>>,
    /// All orphans, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphans: Option<Vec<OrphanView>>,
    /// All providers, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub providers: Option<Vec<ProviderView>>,
    /// All drift, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Vec<DriftView>>,
}

impl RunDelta {
    /// Makes the later snapshot of `view`, which must be the earlier one.
    pub fn apply(self, view: &mut RunView) {
        view.at = self.at;
        view.pass = self.pass;
        view.generation = self.generation;
        view.changed_by = self.changed_by;
        view.state = self.state;
        view.want = self.want;
        view.ready = self.ready;
        view.due = self.due;
        view.ribbon_len = self.ribbon_len;
        view.file = self.file;
        view.groups.retain(|group| !self.groups_gone.contains(&group.group));
        put(&mut view.groups, self.groups, |group| &group.group);
        if !self.nodes_gone.is_empty() {
            view.nodes.retain(|node| self.nodes_gone.binary_search(&node.slot).is_err());
        }
        for node in &mut view.nodes {
            shift(&mut node.ribbon, self.ribbon_shift, self.ribbon_len);
        }
        put(&mut view.nodes, self.nodes, |node| &node.slot);
        view.passes.splice(..0, self.passes);
        view.passes.truncate(size(self.passes_kept));
        for event in self.events {
            match view.events.iter_mut().find(|known| known.seq == event.seq) {
                Some(known) => *known = event,
                None => view.events.push(event),
            }
        }
        view.events.sort_by_key(|event| std::cmp::Reverse(event.seq));
        view.events.truncate(size(self.events_kept));
        replace(&mut view.holds, self.holds);
        replace(&mut view.outstanding, self.outstanding);
        replace(&mut view.orphans, self.orphans);
        replace(&mut view.providers, self.providers);
        replace(&mut view.drift, self.drift);
    }
}

/// Moves a ribbon on by `by` letters in which nothing happened; it keeps at most `len`.
pub(super) fn shift(ribbon: &mut String, by: u32, len: u32) {
    let Some(last) = ribbon.chars().next_back() else { return };
    for _ in 0..by.min(len) {
        ribbon.push(last);
    }
    if ribbon.len() <= size(len) {
        return;
    }
    let over = ribbon.chars().count().saturating_sub(size(len));
    let from = ribbon.char_indices().nth(over).map_or(ribbon.len(), |(at, _)| at);
    ribbon.drain(..from);
}

/// Puts `changed` into a list that is ordered by `key`, in place of what has the same key.
fn put<T, K: Ord>(list: &mut Vec<T>, changed: Vec<T>, key: fn(&T) -> &K) {
    let mut fresh = Vec::new();
    for one in changed {
        match list.binary_search_by(|known| key(known).cmp(key(&one))) {
            Ok(at) => list[at] = one,
            Err(_) => fresh.push(one),
        }
    }
    if !fresh.is_empty() {
        list.append(&mut fresh);
        list.sort_by(|a, b| key(a).cmp(key(b)));
    }
}

fn replace<T>(list: &mut Vec<T>, changed: Option<Vec<T>>) {
    if let Some(changed) = changed {
        *list = changed;
    }
}

fn size(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
