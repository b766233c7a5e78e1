//! The ladder: the first rung that fits a record decides.
//!
//! The order is the law: what is broken is not touched, what is under way is waited for, what is unknown is
//! looked for, what must go goes before anything new begins.

use alloc::{boxed::Box, format, sync::Arc};

use super::{
    decision::{Decision, GroupContext, wait},
    hooks,
    power::{is_behind, powered, runs_again, stop},
    probes,
    reason::Rung,
    room::{past_freeze, past_gates, within_room},
    turn,
};
use crate::{
    desired::{HookPoint, JoinMode, LogicalNodeSpec, ProbeKind, RunNodeGroupSpec},
    effect::{Action, NodeManagerCommand},
    fold::{Transition, forbids_everything},
    hold::{Hold, HoldCode},
    id::Uuid,
    observed::{DeleteReason, Endpoint, LeaseFacts, NodeRecord, NodeStage},
    redact::Redacted,
    time::Timestamp,
};

/// The next step of one node by itself, without its group's or provider's circumstances.
///
/// At most one comes back, a command or a hook: convergence happens across passes, not within one.
pub fn reconcile_node(
    record: &NodeRecord,
    desired: &LogicalNodeSpec,
    run: Uuid,
    now: Timestamp,
) -> Option<Action> {
    let differs = record.revision != desired.revision;
    let failed = matches!(record.stage, NodeStage::Failed { .. });
    if record.deletion.is_none() && (differs || failed) {
        return None;
    }
    match unresolved(record, now).unwrap_or_else(|| by_stage(record, run, now)) {
        Decision::Command(command) => Some(command.into()),
        Decision::Hook(hook) => Some(Action::Hook(hook)),
        Decision::Steady | Decision::Wait(_) | Decision::Start(_) | Decision::Move(_) => None,
    }
}

/// Decides the slot of one index.
pub(super) fn decide(
    index: u32,
    record: Option<&NodeRecord>,
    group: &mut GroupContext<'_>,
    now: Timestamp,
) -> Decision {
    let wanted = group.wanted(index);
    let Some(record) = record else {
        return wanted.map_or(Decision::Steady, |wanted| Decision::Start(Arc::clone(wanted)));
    };
    // The common case first: a settled node of the wanted revision costs three comparisons.
    debug_assert_eq!(record.settled, record.is_settled());
    if let Some(wanted) = wanted.filter(|_| record.settled)
        && record.revision == wanted.revision
        && is_treated_as(record, wanted)
        && !wanted.power.is_off(index)
        && !is_behind(record, wanted)
    {
        return Decision::Steady;
    }
    let wanted = wanted.map(Arc::as_ref);
    let decision = forbidden(record)
        .or_else(|| destroyed(record, wanted, group, now))
        .or_else(|| group_held(record, wanted, group, now))
        .or_else(|| begins_delete(record, wanted, group, now))
        .or_else(|| unresolved(record, now))
        .or_else(|| held_back(record, group, now))
        .or_else(|| powered(record, wanted, group))
        .or_else(|| probes::gives_up(record, group, now))
        .unwrap_or_else(|| {
            let step = by_stage(record, group.shape.uuid, now);
            within_room(past_gates(past_freeze(step, record, group), group), group)
        });
    turn::or_awaited(decision, record, wanted, group)
}

fn is_treated_as(record: &NodeRecord, wanted: &RunNodeGroupSpec) -> bool {
    Arc::ptr_eq(&record.policy, &wanted.policy) || record.policy == wanted.policy
}

pub(super) fn held(hold: &Hold) -> Decision {
    wait(Rung::Held(hold.code, hold.text.clone()), None)
}

/// A record that is not to be trusted is not touched at all (D13, D11).
pub(super) fn forbidden(record: &NodeRecord) -> Option<Decision> {
    if let Some(hold) = record.hold.as_ref().filter(|hold| forbids_everything(hold.code)) {
        return Some(held(hold));
    }
    let lost_request = matches!(record.stage, NodeStage::LeaseRequested)
        && record.pending.is_none()
        && record.ambiguity.is_none();
    let two_fates = record.pending.is_some() && record.ambiguity.is_some();
    let dead_and_busy = matches!(record.stage, NodeStage::Destroyed { .. })
        && (record.pending.is_some() || record.deletion.is_some());
    if !(lost_request || two_fates || dead_and_busy) {
        return None;
    }
    let text = format!("the record in stage {} contradicts itself", record.stage.name().as_str());
    let hold =
        Hold { code: HoldCode::Unrecognised, text: Redacted::new(&text), since: record.since };
    Some(Decision::Move(Transition::Hold(hold)))
}

