//! What the model reads of one attempt, and what it says an attempt by itself has to do.
//!
//! Everything is read from the stage and the axes beside it, by none of the product's own predicates.

use reconciler_core::{
    desired::{HookPoint, JoinMode, ProbeKind},
    effect::{ActionKind, CommandKind},
    hold::HoldCode,
    id::SessionId,
    observed::{
        DeleteReason, HookMark, NodeRecord, NodeStage, ProbeVerdict, Remains, SessionStage,
        StageName, Trial,
    },
    reconcile::{Reason, Rung},
    redact::Redacted,
    time::Timestamp,
};

/// What the model says of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) why: Reason,
    /// True where something happens; false where it waits, or is steady.
    pub(super) acts: bool,
}

pub(super) fn act(rung: Rung) -> Answer {
    Answer { why: Reason { rung, until: None }, acts: true }
}

pub(super) fn step(kind: impl Into<ActionKind>) -> Answer {
    act(Rung::Step(kind.into()))
}

pub(super) fn wait(rung: Rung, until: Option<Timestamp>) -> Answer {
    Answer { why: Reason { rung, until }, acts: false }
}

pub(super) fn is_in(record: &NodeRecord, stages: &[StageName]) -> bool {
    stages.contains(&record.stage.name())
}

pub(super) fn is_deleting(record: &NodeRecord) -> bool {
    record.deletion.is_some()
}

pub(super) fn has_ended_well(record: &NodeRecord) -> bool {
    matches!(record.stage, NodeStage::Dormant { completed: Some(_), .. })
}

pub(super) fn has_lease(record: &NodeRecord) -> bool {
    if let NodeStage::Failed { remains, .. } = &record.stage {
        return !matches!(remains, Remains::Nothing);
    }
    !is_in(record, &[StageName::New, StageName::LeaseRequested, StageName::Destroyed])
}

fn left_session(record: &NodeRecord) -> bool {
    matches!(record.stage, NodeStage::Failed { remains: Remains::Session { .. }, .. })
}

/// A workload was started, and is not known to have ended.
pub(super) fn has_workload(record: &NodeRecord) -> bool {
    session(record).is_some() || left_session(record)
}

fn session(record: &NodeRecord) -> Option<SessionId> {
    if let NodeStage::BootstrapRunning { session, .. } | NodeStage::SwactorJoined { session, .. } =
        &record.stage
    {
        return Some(session.id);
    }
    let (NodeStage::HandedOff { member, .. } | NodeStage::Dormant { member, completed: None, .. }) =
        &record.stage
    else {
        return None;
    };
    Some(member.session)
}

/// The effect that is open, on its way or of unknown outcome.
fn is_under_way(record: &NodeRecord, kind: CommandKind) -> bool {
    let pending = record.pending.as_ref().map(|pending| pending.command);
    let open = record.ambiguity.as_ref().map(|open| open.command);
    [pending, open].contains(&Some(kind.into()))
}

pub(super) fn may_run(record: &NodeRecord) -> bool {
    has_workload(record) || is_under_way(record, CommandKind::StartBootstrap)
}

pub(super) fn may_own(record: &NodeRecord) -> bool {
    let unknown = record.ambiguity.as_ref().map(|open| open.command);
    has_lease(record)
        || is_in(record, &[StageName::LeaseRequested])
        || unknown == Some(CommandKind::CreateLease.into())
}

pub(super) fn is_destroyed(record: &NodeRecord) -> bool {
    is_in(record, &[StageName::Destroyed])
}

/// It may still come to serve.
pub(super) fn is_live(record: &NodeRecord) -> bool {
    !is_deleting(record) && !is_in(record, &[StageName::Failed, StageName::Destroyed])
}

fn trial(record: &NodeRecord, kind: ProbeKind) -> Trial {
    let health = record.health.as_deref().filter(|h| session(record) == Some(h.session));
    health.map_or_else(Trial::default, |health| match kind {
        ProbeKind::Startup => health.startup.clone(),
        ProbeKind::Liveness => health.liveness.clone(),
        ProbeKind::Readiness => health.readiness.clone(),
    })
}

fn is_asked(record: &NodeRecord, kind: ProbeKind) -> bool {
    let probes = &record.policy.probes;
    match kind {
        ProbeKind::Startup => probes.startup.is_some(),
        ProbeKind::Liveness => probes.liveness.is_some(),
        ProbeKind::Readiness => probes.readiness.is_some(),
    }
}

fn lacks(record: &NodeRecord, kind: ProbeKind) -> bool {
    is_asked(record, kind) && trial(record, kind).verdict != ProbeVerdict::Passing
}

pub(super) fn has_joined(record: &NodeRecord) -> bool {
    is_in(record, &[StageName::HandedOff, StageName::Dormant])
}

