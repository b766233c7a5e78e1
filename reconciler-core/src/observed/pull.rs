//! Times that were stored by a clock that went back are pulled in, so that none of them delays for longer than
//! it could have when it was stored (D12, C8).
//!
//! That elapsed time saturates stands in [`time`](crate::time).

use alloc::sync::Arc;

use super::{record::NodeRecord, stage::NodeStage};
use crate::{
    limits,
    time::{Millis, Timestamp},
};

/// Brings every time of a record to where it can be by a clock that shows `now`.
pub(super) fn pull_in(record: &mut NodeRecord, now: Timestamp) {
    if let Some(second) = &mut record.second {
        pull_in(&mut second.record, now);
        second.seen.iter_mut().for_each(|at| *at = (*at).min(now));
        let cap = second.record.policy.restart.cap;
        second.look_at.iter_mut().for_each(|at| *at = (*at).min(now.after(cap)));
    }
    let policy = Arc::clone(&record.policy);
    let cap = policy.restart.cap;
    let past = |at: &mut Timestamp| *at = (*at).min(now);
    let within = |at: &mut Timestamp, length: Millis| *at = (*at).min(now.after(length));
    past(&mut record.since);
    record.missing_since.iter_mut().for_each(past);
    record.suspect_since.iter_mut().for_each(past);
    record.revived.iter_mut().for_each(past);
    if let Some(health) = &mut record.health {
        for trial in [&mut health.startup, &mut health.liveness, &mut health.readiness] {
            past(&mut trial.since);
        }
    }
    record.agent.iter_mut().filter_map(|agent| agent.lost_since.as_mut()).for_each(past);
    match &mut record.stage {
        NodeStage::LeaseCreated { probe_at: Some(at), .. } => within(at, limits::ENDPOINT_PROBE),
        NodeStage::BootstrapRunning { settle_at, .. } => within(settle_at, policy.settle),
        NodeStage::HandedOff { stable_at, member, .. } => {
            within(stable_at, policy.stable);
            past(&mut member.ready_at);
        }
        NodeStage::Dormant { member, .. } => past(&mut member.ready_at),
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { probe_at: None, .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::SwactorJoined { .. }
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
