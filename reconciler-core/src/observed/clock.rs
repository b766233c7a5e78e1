//! A clock that goes back: times that were stored by the old clock are pulled in, so that none of them delays
//! for longer than it could have when it was stored (D12, C8).
//!
//! That elapsed time saturates stands in [`time`](crate::time); what a time means is decided by the ladder.

use alloc::{sync::Arc, vec::Vec};

use super::{cluster::ClusterState, due::next_due, record::NodeRecord, stage::NodeStage};
use crate::{
    limits,
    time::{Millis, Timestamp},
};

impl ClusterState {
    /// Takes note of the time of a pass. Costs nothing unless the clock went back.
    pub(super) fn notice_time(&mut self, now: Timestamp) {
        let before = core::mem::replace(&mut self.latest, now);
        if now < before {
            self.clock_went_back(before, now);
        }
    }

    fn clock_went_back(&mut self, before: Timestamp, now: Timestamp) {
        for provider in self.providers.values_mut() {
            provider.paused_until = provider.paused_until.map(|at| now.after(at.since(before)));
        }
        let records: Vec<_> = self.groups().flat_map(|(_, g)| g.records().cloned()).collect();
        for record in records {
            let mut pulled = NodeRecord::clone(&record);
            pull_in(&mut pulled, now);
            if pulled != *record {
                self.put(Arc::new(pulled), now);
            } else if next_due(&record, now) != record.due {
                // What fell due by the old clock lies ahead again.
                self.reindex(&record.slot, now, record.due);
            }
        }
        let reaped: Vec<_> = self
            .groups()
            .filter(|(_, group)| group.reaped_at > now)
            .map(|(group, _)| group.clone())
            .collect();
        for group in reaped {
            if let Some(state) = self.group_mut(&group) {
                state.reaped_at = now;
            }
        }
    }
}

/// Brings every time of a record to where it can be by a clock that shows `now`.
pub(super) fn pull_in(record: &mut NodeRecord, now: Timestamp) {
    let policy = Arc::clone(&record.policy);
    let cap = policy.restart.cap;
    let past = |at: &mut Timestamp| *at = (*at).min(now);
    let within = |at: &mut Timestamp, length: Millis| *at = (*at).min(now.after(length));
    past(&mut record.since);
    record.missing_since.iter_mut().for_each(past);
    match &mut record.stage {
        NodeStage::LeaseCreated { probe_at: Some(at), .. } => within(at, limits::ENDPOINT_PROBE),
        NodeStage::BootstrapRunning { settle_at, .. } => within(settle_at, policy.settle),
        NodeStage::HandedOff { stable_at, .. } => within(stable_at, policy.stable),
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { probe_at: None, .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => {}
    }
    if let Some(pending) = &mut record.pending {
        within(&mut pending.deadline, pending.command.timeout(&policy));
    }
    if let Some(open) = &mut record.ambiguity {
        past(&mut open.since);
        open.first_miss.iter_mut().for_each(past);
        within(&mut open.look_at, cap.max(limits::ABSENCE_GRACE));
    }
    if let Some(retry) = &mut record.retry {
        within(&mut retry.at, cap);
    }
    if let Some(at) = &mut record.backoff.not_before {
        within(at, cap);
    }
}
