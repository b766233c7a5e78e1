//! An update under way: where it leads, how far it has come, and what served before it (R163, R171, R175).
//!
//! When one begins, fails and ends is decided in `reconcile/rollout.rs`.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{cluster::ClusterState, group::GroupState, record::NodeRecord};
use crate::{
    desired::NodeSpec,
    id::{GroupId, LogicalNodeId, RevisionDigest},
    time::{Millis, Timestamp},
};

/// A revision that served, with what it takes to go back to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prior {
    /// The digest of `spec`.
    pub revision: RevisionDigest,
    /// What its nodes are.
    pub spec: Arc<NodeSpec>,
}

/// A group's update under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The revision that it leads to.
    pub target: RevisionDigest,
    /// The revision that served when it began, if one did.
    pub prior: Option<Prior>,
    /// True if it goes back to what served before an update that failed; it is never reverted itself.
    pub reverts: bool,
    /// When it began.
    pub since: Timestamp,
    /// The most nodes of the target revision that were ready at once.
    pub done: u32,
    /// How long it may go without a further one.
    pub patience: Millis,
    /// When it has failed; never while it is paused or its group was held for it.
    pub deadline: Option<Timestamp>,
    /// True while an operator lets no further node give way.
    pub paused: bool,
}

impl Rollout {
    /// Gives it its whole patience again, unless it is paused.
    pub(crate) fn begin_patience(&mut self, now: Timestamp) {
        self.deadline = (!self.paused).then(|| now.after(self.patience));
    }
}

impl ClusterState {
    /// The update of a group, if one is under way.
    pub fn rollout(&self, group: &GroupId) -> Option<&Rollout> {
        self.rollouts.get(group)
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
