//! Whether the run is as it should be, from counts that the folds keep: costs the number of groups.

use crate::{
    desired::{ClusterShape, RunNodeGroupSpec},
    observed::{ClusterState, GroupState, ProviderState},
};

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
    /// True if every wanted node is ready at the wanted revision, nothing else is there, and it can be looked at
    /// (R51, R162).
    pub converged: bool,
}

/// True if a group has exactly the wanted nodes, all ready at the wanted revision, and nothing open (R51).
pub fn group_converged(seen: Option<&GroupState>, wanted: Option<&RunNodeGroupSpec>) -> bool {
    let count = wanted.map_or(0, |spec| spec.count);
    let Some(seen) = seen else { return count == 0 };
    let at_revision = wanted.is_none_or(|spec| seen.at_revision(spec.revision) == count);
    seen.ready() == count
        && seen.len() == count as usize
        && at_revision
        && seen.busy() == 0
        && seen.hold().is_none()
        && seen.orphans().next().is_none()
}

/// Compares the counts of what is with what should be.
pub fn standing(observed: &ClusterState, desired: &ClusterShape) -> Standing {
    let mut standing = Standing { converged: true, ..Standing::default() };
    for spec in desired.groups() {
        standing.want = standing.want.saturating_add(spec.count);
        let seen = observed.group(&spec.group).map(AsRef::as_ref);
        standing.converged &= group_converged(seen, Some(spec));
        // Of what cannot be looked at nothing is claimed (R162).
        let provider = observed.providers().get(&spec.spec.provider);
        standing.converged &= spec.count == 0 || !provider.is_some_and(ProviderState::is_blind);
    }
    for (name, group) in observed.groups() {
        standing.ready = standing.ready.saturating_add(group.ready());
        standing.failing = standing.failing.saturating_add(group.failing());
        let held = group.held().saturating_add(u32::from(group.hold().is_some()));
        standing.held = standing.held.saturating_add(held);
        standing.converged &= desired.group(name).is_some() || group_converged(Some(group), None);
    }
    standing
}
