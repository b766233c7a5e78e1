//! The updates under way, by group: which there are, when the first of them fails, and what serves beside one.

use alloc::sync::Arc;

use super::{
    cluster::ClusterState,
    group::GroupState,
    record::NodeRecord,
    rollout::{Freeze, Prior, Rollout},
};
use crate::{
    id::{GroupId, LogicalNodeId, RevisionDigest},
    time::Timestamp,
};

impl ClusterState {
    /// The update of a group, if one is under way.
    pub fn rollout(&self, group: &GroupId) -> Option<&Rollout> {
        self.rollouts.get(group)
    }

    /// Why no node of a group moves to `target` at present, although an update leads there.
    pub fn freeze(&self, group: &GroupId, target: RevisionDigest) -> Option<Freeze> {
        let rollout = self.rollout(group).filter(|rollout| rollout.target == target)?;
        let hold = self.group(group).and_then(|state| state.hold());
        if let Some(hold) = hold.filter(|hold| hold.code.is_of_update()) {
            return Some(Freeze::Stalled(hold.code));
        }
        rollout.paused.then_some(Freeze::Paused)
    }

    /// Every update under way, in the order of the groups.
    pub fn rollouts(&self) -> impl Iterator<Item = (&GroupId, &Rollout)> {
        self.rollouts.iter()
    }

    /// Takes back updates as they were journaled.
    #[must_use]
    pub fn with_rollouts(
        mut self,
        rollouts: impl IntoIterator<Item = (GroupId, Rollout)>,
        now: Timestamp,
    ) -> Self {
        self.rollouts.extend(rollouts);
        self.pull_in_rollouts(now);
        self
    }

    /// When the first update fails, if nothing happens until then.
    pub(super) fn rollout_due(&self) -> Option<Timestamp> {
        let free = |name: &GroupId| self.group(name).is_none_or(|group| group.hold().is_none());
        let running = self.rollouts.iter().filter(|(name, _)| free(name));
        running.filter_map(|(_, rollout)| rollout.deadline).min()
    }

    /// No update fails any more: in a projection time jumps, and every effect succeeds.
    pub(crate) fn forget_deadlines(&mut self) {
        for rollout in self.rollouts.values_mut() {
            rollout.deadline = None;
        }
    }

    /// Brings the groups whose update ran out of time up for decision.
    pub(super) fn mark_overdue(&mut self, now: Timestamp) {
        if self.rollout_due().is_none_or(|at| at > now) {
            return;
        }
        let overdue = self.rollouts.iter().filter(|(_, r)| r.deadline.is_some_and(|at| at <= now));
        let slots = overdue.map(|(name, _)| LogicalNodeId::new(name.clone(), 0));
        self.dirty.extend(slots.collect::<alloc::vec::Vec<_>>());
    }

    /// No deadline lies further ahead than its whole patience (D12, C8).
    pub(super) fn pull_in_rollouts(&mut self, now: Timestamp) {
        for rollout in self.rollouts.values_mut() {
            let latest = now.after(rollout.patience);
            rollout.deadline = rollout.deadline.map(|at| at.min(latest));
            rollout.since = rollout.since.min(now);
        }
    }
}

impl GroupState {
    /// The revision that serves beside `target`: that of the first ready node of another one.
    pub fn serving_beside(&self, target: RevisionDigest) -> Option<Prior> {
        let other = |record: &&Arc<NodeRecord>| record.is_ready() && record.revision != target;
        let record = self.records().find(other)?;
        Some(Prior { revision: record.revision, spec: Arc::clone(&record.spec) })
    }
}
