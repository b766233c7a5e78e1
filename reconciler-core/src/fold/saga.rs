//! Whether what a fold did to an attempt turns its group's update back (D4, R103, R105).
//!
//! The table itself stands in `saga`; here is what a record before and after a fold tells it.

use crate::{
    desired::OnFailure,
    effect::FailureClass,
    id::{LogicalNodeId, RevisionDigest},
    observed::{ClusterState, Failing, NodeRecord, NodeStage, Rollout},
    redact::Redacted,
    saga::{Answer, Sight, decide},
};

/// How an attempt stood before a fold.
#[derive(Clone, Copy)]
pub(super) struct Before {
    failures: u32,
    had_workload: bool,
    was_ready: bool,
}

impl Before {
    pub(super) fn of(record: &NodeRecord) -> Self {
        Self {
            failures: record.backoff.failures,
            had_workload: record.stage.has_workload(),
            was_ready: record.stage.is_ready() && !record.is_unready(),
        }
    }

    /// What went wrong, if the fold ended the attempt's way up for good as far as its update goes.
    ///
    /// A node that had been ready was verified: that it is lost later is no failure of the update.
    pub(super) fn turned(self, record: &NodeRecord) -> Option<Redacted> {
        let failed = record.backoff.failures > self.failures && !self.was_ready;
        if !failed || record.policy.update.on_failure != OnFailure::Rollback {
            return None;
        }
        let (class, message) = match &record.stage {
            NodeStage::Failed { failure, .. } => (failure.class, failure.message.clone()),
            NodeStage::New
            | NodeStage::LeaseRequested
            | NodeStage::LeaseCreated { .. }
            | NodeStage::EndpointKnown { .. }
            | NodeStage::BootstrapRunning { .. }
            | NodeStage::SwactorJoined { .. }
            | NodeStage::HandedOff { .. }
            | NodeStage::Dormant { .. }
            | NodeStage::Destroyed { .. } => {
                (FailureClass::TimedOut, Redacted::new("the lease could not be made"))
            }
        };
        let sight = if self.had_workload { Sight::Unmet } else { Sight::NoEffect };
        let decision = decide(Answer::failed(class), sight, record.backoff.failures);
        decision.turns_back().then_some(message)
    }
}

impl ClusterState {
    /// Notes with the update of a slot's group that an attempt of the new revision failed.
    ///
    /// Where nothing served before there is nothing to go back to, and the way back itself has none.
    pub(super) fn note_failing(
        &mut self,
        slot: &LogicalNodeId,
        revision: RevisionDigest,
        why: Redacted,
    ) {
        let open = |rollout: &&mut Rollout| {
            let first = rollout.failing.is_none() && rollout.target == revision;
            first && rollout.way_back(revision).is_ok()
        };
        if let Some(rollout) = self.rollouts.get_mut(&slot.group).filter(open) {
            rollout.failing = Some(Failing { slot: slot.clone(), why });
            self.dirty_rollouts.insert(slot.group.clone());
        }
    }
}
