//! When a record next needs a look by itself, without any event.

use super::{record::NodeRecord, stage::NodeStage};
use crate::time::{Millis, Timestamp};

/// The earliest time after `now` at which something about this record falls due.
///
/// Every time that a decision compares with stands here; one too many only costs a look.
pub fn next_due(record: &NodeRecord, now: Timestamp) -> Option<Timestamp> {
    let second = record.second.as_deref();
    let beside = second.and_then(|second| own_due(&second.record, now));
    let look = second.and_then(|second| second.look_at).filter(|at| *at > now);
    own_due(record, now).into_iter().chain(beside).chain(look).min()
}

fn own_due(record: &NodeRecord, now: Timestamp) -> Option<Timestamp> {
    let observation = record.policy.update.observation;
    // What does not serve proves nothing by waiting: an answer of its probe is what changes that.
    let unready = record.is_unready();
    let observed = record.ready_since().filter(|_| observation > Millis::ZERO && !unready);
    let stage = match &record.stage {
        // A cleanup compares with none of its stage's times.
        _ if record.deletion.is_some() => [None, None],
        NodeStage::LeaseCreated { probe_at, endpoint: None, .. } => {
            [*probe_at, Some(record.since.after(record.policy.timeouts.endpoint))]
        }
        NodeStage::BootstrapRunning { settle_at, .. } => {
            [Some(*settle_at), Some(record.since.after(record.policy.timeouts.bootstrap))]
        }
        NodeStage::HandedOff { stable_at, .. } if !unready => [Some(*stable_at), None],
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { endpoint: Some(_), .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => [None, None],
    };
    let beside = [
        record.pending.as_ref().map(|p| p.deadline),
        record.ambiguity.as_ref().map(|a| a.look_at),
        record.retry.as_ref().map(|r| r.at),
        record.backoff.not_before,
        observed.map(|since| since.after(observation)),
    ];
    stage.into_iter().chain(beside).flatten().filter(|at| *at > now).min()
}

impl NodeRecord {
    /// Brings up to date what follows from the rest of the record.
    pub(crate) fn derive(&mut self, now: Timestamp) {
        self.due = next_due(self, now);
        self.settled = self.is_settled();
    }
}
