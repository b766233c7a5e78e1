//! What operators asked of a slot's workload: to rest, or to begin anew in its turn.
//!
//! A node that rests keeps its lease and has no session. One that begins anew keeps its lease as well; of those that
//! serve, one at a time does so, and only while every other one of its group serves.

use alloc::{boxed::Box, sync::Arc};

use super::{
    decision::{Decision, GroupContext, wait},
    hooks,
    reason::Rung,
};
use crate::{
    desired::{GroupKind, HookPoint, RunNodeGroupSpec},
    effect::NodeManagerCommand,
    fold::Transition,
    id::Uuid,
    observed::{DeleteReason, Freeze, GroupState, NodeRecord, NodeStage, Remains},
};

/// How many nodes of a group that serve may begin anew now.
pub(super) fn turns(
    seen: Option<&GroupState>,
    spec: Option<&RunNodeGroupSpec>,
    freeze: Option<Freeze>,
) -> u32 {
    let Some((seen, spec)) = seen.zip(spec).filter(|(_, spec)| !spec.power.is_plain()) else {
        return 0;
    };
    u32::from(seen.busy() == 0 && seen.ready() == to_serve(seen, spec, freeze))
}

/// How many nodes of a group may be waited for: those that are on, but for what an update that stalled keeps away.
fn to_serve(seen: &GroupState, spec: &RunNodeGroupSpec, freeze: Option<Freeze>) -> u32 {
    if !freeze.is_some_and(Freeze::is_stalled) {
        return spec.count_on();
    }
    let kept_away = |record: &&Arc<NodeRecord>| {
        let on = record.slot.index < spec.count && !spec.power.is_off(record.slot.index);
        on && record.revision == spec.revision && !record.is_ready()
    };
    let kept_away = u32::try_from(seen.records().filter(kept_away).count()).unwrap_or(u32::MAX);
    spec.count_on().saturating_sub(kept_away)
}

/// True if the workload of a record was started before its slot was last asked to begin anew.
pub(super) fn is_behind(record: &NodeRecord, spec: &RunNodeGroupSpec) -> bool {
    record.round < spec.power.round(record.slot.index)
}

/// A job that is to run again, and a workload that ended and is to serve now, do so as a fresh attempt.
///
/// What could not start again yet is not ended either: a closed gate is waited for first.
pub(super) fn runs_again(
    record: &NodeRecord,
    wanted: &RunNodeGroupSpec,
    group: &mut GroupContext<'_>,
) -> Option<Decision> {
    let again = match wanted.policy.kind {
        GroupKind::Service => record.is_completed(),
        GroupKind::Job => {
            let ran = record.may_run() || record.is_completed() || record.hold.is_some();
            ran && is_behind(record, wanted)
        }
    };
    let go = Decision::Move(Transition::BeginDelete(DeleteReason::Rerun));
    again.then(|| closed(group).unwrap_or(go))
}

/// The wait for the gates of a group, while they are closed.
fn closed(group: &mut GroupContext<'_>) -> Option<Decision> {
    let lacks = Arc::clone(group.lacks());
    (!lacks.is_empty()).then(|| wait(Rung::Gate(lacks), None))
}

/// What power has a record do; nothing where it is on and of the present round.
pub(super) fn powered(
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &mut GroupContext<'_>,
) -> Option<Decision> {
    let wanted = wanted.filter(|wanted| record.deletion.is_none() && !wanted.power.is_plain())?;
    let behind = is_behind(record, wanted);
    if behind && !record.stage.has_workload() {
        // Whatever is started from now on is of the present round.
        let spec =
            group.shape.stamp(wanted, record.slot.clone(), record.born, record.attempt.ordinal);
        return Some(Decision::Move(Transition::Retune(Box::new(spec))));
    }
    if wanted.power.is_off(record.slot.index) {
        return resting(record, group.shape.uuid);
    }
    if !behind {
        return None;
    }
    if let Some(closed) = closed(group) {
        return Some(closed);
    }
    if record.is_ready() {
        let Some(left) = group.turns.checked_sub(1) else {
            let seen = group.observed.group(&group.name).map(AsRef::as_ref);
            let ready = seen.map_or(0, GroupState::ready);
            let want = seen.map_or(0, |seen| to_serve(seen, wanted, group.freeze));
            return Some(wait(Rung::Turn { ready, want }, None));
        };
        group.turns = left;
    }
    stop(record, group.shape.uuid)
}

/// One step towards rest.
fn resting(record: &NodeRecord, run: Uuid) -> Option<Decision> {
    match &record.stage {
        NodeStage::New | NodeStage::LeaseCreated { .. } | NodeStage::EndpointKnown { .. } => {
            hooks::due(record, HookPoint::PostStop, run).or_else(|| Some(wait(Rung::Off, None)))
        }
        NodeStage::Dormant { completed: Some(_), .. } => Some(Decision::Steady),
        NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { completed: None, .. } => stop(record, run),
        NodeStage::LeaseRequested | NodeStage::Failed { .. } | NodeStage::Destroyed { .. } => None,
    }
}

/// One step that ends a session and its workload; nothing where there is none, or it ended well.
pub(super) fn stop(record: &NodeRecord, run: Uuid) -> Option<Decision> {
    hooks::due(record, HookPoint::PreStop, run).or_else(|| cancel(record))
}

fn cancel(record: &NodeRecord) -> Option<Decision> {
    let (lease, session, workload) = match &record.stage {
        NodeStage::BootstrapRunning { lease, session, .. }
        | NodeStage::SwactorJoined { lease, session, .. }
        | NodeStage::Failed { remains: Remains::Session { lease, session }, .. } => {
            (lease, session.id, &session.workload)
        }
        NodeStage::HandedOff { lease, member, .. }
        | NodeStage::Dormant { lease, member, completed: None, .. } => {
            (lease, member.session, &member.workload)
        }
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::Dormant { completed: Some(_), .. }
        | NodeStage::Failed { remains: Remains::Lease { .. } | Remains::Nothing, .. }
        | NodeStage::Destroyed { .. } => return None,
    };
    Some(Decision::Command(NodeManagerCommand::CancelBootstrap {
        lease: lease.clone(),
        session,
        workload: workload.clone(),
        grace: record.policy.stop_grace,
    }))
}
