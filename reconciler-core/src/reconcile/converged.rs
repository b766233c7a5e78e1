//! Whether the run is as it should be, from counts that the folds keep: costs the number of groups.

use super::gates::held_back;
use crate::{
    desired::{ClusterShape, GroupKind, RunNodeGroupSpec},
    observed::{ClusterState, GroupState, NodeRecord, NodeStage, ProviderState, StageName},
};

/// How the run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many nodes are wanted, without those that are switched off.
    pub want: u32,
    /// How many of those are ready; never more than are wanted.
    pub ready: u32,
    /// How many slots or groups are held.
    pub held: u32,
    /// How many groups have nodes that wait for other groups.
    pub gated: u32,
    /// How many slots have failed since they were last dormant.
    pub failing: u32,
    /// True if every wanted node is ready at the wanted revision, nothing else is there, and it can be looked at
    /// (R51, R162).
    pub converged: bool,
}

/// True if a group has exactly the wanted nodes, all ready (of a job: completed) or at rest as they are wanted, of
/// the wanted revision, and nothing open or held (R51).
pub fn group_converged(seen: Option<&GroupState>, wanted: Option<&RunNodeGroupSpec>) -> bool {
    let count = wanted.map_or(0, |spec| spec.count);
    let Some(seen) = seen else { return count == 0 };
    let at_revision = wanted.is_none_or(|spec| seen.at_revision(spec.revision) == count);
    wanted.map_or(seen.ready() == 0, |spec| as_wanted(seen, spec))
        && seen.len() == count as usize
        && at_revision
        && seen.busy() == 0
        && seen.seconds() == 0
        && seen.hold().is_none()
        && seen.held() == 0
        && seen.orphans().next().is_none()
}

/// True if every node that is wanted on has come to what it is for, and every other one rests.
fn as_wanted(seen: &GroupState, spec: &RunNodeGroupSpec) -> bool {
    let job = spec.policy.kind == GroupKind::Job;
    let reached = if job { seen.completed() } else { seen.ready() };
    if spec.power.is_plain() {
        return reached == spec.count;
    }
    if seen.is_behind(&spec.power) {
        return false;
    }
    if spec.power.is_all_off() {
        let gone = [StageName::Failed, StageName::Destroyed].map(|stage| seen.in_stage(stage));
        return seen.started() == seen.completed() && seen.deleting() == 0 && gone == [0, 0];
    }
    let mut off_reached = 0_u32;
    for index in spec.power.off_slots(spec.count) {
        let Some(record) = seen.record(index).filter(|record| rests(record)) else { return false };
        let counted = if job { record.is_completed() } else { record.is_ready() };
        off_reached = off_reached.saturating_add(u32::from(counted));
    }
    reached.saturating_sub(off_reached) == spec.count_on()
}

fn rests(record: &NodeRecord) -> bool {
    let gone = matches!(record.stage, NodeStage::Failed { .. } | NodeStage::Destroyed { .. });
    !record.may_run() && record.deletion.is_none() && !gone
}

/// How many of the nodes that are wanted on are ready.
pub fn ready_on(seen: &GroupState, spec: &RunNodeGroupSpec) -> u32 {
    if spec.power.is_all_off() {
        return 0;
    }
    let off = spec.power.off_slots(spec.count).filter_map(|index| seen.record(index));
    let off = off.filter(|record| record.is_ready()).count();
    seen.ready_within(spec.count).saturating_sub(u32::try_from(off).unwrap_or(u32::MAX))
}

/// Compares the counts of what is with what should be.
pub fn standing(observed: &ClusterState, desired: &ClusterShape) -> Standing {
    let mut standing = Standing { converged: true, ..Standing::default() };
    for spec in desired.groups() {
        standing.want = standing.want.saturating_add(spec.count_on());
        let seen = observed.group(&spec.group).map(AsRef::as_ref);
        let gated = !held_back(observed, desired, spec).is_empty();
        standing.gated = standing.gated.saturating_add(u32::from(gated));
        let ready = seen.map_or(0, |seen| ready_on(seen, spec));
        standing.ready = standing.ready.saturating_add(ready);
        standing.converged &= group_converged(seen, Some(spec));
        // Of what cannot be looked at nothing is claimed (R162).
        let provider = observed.providers().get(&spec.spec.provider);
        standing.converged &= spec.count == 0 || !provider.is_some_and(ProviderState::is_blind);
    }
    for (name, group) in observed.groups() {
        standing.failing = standing.failing.saturating_add(group.failing());
        let held = group.held().saturating_add(u32::from(group.hold().is_some()));
        standing.held = standing.held.saturating_add(held);
        standing.converged &= desired.group(name).is_some() || group_converged(Some(group), None);
    }
    standing
}
