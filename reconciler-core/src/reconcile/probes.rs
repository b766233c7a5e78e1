//! What the probes of a workload hold up, and when one of them ends its attempt.

use super::{
    decision::{Decision, GroupContext, wait},
    reason::Rung,
};
use crate::{
    desired::ProbeKind,
    fold::{Transition, is_believed},
    observed::{Freeze, NodeRecord},
    redact::Redacted,
    time::Timestamp,
};

/// The wait for a probe to pass.
pub(super) fn awaited(record: &NodeRecord, kind: ProbeKind) -> Rung {
    let said = record.trial(kind).map_or_else(Redacted::default, |trial| {
        trial.trouble.as_ref().unwrap_or(&trial.said).clone()
    });
    Rung::AwaitProbe(kind, record.verdict(kind), said)
}

/// A failing startup or liveness probe ends the attempt.
///
/// Where an update has stalled, its group keeps its hold: what would be held for too many signs waits for that one.
pub(super) fn gives_up(
    record: &NodeRecord,
    group: &GroupContext<'_>,
    now: Timestamp,
) -> Option<Decision> {
    let kind = record.gives_up().filter(|_| record.deletion.is_none())?;
    let stalled = group.freeze.filter(|freeze| freeze.is_stalled() && kind == ProbeKind::Liveness);
    if let Some(freeze @ Freeze::Stalled(_)) = stalled.filter(|_| !is_believed(record, now)) {
        let state = group.observed.group(&group.name)?;
        let known = u32::try_from(state.len()).unwrap_or(u32::MAX);
        if state.recent_doubts_at(now) >= record.policy.mass_max(known) {
            return Some(wait(Rung::of_freeze(freeze), None));
        }
    }
    Some(Decision::Move(Transition::GiveUp(kind)))
}
