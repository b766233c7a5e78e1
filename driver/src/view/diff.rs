//! Finds what changed between two snapshots of one driver. The law: applied to the earlier, it gives the later.

use std::collections::{BTreeMap, BTreeSet};

use reconciler_core::id::{GroupId, LogicalNodeId};

use super::{
    delta::{RunDelta, shift},
    run::{EventView, GroupView, NodeView, PassView, RunView},
};

/// What lies between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Nothing but the time at which they were made.
    Still,
    /// They are not of the same driver: only the later one itself says what there is.
    Unrelated,
    /// This.
    Changed(Box<RunDelta>),
}

/// What leads from `old` to `new`. Costs what both of them hold.
pub fn diff(old: RunView, new: &RunView) -> Difference {
    let of_one = (old.schema, &old.run, old.uuid, &old.driver)
        == (new.schema, &new.run, new.uuid, &new.driver);
    if !of_one {
        return Difference::Unrelated;
    }
    let same_scalars = (old.pass, old.generation, &old.changed_by, old.state, old.due)
        == (new.pass, new.generation, &new.changed_by, new.state, new.due)
        && (old.want, old.ready, &old.file) == (new.want, new.ready, &new.file);
    let delta = delta(old, new);
    if same_scalars && is_empty(&delta) {
        return Difference::Still;
    }
    Difference::Changed(Box::new(delta))
}

fn delta(old: RunView, new: &RunView) -> RunDelta {
    let passes: Vec<PassView> =
        new.passes.iter().take_while(|pass| pass.pass > old.pass).cloned().collect();
    let ribbon_shift = count(passes.len());
    let (nodes, nodes_gone) = nodes(old.nodes, &new.nodes, ribbon_shift, new.ribbon_len);
    let (groups, groups_gone) = groups(&old.groups, &new.groups);
    RunDelta {
        at: new.at,
        pass: new.pass,
        generation: new.generation,
        changed_by: new.changed_by.clone(),
        state: new.state,
        want: new.want,
        ready: new.ready,
        due: new.due,
        ribbon_len: new.ribbon_len,
        ribbon_shift,
        file: new.file.clone(),
        groups,
        groups_gone,
        nodes,
        nodes_gone,
        passes,
        passes_kept: count(new.passes.len()),
        events: events(&old.events, &new.events),
        events_kept: count(new.events.len()),
        holds: changed(&old.holds, &new.holds),
        outstanding: changed(&old.outstanding, &new.outstanding),
        orphans: changed(&old.orphans, &new.orphans),
        providers: changed(&old.providers, &new.providers),
        drift: changed(&old.drift, &new.drift),
    }
}

/// True if no list of it says anything.
const fn is_empty(delta: &RunDelta) -> bool {
    delta.groups.is_empty()
        && delta.groups_gone.is_empty()
        && delta.nodes.is_empty()
        && delta.nodes_gone.is_empty()
        && delta.passes.is_empty()
        && delta.events.is_empty()
        && delta.holds.is_none()
        && delta.outstanding.is_none()
        && delta.orphans.is_none()
        && delta.providers.is_none()
        && delta.drift.is_none()
}

/// The slots that are new or changed, and those that are gone; both lists are in order.
fn nodes(
    old: Vec<NodeView>,
    new: &[NodeView],
    by: u32,
    len: u32,
) -> (Vec<NodeView>, Vec<LogicalNodeId>) {
    let (mut put, mut gone) = (Vec::new(), Vec::new());
    let mut old = old.into_iter().peekable();
    for node in new {
        while let Some(missing) = old.next_if(|known| known.slot < node.slot) {
            gone.push(missing.slot);
        }
        let same = old.next_if(|known| known.slot == node.slot).is_some_and(|mut known| {
            // What the reader will make of it by itself.
            shift(&mut known.ribbon, by, len);
            known == *node
        });
        if !same {
            put.push(node.clone());
        }
    }
    gone.extend(old.map(|missing| missing.slot));
    (put, gone)
}

fn groups(old: &[GroupView], new: &[GroupView]) -> (Vec<GroupView>, Vec<GroupId>) {
    let known: BTreeMap<_, _> = old.iter().map(|group| (&group.group, group)).collect();
    let put = new.iter().filter(|group| known.get(&group.group) != Some(group));
    let there: BTreeSet<_> = new.iter().map(|group| &group.group).collect();
    let gone = known.keys().filter(|name| !there.contains(*name));
    (put.cloned().collect(), gone.map(|name| (*name).clone()).collect())
}

fn events(old: &[EventView], new: &[EventView]) -> Vec<EventView> {
    let known: BTreeMap<u64, &EventView> = old.iter().map(|event| (event.seq, event)).collect();
    new.iter().filter(|event| known.get(&event.seq) != Some(event)).cloned().collect()
}

fn changed<T: Clone + PartialEq>(old: &[T], new: &[T]) -> Option<Vec<T>> {
    (old != new).then(|| new.to_vec())
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
