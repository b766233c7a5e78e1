//! Whether the run is as it should be, from counts that the folds keep: costs the number of groups.

use crate::{desired::ClusterShape, observed::ClusterState};

/// How the run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many nodes are wanted.
    pub want: u32,
    /// How many of the known nodes are ready.
    pub ready: u32,
    /// How many slots or groups are held.
    pub held: u32,
    /// How many slots have failed since they were last dormant.
    pub failing: u32,
    /// True if every wanted node is ready at the wanted revision, and nothing else is there (R51).
    pub converged: bool,
}

/// Compares the counts of what is with what should be.
pub fn standing(observed: &ClusterState, desired: &ClusterShape) -> Standing {
    let mut standing = Standing { converged: true, ..Standing::default() };
    for spec in desired.groups() {
        standing.want = standing.want.saturating_add(spec.count);
        let as_wanted = observed.group(&spec.group).is_none_or(|group| {
            group.ready() == spec.count
                && group.len() == spec.count as usize
                && group.at_revision(spec.revision) == spec.count
                && group.busy() == 0
        });
        let missing = observed.group(&spec.group).is_none() && spec.count > 0;
        standing.converged &= as_wanted && !missing;
    }
    for (name, group) in observed.groups() {
        standing.ready = standing.ready.saturating_add(group.ready());
        standing.failing = standing.failing.saturating_add(group.failing());
        let held = group.held().saturating_add(u32::from(group.hold().is_some()));
        standing.held = standing.held.saturating_add(held);
        let unwanted = desired.group(name).is_none() && !group.is_empty();
        let doubtful = group.hold().is_some() || group.orphans().next().is_some();
        standing.converged &= !unwanted && !doubtful;
    }
    standing
}
