//! Whether a group's gates are open, and whose end its own removal waits for: counts per group, never per slot.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    desired::{ClusterShape, GateCondition, Gates, RunNodeGroupSpec},
    id::GroupId,
    observed::{ClusterState, GroupState},
};

/// What one group lacks before those that wait for it may go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// Which group.
    pub group: GroupId,
    /// What is waited for.
    pub condition: GateCondition,
    /// How many of its nodes have come to it.
    pub have: u32,
    /// How many should.
    pub want: u32,
    /// How many of its slots are held.
    pub held: u32,
    /// How many of its slots are switched off.
    pub off: u32,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, condition, have, want, held, off } = self;
        write!(f, "{group} ({have} of {want} {}", condition.as_str())?;
        if *held > 0 {
            write!(f, ", {held} held")?;
        }
        if *off > 0 {
            write!(f, ", {off} off")?;
        }
        f.write_str(")")
    }
}

/// What the groups that `spec` waits for lack; nothing once its gates are open.
///
/// A group that wants no nodes holds nobody back.
pub fn lacks(
    observed: &ClusterState,
    desired: &ClusterShape,
    spec: &RunNodeGroupSpec,
) -> Arc<[Lack]> {
    let lack = |(on, condition): (&GroupId, &GateCondition)| {
        let wanted = desired.group(on)?;
        let seen = observed.group(on).map(AsRef::as_ref);
        let have = seen.map_or(0, |seen| reached(seen, *condition));
        (have < wanted.count).then(|| Lack {
            group: on.clone(),
            condition: *condition,
            have,
            want: wanted.count,
            held: seen.map_or(0, GroupState::held),
            off: wanted.power.off_count(wanted.count),
        })
    };
    spec.policy.after.iter().filter_map(lack).collect()
}

/// What holds nodes of a group back at present: nothing once its gates are open, or all that are to run do.
pub fn held_back(
    observed: &ClusterState,
    desired: &ClusterShape,
    spec: &RunNodeGroupSpec,
) -> Arc<[Lack]> {
    let started = observed.group(&spec.group).map_or(0, |seen| seen.started());
    if spec.policy.after.is_empty() || started >= spec.count_on() {
        return Arc::default();
    }
    lacks(observed, desired, spec)
}

/// How many nodes of a group have come to what a gate waits for.
fn reached(seen: &GroupState, condition: GateCondition) -> u32 {
    match condition {
        GateCondition::Started => seen.started(),
        GateCondition::Ready => seen.ready(),
        GateCondition::Completed => seen.completed(),
    }
}

/// The groups that wait for `group` and of which something that is to go may still run: they go first (R168).
pub(super) fn dependents(
    observed: &ClusterState,
    desired: &ClusterShape,
    group: &GroupId,
) -> Arc<[GroupId]> {
    let own = observed.group(group).and_then(|seen| gates_of(desired, group, seen));
    let waits = |(name, seen): (&GroupId, &Arc<GroupState>)| {
        let after = gates_of(desired, name, seen)?;
        // Two groups whose declarations crossed while they were changed must not wait for each other.
        let crossed = || own.is_some_and(|own| own.contains_key(name));
        let count = desired.group(name).map_or(0, |spec| spec.count);
        let first = after.contains_key(group) && !crossed() && seen.runs_beyond(count);
        first.then(|| name.clone())
    };
    observed.groups().filter_map(waits).collect::<Vec<_>>().into()
}

/// The gates of a group: as declared, or, where it is no longer, as its nodes were told.
fn gates_of<'a>(
    desired: &'a ClusterShape,
    group: &GroupId,
    seen: &'a GroupState,
) -> Option<&'a Gates> {
    match desired.group(group) {
        Some(spec) => Some(&spec.policy.after),
        None => seen.records().next().map(|record| &record.policy.after),
    }
}
