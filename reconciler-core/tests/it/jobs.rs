//! Jobs: a good end completes, a bad one is a failure, and one that nobody saw is held (clarification 11).

use reconciler_core::{
    desired::{ClusterShape, GateCondition, GroupKind, Policy, Power},
    effect::{
        ActionKind, CommandKind, EffectOutcome, ExitStatus, FailureClass, Listing, Look,
        WorkloadState,
    },
    fold::{Fact, Verdict},
    hold::HoldCode,
    observed::{ClusterState, DeleteReason, Handle, NodeStage, StageName},
    plan::{PlanInput, Scope, project},
    reconcile::{Rung, outlook, reconcile, standing},
    redact::Redacted,
    time::Timestamp,
};

use crate::fleet::{
    FENCE, Gated, T0, at, command_of, definite, dispatch, gated, in_stage, looked, of, powered,
    present, provider, reported, slot, stage, state,
};
use crate::world::World;

const SLOT: &str = "task-0";
const RUNS: [StageName; 4] = [
    StageName::BootstrapRunning,
    StageName::SwactorJoined,
    StageName::HandedOff,
    StageName::Dormant,
];

fn job() -> ClusterShape {
    gated(1, "v1", &[("task", 1, GroupKind::Job, &[])]).expect("a shape")
}

fn at_stage(name: StageName) -> ClusterState {
    state([in_stage(&job(), SLOT, stage(name))])
}

fn exit(state: &mut ClusterState, status: ExitStatus, now: Timestamp) -> Verdict {
    let attempt = of(state, SLOT).attempt;
    let (workload, tail) = (Handle::default(), Redacted::default());
    state.fold(Fact::Exited { slot: slot(SLOT), attempt, workload, status, tail }, now)
}

fn stage_of(state: &ClusterState) -> StageName {
    of(state, SLOT).stage.name()
}

/// A job that exits with 0 is complete wherever it runs, keeps its lease, and nothing is left to do.
#[test]
fn a_good_end_completes() {
    for name in RUNS {
        let mut state = at_stage(name);
        assert_eq!(exit(&mut state, ExitStatus::Code(0), at(5)), Verdict::Applied);
        let record = of(&state, SLOT);
        assert!(record.is_completed() && record.stage.lease().is_some(), "{name:?}");
        assert_eq!(record.backoff.failures, 0);
        let plan = reconcile(&state, &job(), at(1_000_000));
        assert!(plan.is_empty() && plan.reasons.is_empty(), "{plan:?}");
        assert!(standing(&state, &job()).converged);
    }
}

/// A job that runs is not what is wanted in the end: the run has not converged.
#[test]
fn a_job_that_runs_is_not_done() {
    for name in RUNS {
        let state = at_stage(name);
        assert!(!standing(&state, &job()).converged, "{name:?}");
        let plan = reconcile(&state, &job(), at(1));
        assert!(!outlook(&state, &job(), &plan, at(1)).is_stuck(), "its end is awaited: {name:?}");
    }
}

/// Any other end is a failure under the retry policy: cleaned up, counted, tried again, held in the end (D5).
#[test]
fn a_bad_end_is_a_failure() {
    for status in [ExitStatus::Code(3), ExitStatus::Signal(9)] {
        let mut state = at_stage(StageName::HandedOff);
        assert_eq!(exit(&mut state, status, at(5)), Verdict::Applied);
        let record = of(&state, SLOT);
        assert_eq!((record.stage.name(), record.backoff.failures), (StageName::Failed, 1));
    }
    let mut last = in_stage(&job(), SLOT, stage(StageName::BootstrapRunning));
    last.backoff.failures = Policy::default().restart.attempts - 1;
    let mut state = state([last]);
    let _failed = exit(&mut state, ExitStatus::Code(3), at(5));
    assert_eq!(of(&state, SLOT).hold.as_ref().map(|h| h.code), Some(HoldCode::CrashLoop));
}

/// An end that nobody saw holds the job with its lease: it may have done its work (clarification 11, R129).
#[test]
fn an_unseen_end_is_held() {
    let gone = WorkloadState::Exited { status: ExitStatus::Unknown, tail: Redacted::default() };
    let looks = [
        ("exit", None),
        ("look", Some(present("l-1", gone))),
        ("none", Some(present("l-1", WorkloadState::Absent))),
    ];
    for (way, look) in looks {
        let mut state = at_stage(StageName::Dormant);
        let verdict = match look {
            None => exit(&mut state, ExitStatus::Unknown, at(5)),
            Some(look) => looked(&mut state, SLOT, look, at(5)),
        };
        assert_eq!(verdict, Verdict::Applied);
        let record = of(&state, SLOT);
        let code = record.hold.as_ref().map(|hold| hold.code);
        assert_eq!(
            (code, record.stage.name()),
            (Some(HoldCode::ExitUnknown), StageName::EndpointKnown),
            "{way}"
        );
        let plan = reconcile(&state, &job(), at(1_000_000));
        assert!(plan.is_empty(), "{way}: nothing moves: {plan:?}");
    }
}

