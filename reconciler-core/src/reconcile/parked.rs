//! Slots that wait for what other slots come to: kept beside the worklist, so that a pass asks each group once
//! and not each of its slots.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use super::{gates, power, reason::Rung};
use crate::{
    desired::{ClusterShape, RunNodeGroupSpec},
    id::{GroupId, LogicalNodeId},
    observed::{ClusterState, GroupState},
};

/// What a slot is parked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parking {
    /// The gates of its group.
    Gate,
    /// The end of those that depend on its group.
    Dependents,
    /// Its turn to begin anew.
    Turn,
}

impl Parking {
    /// What a slot that waits on `rung` is parked for, if it is.
    pub(super) const fn of(rung: &Rung) -> Option<Self> {
        if matches!(rung, Rung::Gate(_)) {
            return Some(Self::Gate);
        }
        if matches!(rung, Rung::Dependents(_)) {
            return Some(Self::Dependents);
        }
        if matches!(rung, Rung::Turn { .. }) { Some(Self::Turn) } else { None }
    }
}

/// The parked slots of each group.
#[derive(Clone, Debug, Default)]
pub struct Parked {
    groups: BTreeMap<(GroupId, Parking), BTreeSet<u32>>,
}

impl Parked {
    /// Takes over the slots that a pass found to wait.
    pub fn park(&mut self, found: &mut Vec<(LogicalNodeId, Parking)>) {
        for (slot, parking) in found.drain(..) {
            self.groups.entry((slot.group, parking)).or_default().insert(slot.index);
        }
    }

    /// Adds to `slots` whoever waits no longer: what these are to do is decided in the pass at hand. Whoever is in
    /// `slots` already is decided there and waits here no more.
    pub fn release(
        &mut self,
        observed: &ClusterState,
        desired: &ClusterShape,
        slots: &mut BTreeSet<LogicalNodeId>,
    ) {
        if self.groups.is_empty() {
            return;
        }
        for ((group, parking), parked) in &mut self.groups {
            let all =
                LogicalNodeId::new(group.clone(), 0)..=LogicalNodeId::new(group.clone(), u32::MAX);
            for slot in slots.range(all) {
                parked.remove(&slot.index);
            }
            let slot = |index| LogicalNodeId::new(group.clone(), index);
            let spec = desired.group(group);
            let free = match parking {
                Parking::Gate => {
                    spec.is_none_or(|spec| gates::lacks(observed, desired, spec).is_empty())
                }
                Parking::Dependents => gates::dependents(observed, desired, group).is_empty(),
                Parking::Turn => {
                    let seen = observed.group(group).map(AsRef::as_ref);
                    let freeze = spec.and_then(|spec| observed.freeze(group, spec.revision));
                    if power::turns(seen, spec.map(AsRef::as_ref), freeze) > 0 {
                        slots.extend(next_in_turn(parked, seen, spec).into_iter().map(slot));
                    }
                    spec.is_none()
                }
            };
            if free {
                slots.extend(core::mem::take(parked).into_iter().map(slot));
            }
        }
        self.groups.retain(|_, parked| !parked.is_empty());
    }
}

/// The slot whose turn it is, and those before it that do not need theirs any more.
fn next_in_turn(
    parked: &mut BTreeSet<u32>,
    seen: Option<&GroupState>,
    spec: Option<&Arc<RunNodeGroupSpec>>,
) -> Vec<u32> {
    let mut next = Vec::new();
    while let Some(index) = parked.pop_first() {
        next.push(index);
        let record = seen.and_then(|seen| seen.record(index));
        if record.zip(spec).is_some_and(|(record, spec)| power::is_behind(record, spec)) {
            break;
        }
    }
    next
}