/// Nothing is left of the attempt: its record goes, waits, or begins anew (R24, R33, R43).
fn destroyed(
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &GroupContext<'_>,
    now: Timestamp,
) -> Option<Decision> {
    let NodeStage::Destroyed { .. } = record.stage else { return None };
    let Some(wanted) = wanted else {
        return Some(match &record.second {
            Some(second) => wait(Rung::AwaitSecondGone(second.record.attempt.ordinal), None),
            None => Decision::Move(Transition::Reap),
        });
    };
    if let Some(hold) = group.hold {
        return Some(wait(Rung::GroupHeld(hold.code), None));
    }
    if let Some(waits) = turn::awaits_others(record, wanted, group) {
        return Some(waits);
    }
    if let Some(frozen) = turn::frozen(record, wanted, group) {
        return Some(frozen);
    }
    // Another revision is a fresh start, and so is an operator's word to begin anew.
    let stays = group.freeze.is_some() || record.revision == wanted.revision;
    if stays && !is_behind(record, wanted) {
        if let Some(hold) = &record.hold {
            return Some(held(hold));
        }
        if let Some(until) = record.backoff.not_before.filter(|at| *at > now) {
            return Some(backing_off(record, until));
        }
    }
    Some(Decision::Move(Transition::Restart(Box::new(turn::next(record, wanted, group)))))
}

pub(super) fn backing_off(record: &NodeRecord, until: Timestamp) -> Decision {
    let attempts = record.policy.restart.attempts;
    wait(Rung::Backoff { failures: record.backoff.failures, attempts }, Some(until))
}

/// A held group takes no step; one that is to go altogether goes (D3). Waiting and looking go on.
pub(super) fn group_held(
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &GroupContext<'_>,
    now: Timestamp,
) -> Option<Decision> {
    let hold = group.hold?;
    let going = group.desired.is_none_or(|desired| desired.count == 0);
    if going && wanted.is_none() {
        return None;
    }
    unresolved(record, now).or_else(|| Some(wait(Rung::GroupHeld(hold.code), None)))
}

/// What is unwanted, of another revision or failed is to go; an open outcome does not delay that mark.
fn begins_delete(
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &mut GroupContext<'_>,
    now: Timestamp,
) -> Option<Decision> {
    if record.deletion.is_some() {
        return None;
    }
    let Some(wanted) = wanted else {
        if record.may_run() && !group.dependents().is_empty() {
            let rung = Rung::Dependents(Arc::clone(group.dependents()));
            return unresolved(record, now).or_else(|| Some(wait(rung, None)));
        }
        return Some(Decision::Move(Transition::BeginDelete(DeleteReason::Undesired)));
    };
    if matches!(record.stage, NodeStage::Failed { .. }) {
        return Some(Decision::Move(Transition::BeginDelete(DeleteReason::Failed)));
    }
    if let Some(turn) = turn::takes(record, wanted, group) {
        return Some(turn);
    }
    if let Some(again) = runs_again(record, wanted, group) {
        return match again {
            Decision::Wait(_) => unresolved(record, now).or(Some(again)),
            Decision::Steady
            | Decision::Command(_)
            | Decision::Hook(_)
            | Decision::Start(_)
            | Decision::Move(_) => Some(again),
        };
    }
    if !is_treated_as(record, wanted) {
        let spec =
            group.shape.stamp(wanted, record.slot.clone(), record.born, record.attempt.ordinal);
        return Some(Decision::Move(Transition::Retune(Box::new(spec))));
    }
    None
}

/// An effect on its way is waited for, an unknown outcome is looked for; both before anything else.
pub(super) fn unresolved(record: &NodeRecord, now: Timestamp) -> Option<Decision> {
    if let Some(pending) = &record.pending {
        if now >= pending.deadline {
            return Some(Decision::Move(Transition::Expire));
        }
        return Some(wait(Rung::EffectPending(pending.command), Some(pending.deadline)));
    }
    let open = record.ambiguity.as_ref()?;
    Some(wait(Rung::Ambiguous(open.command), Some(open.look_at)))
}

/// What may hold a step back although the record is ready for it.
pub(super) fn held_back(
    record: &NodeRecord,
    group: &GroupContext<'_>,
    now: Timestamp,
) -> Option<Decision> {
    if let Some(retry) = record.retry.as_ref().filter(|retry| retry.at > now) {
        let rung = Rung::Retry { tries: retry.tries, message: retry.message.clone() };
        return Some(wait(rung, Some(retry.at)));
    }
    let paused = group.observed.providers().get(&record.spec.provider).and_then(|p| p.paused_until);
    if let Some(until) = paused.filter(|until| *until > now) {
        return Some(wait(Rung::ProviderPaused, Some(until)));
    }
    if record.deletion.is_some() {
        // Cleanup waits for neither hold nor backoff, unless the cleanup itself is what a person has to mend.
        let refused = |hold: &&Hold| hold.code == HoldCode::CleanupRefused;
        let hold = record.hold.as_ref().filter(refused);
        return hold.or_else(|| hooks::doubt(record)).map(held);
    }
    if let Some(hold) = &record.hold {
        return Some(held(hold));
    }
    let new = matches!(record.stage, NodeStage::New);
    let until = record.backoff.not_before.filter(|at| new && *at > now)?;
    Some(backing_off(record, until))
}