/// A service whose end nobody saw is restarted, as ever.
#[test]
fn an_unseen_end_of_a_service_is_a_failure() {
    let shape = gated(1, "v1", &[("task", 1, GroupKind::Service, &[])]).expect("a shape");
    let mut state = state([in_stage(&shape, SLOT, stage(StageName::Dormant))]);
    let _failed = exit(&mut state, ExitStatus::Unknown, at(5));
    assert_eq!(stage_of(&state), StageName::Failed);
    let mut state = crate::fleet::state([in_stage(&shape, SLOT, stage(StageName::Dormant))]);
    let _failed = exit(&mut state, ExitStatus::Code(0), at(5));
    assert_eq!(stage_of(&state), StageName::Failed, "a service is not to end at all");
}

/// Released, a held job runs again as a fresh attempt; so it does when it is asked to run again.
#[test]
fn a_held_job_runs_again_when_someone_says_so() {
    let mut held = at_stage(StageName::HandedOff);
    let _held = exit(&mut held, ExitStatus::Unknown, at(5));
    let mut released = held.clone();
    assert_eq!(released.fold(Fact::ReleasedSlot(slot(SLOT)), at(6)), Verdict::Applied);
    let plan = reconcile(&released, &job(), at(7));
    let goes = |reason| reconciler_core::fold::Transition::BeginDelete(reason);
    assert_eq!(plan.transitions, [(slot(SLOT), goes(DeleteReason::Failed))]);
    let again = powered(&job(), "task", Power::anew);
    let plan = reconcile(&held, &again, at(7));
    assert_eq!(plan.transitions, [(slot(SLOT), goes(DeleteReason::Rerun))]);
}

/// What a finished job did stands: listings without it, a lease that is gone and late reports change nothing (D6).
#[test]
fn a_finished_job_is_not_doubted() {
    let mut state = at_stage(StageName::Dormant);
    let _done = exit(&mut state, ExitStatus::Code(0), at(5));
    let done = of(&state, SLOT);
    for round in 0..3_u64 {
        let now = at(100_000 + round * 100_000);
        let (provider, listing, asked_at) = (provider(), Listing::Complete(Vec::new()), now);
        let grace = crate::world::GRACE;
        let _seen =
            state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, now);
        let _looked = looked(&mut state, SLOT, Look::Absent, now);
    }
    let ended = WorkloadState::Exited { status: ExitStatus::Unknown, tail: Redacted::default() };
    let _looked = looked(&mut state, SLOT, present("l-1", ended), at(900_000));
    assert_eq!(exit(&mut state, ExitStatus::Code(1), at(900_001)), Verdict::Unchanged);
    assert_eq!(of(&state, SLOT), done);
    assert!(state.group(&crate::fleet::group("task")).is_some_and(|g| g.hold().is_none()));
}

/// A job that ends while its session is being closed is complete all the same: its exit is awaited, not guessed.
#[test]
fn an_end_during_the_handoff_is_awaited() {
    let mut state = at_stage(StageName::SwactorJoined);
    let kind = CommandKind::BootstrapConvergenceObserved;
    let _sent = dispatch(&mut state, SLOT, kind, 1, at(0));
    let _early = reported(&mut state, SLOT, 1, Err(definite(FailureClass::Workload)), at(1));
    assert_eq!(stage_of(&state), StageName::SwactorJoined);
    let mut told = state.clone();
    assert_eq!(exit(&mut told, ExitStatus::Code(0), at(2)), Verdict::Applied);
    assert!(of(&told, SLOT).is_completed());
    for step in 2..4 {
        let _sent = dispatch(&mut state, SLOT, kind, step, at(step * 100_000));
        let failed = Err(definite(FailureClass::Workload));
        let _again = reported(&mut state, SLOT, step, failed, at(step * 100_000 + 1));
    }
    let code = of(&state, SLOT).hold.as_ref().map(|hold| hold.code);
    assert_eq!(
        code,
        Some(HoldCode::ExitUnknown),
        "an exit that never comes is one that nobody saw"
    );
}

/// A job that ended before its start was known is complete if a look shows so, and not if that end may be an older one.
#[test]
fn an_end_before_the_start_is_known() {
    let ended = WorkloadState::Exited { status: ExitStatus::Code(0), tail: Redacted::default() };
    for (session, done) in [(1, true), (2, false)] {
        let mut record = in_stage(&job(), SLOT, stage(StageName::EndpointKnown));
        record.next_session = reconciler_core::id::SessionId::new(session);
        let mut state = state([record]);
        let _sent = dispatch(&mut state, SLOT, CommandKind::StartBootstrap, 1, at(0));
        let _taken_over = state.fold(Fact::Resumed, at(1));
        let _seen = looked(&mut state, SLOT, present("l-1", ended.clone()), at(2));
        assert_eq!(of(&state, SLOT).is_completed(), done, "session {session}");
        assert_eq!(of(&state, SLOT).hold.is_some(), !done);
    }
}

