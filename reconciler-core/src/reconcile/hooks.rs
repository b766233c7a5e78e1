//! Where hooks stand among the steps of a node: each is a step of its own, taken once per session.
//!
//! Before a start: what the last stop still owes, then pre-start. After it: post-start, before anything waits for the
//! join. Before a stop: pre-stop, while the workload runs. What failed or ended by itself is not stopped but cleaned
//! up, so no stop hook runs for it.

use alloc::boxed::Box;

use super::decision::Decision;
use crate::{
    desired::HookPoint,
    effect::HookRun,
    hold::{Hold, HoldCode},
    id::Uuid,
    observed::{DeleteReason, NodeRecord},
};

/// The hook of `point`, if it is declared and still to run in the present stage.
pub(super) fn due(record: &NodeRecord, point: HookPoint, run: Uuid) -> Option<Decision> {
    let hook = record.policy.hooks.at(point)?;
    let mark = record.hook_mark(point).filter(|mark| record.hooks.awaits(*mark))?;
    let lease = record.stage.lease()?;
    Some(Decision::Hook(Box::new(HookRun {
        point,
        session: mark.session,
        hook: hook.clone(),
        request: record.request(run),
        lease: lease.clone(),
        endpoint: record.stage.endpoint().cloned().unwrap_or_default(),
    })))
}

/// The hooks that come before a start.
pub(super) fn before_start(record: &NodeRecord, run: Uuid) -> Option<Decision> {
    due(record, HookPoint::PostStop, run).or_else(|| due(record, HookPoint::PreStart, run))
}

/// A hook in doubt holds its node, but what is cleaned up asks no start hook, and what goes for good asks none (D3).
pub(super) fn doubt(record: &NodeRecord) -> Option<&Hold> {
    let hold = record.hold.as_ref().filter(|hold| hold.code == HoldCode::HookUnknown)?;
    let Some(deletion) = &record.deletion else { return Some(hold) };
    let stops = record.hooks.doubt.is_some_and(|mark| !mark.point.is_of_start());
    (stops && deletion.reason != DeleteReason::Undesired).then_some(hold)
}