fn is_unready(record: &NodeRecord) -> bool {
    has_joined(record) && !has_ended_well(record) && lacks(record, ProbeKind::Readiness)
}

pub(super) fn serves(record: &NodeRecord) -> bool {
    has_joined(record) && !is_deleting(record) && !is_unready(record)
}

pub(super) fn is_working(record: &NodeRecord) -> bool {
    let job = record.policy.kind == reconciler_core::desired::GroupKind::Job;
    job && serves(record) && !has_ended_well(record)
}

/// Since when it serves.
pub(super) fn ready_since(record: &NodeRecord) -> Option<Timestamp> {
    let (NodeStage::HandedOff { member, .. } | NodeStage::Dormant { member, .. }) = &record.stage
    else {
        return None;
    };
    Some(member.ready_at.max(trial(record, ProbeKind::Readiness).since))
}

/// The first probe that does not pass, of a candidate that joined.
pub(super) fn unproven(record: &NodeRecord) -> Option<Answer> {
    let kinds = [ProbeKind::Startup, ProbeKind::Liveness, ProbeKind::Readiness];
    let kind = kinds.into_iter().find(|kind| lacks(record, *kind))?;
    has_joined(record).then(|| wait(probe_rung(record, kind), None))
}

fn probe_rung(record: &NodeRecord, kind: ProbeKind) -> Rung {
    let trial = trial(record, kind);
    Rung::AwaitProbe(kind, trial.verdict, trial.trouble.unwrap_or(trial.said))
}

/// The codes under which a record is not touched at all.
pub(super) fn is_untouchable(record: &NodeRecord) -> bool {
    let codes = [HoldCode::Unrecognised, HoldCode::NewerFence, HoldCode::DuplicateIdentity];
    record.hold.as_ref().is_some_and(|hold| codes.contains(&hold.code))
}

pub(super) fn is_held(record: &NodeRecord) -> Option<Answer> {
    let hold = record.hold.as_ref()?;
    Some(wait(Rung::Held(hold.code, hold.text.clone()), None))
}

/// What is not to be trusted, and what contradicts itself.
pub(super) fn forbidden(record: &NodeRecord) -> Option<Answer> {
    if is_untouchable(record) {
        return is_held(record);
    }
    let (sent, unknown) = (record.pending.is_some(), record.ambiguity.is_some());
    let lost = is_in(record, &[StageName::LeaseRequested]) && !sent && !unknown;
    let dead = is_destroyed(record) && (sent || is_deleting(record));
    (lost || dead || (sent && unknown)).then(|| {
        let name = record.stage.name().as_str();
        let text = Redacted::new(&format!("the record in stage {name} contradicts itself"));
        act(Rung::Held(HoldCode::Unrecognised, text))
    })
}

/// What is on its way is waited for until its deadline; what is unknown is looked for.
pub(super) fn open(record: &NodeRecord, now: Timestamp) -> Option<Answer> {
    if let Some(sent) = &record.pending {
        let over = now >= sent.deadline;
        let waits = wait(Rung::EffectPending(sent.command), Some(sent.deadline));
        return Some(if over { act(Rung::Expire) } else { waits });
    }
    let open = record.ambiguity.as_ref()?;
    Some(wait(Rung::Ambiguous(open.command), Some(open.look_at)))
}

pub(super) fn backs_off(record: &NodeRecord, now: Timestamp) -> Option<Answer> {
    let until = record.backoff.not_before.filter(|until| now < *until)?;
    let (failures, attempts) = (record.backoff.failures, record.policy.restart.attempts);
    Some(wait(Rung::Backoff { failures, attempts }, Some(until)))
}

/// A hook that goes for good is not waited for, and a start hook is none of what is cleaned up.
pub(super) fn holds_cleanup(record: &NodeRecord) -> bool {
    let of_stop = |mark: HookMark| [HookPoint::PreStop, HookPoint::PostStop].contains(&mark.point);
    let for_good = record.deletion.map(|deletion| deletion.reason);
    let code = record.hold.as_ref().map(|hold| hold.code);
    let stops = record.hooks.doubt.is_some_and(of_stop);
    let doubted = code == Some(HoldCode::HookUnknown) && stops;
    code == Some(HoldCode::CleanupRefused) || (doubted && for_good != Some(DeleteReason::Undesired))
}

fn hook(record: &NodeRecord, point: HookPoint) -> Option<Answer> {
    let hooks = &record.policy.hooks;
    let (declared, session) = match point {
        HookPoint::PreStart => (&hooks.pre_start, Some(record.next_session)),
        HookPoint::PostStart => (&hooks.post_start, session(record)),
        HookPoint::PreStop => (&hooks.pre_stop, session(record)),
        HookPoint::PostStop => (&hooks.post_stop, record.hooks.stopped),
    };
    let mark = HookMark { session: session?, point };
    let done = record.hooks.passed.is_some_and(|passed| mark <= passed);
    let awaits = declared.is_some() && has_lease(record) && !done;
    (awaits && record.hooks.doubt != Some(mark)).then(|| step(ActionKind::Hook(point)))
}