/// A job that ended before its start was reported is complete by the look that came with the report.
#[test]
fn an_end_right_after_the_start_completes() {
    let mut state = at_stage(StageName::EndpointKnown);
    let _sent = dispatch(&mut state, SLOT, CommandKind::StartBootstrap, 1, at(0));
    let started = EffectOutcome::Started { workload: Handle::default() };
    let mut report = crate::fleet::report(&state, SLOT, 1, Ok(started));
    let ended = WorkloadState::Exited { status: ExitStatus::Code(0), tail: Redacted::default() };
    report.look = Some(present("l-1", ended));
    let _told = state.fold(Fact::Reported(report), at(1));
    assert!(of(&state, SLOT).is_completed());
}

/// A workload that ended well and is to serve from now on begins anew; a job that is off stays complete.
#[test]
fn another_kind_is_another_end() {
    let mut state = at_stage(StageName::Dormant);
    let _done = exit(&mut state, ExitStatus::Code(0), at(5));
    let service = gated(2, "v1", &[("task", 1, GroupKind::Service, &[])]).expect("a shape");
    let plan = reconcile(&state, &service, at(6));
    assert_eq!(plan.reasons[0].1.rung, Rung::BeginDelete(DeleteReason::Rerun));
    let off = powered(&job(), "task", |power| power.switched(true));
    assert!(reconcile(&state, &off, at(6)).is_empty());
    assert!(standing(&state, &off).converged);
}

/// R167: whoever waits for a job's completion comes up after its good end, and the run of it again is a fresh attempt.
#[test]
fn a_completed_gate_opens_at_the_end_of_the_job() {
    let groups: [Gated<'_>; 2] = [
        ("task", 2, GroupKind::Job, &[]),
        ("web", 1, GroupKind::Service, &[("task", GateCondition::Completed)]),
    ];
    let mut world = World::new(gated(1, "v1", &groups).expect("a shape"), T0);
    assert!(world.settle().is_some());
    let create = |name: &str, log: &[(_, _, ActionKind)]| {
        let of = |(s, _, kind): &(reconciler_core::id::LogicalNodeId, _, ActionKind)| {
            s.group.as_str() == name && *kind == CommandKind::CreateLease
        };
        log.iter().position(of).expect("a lease")
    };
    let close = CommandKind::BootstrapConvergenceObserved;
    let last = world.log.iter().rposition(|(s, _, k)| s.group.as_str() == "task" && *k == close);
    assert!(last.is_none_or(|last| last < create("web", &world.log)));
    assert!(world.state.record(&slot("task-1")).is_some_and(|record| record.is_completed()));
    world.log.clear();
    let again = powered(&world.shape, "task", Power::anew);
    world.reshape(again);
    assert!(world.settle().is_some());
    assert!(world.log.iter().all(|(s, ..)| s.group.as_str() == "task"), "{:?}", world.log);
    let record = world.state.record(&slot("task-0")).expect("a record");
    assert_eq!((record.attempt.ordinal.get(), record.is_completed()), (2, true));
    assert!(matches!(record.stage, NodeStage::Dormant { .. }));
}

/// A plan and a world of two jobs and a service behind gates, from nothing or from jobs that run already.
fn chain() -> ClusterShape {
    let groups: [Gated<'_>; 3] = [
        ("check", 2, GroupKind::Job, &[("setup", GateCondition::Completed)]),
        ("setup", 1, GroupKind::Job, &[]),
        ("web", 2, GroupKind::Service, &[("check", GateCondition::Completed)]),
    ];
    gated(1, "v1", &groups).expect("a shape")
}

/// D2: the plan of jobs goes past their end, also past that of one that runs while it is made; asked to rest instead,
/// it is ended and nobody behind it comes up.
#[test]
fn a_plan_looks_past_the_end_of_a_job() {
    let planned = |state: &ClusterState, target: &ClusterShape| {
        let input = PlanInput {
            base: target,
            target,
            capabilities: &std::collections::BTreeMap::new(),
            fence: FENCE,
            serial: reconciler_core::id::PlanSerial::new(0),
            parallelism: 4,
        };
        project(state, &input, Scope::All, at(10)).expect("a plan that settles")
    };
    let starts = |plan: &reconciler_core::plan::LifecyclePlan| {
        let start = plan.steps.iter().filter(|s| s.action == CommandKind::StartBootstrap);
        start.map(|step| step.slot.to_string()).collect::<Vec<_>>()
    };
    let shape = chain();
    let whole = planned(&state([]), &shape);
    assert_eq!(starts(&whole), ["setup-0", "check-0", "check-1", "web-0", "web-1"]);
    assert!(whole.blocked.is_empty());
    for name in RUNS {
        let running = state([in_stage(&shape, "setup-0", stage(name))]);
        assert_eq!(starts(&planned(&running, &shape)), ["check-0", "check-1", "web-0", "web-1"]);
        let off = powered(&shape, "setup", |power| power.switched(true));
        let rests = planned(&running, &off);
        let actions: Vec<_> =
            rests.steps.iter().map(|s| (s.slot.to_string(), command_of(s.action))).collect();
        assert_eq!(actions, [("setup-0".to_owned(), CommandKind::CancelBootstrap)], "{name:?}");
        assert_eq!(rests.blocked.len(), 4, "{name:?}");
    }
}