/// The step that the stage asks for.
pub(super) fn by_stage(record: &NodeRecord, run: Uuid, now: Timestamp) -> Decision {
    if record.deletion.is_some() {
        return cleanup(record, run);
    }
    let timeouts = &record.policy.timeouts;
    match &record.stage {
        NodeStage::New => Decision::Command(NodeManagerCommand::CreateLease(record.request(run))),
        NodeStage::LeaseCreated { lease, endpoint: Some(endpoint), .. }
        | NodeStage::EndpointKnown { lease, endpoint } => hooks::before_start(record, run)
            .unwrap_or_else(|| Decision::Command(start(record, run, lease, endpoint))),
        NodeStage::LeaseCreated { lease, endpoint: None, probe_at } => {
            let deadline = record.since.after(timeouts.endpoint);
            // After a sleep the deadline may lie far back: one look at the present comes first (D12, C8).
            let looked = record.retry.is_some() || probe_at.is_some_and(|at| at >= deadline);
            if now >= deadline && looked {
                return Decision::Move(Transition::TimeOut);
            }
            match probe_at.filter(|at| *at > now) {
                Some(at) => wait(Rung::AwaitEndpoint, Some(at.min(deadline))),
                None => Decision::Command(NodeManagerCommand::LookupEndpoint(lease.clone())),
            }
        }
        NodeStage::BootstrapRunning { settle_at, .. } => joins(record, *settle_at, run, now),
        NodeStage::SwactorJoined { lease, session, .. } => {
            Decision::Command(NodeManagerCommand::BootstrapConvergenceObserved {
                lease: lease.clone(),
                session: session.id,
                workload: session.workload.clone(),
            })
        }
        NodeStage::HandedOff { .. } | NodeStage::Dormant { .. } if record.is_unready() => {
            wait(probes::awaited(record, ProbeKind::Readiness), None)
        }
        NodeStage::HandedOff { stable_at, .. } if now >= *stable_at => {
            Decision::Move(Transition::Rest)
        }
        NodeStage::HandedOff { stable_at, .. } => {
            let rung = if record.is_working() { Rung::Working } else { Rung::Stabilising };
            wait(rung, Some(*stable_at))
        }
        NodeStage::Dormant { .. }
        | NodeStage::LeaseRequested
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => Decision::Steady,
    }
}

/// What a workload that was started still lacks before it counts as joined.
fn joins(record: &NodeRecord, settle_at: Timestamp, run: Uuid, now: Timestamp) -> Decision {
    if let Some(hook) = hooks::due(record, HookPoint::PostStart, run) {
        return hook;
    }
    let settled = match record.spec.join {
        JoinMode::None | JoinMode::Agent => now >= settle_at,
        JoinMode::Probe => true,
    };
    let (told, up) = (!record.awaits_agent(), record.passes(ProbeKind::Startup));
    if settled && told && up {
        return Decision::Move(Transition::Settle);
    }
    let deadline = record.since.after(record.policy.timeouts.bootstrap);
    if now >= deadline {
        return Decision::Move(Transition::TimeOut);
    }
    if !told {
        return wait(Rung::AwaitAgent, Some(deadline));
    }
    if up {
        return wait(Rung::Settling, Some(settle_at));
    }
    wait(probes::awaited(record, ProbeKind::Startup), Some(deadline))
}

fn start(
    record: &NodeRecord,
    run: Uuid,
    lease: &LeaseFacts,
    endpoint: &Endpoint,
) -> NodeManagerCommand {
    NodeManagerCommand::StartBootstrap {
        request: record.request(run),
        lease: lease.clone(),
        endpoint: endpoint.clone(),
        session: record.next_session,
        timeout: record.policy.timeouts.bootstrap,
    }
}

/// One step of a deletion: the workload, then the lease, then the mark (R44).
fn cleanup(record: &NodeRecord, run: Uuid) -> Decision {
    let ends = stop(record, run).or_else(|| hooks::due(record, HookPoint::PostStop, run));
    ends.unwrap_or_else(|| {
        record.stage.lease().map_or(Decision::Move(Transition::MarkDestroyed), |lease| {
            Decision::Command(NodeManagerCommand::DestroyLease(lease.clone()))
        })
    })
}