/// The end of a workload.
pub(super) fn stop(record: &NodeRecord) -> Option<Answer> {
    let cancel = || has_workload(record).then(|| step(CommandKind::CancelBootstrap));
    hook(record, HookPoint::PreStop).or_else(cancel)
}

/// Stop, what the stop owes, the lease, the mark (R44).
fn cleanup(record: &NodeRecord) -> Answer {
    let lease = || has_lease(record).then(|| step(CommandKind::DestroyLease));
    let stops = stop(record).or_else(|| hook(record, HookPoint::PostStop));
    stops.or_else(lease).unwrap_or_else(|| act(Rung::MarkDestroyed))
}

pub(super) fn post_stop(record: &NodeRecord) -> Option<Answer> {
    hook(record, HookPoint::PostStop)
}

/// The row of the table of steps that fits the stage (R35 to R44).
pub(super) fn by_stage(record: &NodeRecord, now: Timestamp) -> Answer {
    if is_deleting(record) {
        return cleanup(record);
    }
    match &record.stage {
        NodeStage::New => step(CommandKind::CreateLease),
        NodeStage::LeaseCreated { endpoint: None, probe_at, .. } => {
            endpoint(record, *probe_at, now)
        }
        NodeStage::LeaseCreated { .. } | NodeStage::EndpointKnown { .. } => {
            let pre = || hook(record, HookPoint::PreStart);
            let hook = hook(record, HookPoint::PostStop).or_else(pre);
            hook.unwrap_or_else(|| step(CommandKind::StartBootstrap))
        }
        NodeStage::BootstrapRunning { settle_at, .. } => joins(record, *settle_at, now),
        NodeStage::SwactorJoined { .. } => step(CommandKind::BootstrapConvergenceObserved),
        NodeStage::HandedOff { .. } | NodeStage::Dormant { .. } if is_unready(record) => {
            wait(probe_rung(record, ProbeKind::Readiness), None)
        }
        NodeStage::HandedOff { stable_at, .. } if *stable_at <= now => act(Rung::Rest),
        NodeStage::HandedOff { stable_at, .. } => {
            let rung = if is_working(record) { Rung::Working } else { Rung::Stabilising };
            wait(rung, Some(*stable_at))
        }
        NodeStage::LeaseRequested
        | NodeStage::Dormant { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => wait(Rung::Steady, None),
    }
}

fn endpoint(record: &NodeRecord, probe_at: Option<Timestamp>, now: Timestamp) -> Answer {
    let over = record.since.after(record.policy.timeouts.endpoint);
    let looked = record.retry.is_some() || probe_at.is_some_and(|at| at >= over);
    match probe_at {
        _ if looked && now >= over => act(Rung::TimeOut),
        Some(at) if at > now => wait(Rung::AwaitEndpoint, Some(at.min(over))),
        _ => step(CommandKind::LookupEndpoint),
    }
}

fn joins(record: &NodeRecord, settle_at: Timestamp, now: Timestamp) -> Answer {
    if let Some(hook) = hook(record, HookPoint::PostStart) {
        return hook;
    }
    let until = record.since.after(record.policy.timeouts.bootstrap);
    let NodeStage::BootstrapRunning { session, .. } = &record.stage else {
        unreachable!("of that stage")
    };
    let agent = record.agent.as_ref().is_some_and(|agent| agent.session == session.id);
    let silent = !(agent && session.stage == SessionStage::Converged);
    let waits = if record.spec.join == JoinMode::Agent && silent {
        wait(Rung::AwaitAgent, Some(until))
    } else if lacks(record, ProbeKind::Startup) {
        wait(probe_rung(record, ProbeKind::Startup), Some(until))
    } else if record.spec.join != JoinMode::Probe && now < settle_at {
        wait(Rung::Settling, Some(settle_at))
    } else {
        return act(Rung::Settle);
    };
    if now >= until { act(Rung::TimeOut) } else { waits }
}

/// A failing startup or liveness probe ends the attempt.
pub(super) fn gives_up(record: &NodeRecord) -> Option<Answer> {
    let fails = |kind: &ProbeKind| {
        is_asked(record, *kind) && trial(record, *kind).verdict == ProbeVerdict::Failing
    };
    let kind = [ProbeKind::Startup, ProbeKind::Liveness].into_iter().find(fails)?;
    (!is_deleting(record)).then(|| act(Rung::GiveUp(kind)))
}
