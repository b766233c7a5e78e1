//! Folding what became of an effect: R53, R54, R59, R65 to R70, D7, D8, C2, C5, C7.
//!
//! What a failure does to the attempts that follow stands in `fold_failures`.

use reconciler_core::{
    effect::{CommandKind, EffectOutcome, FailureClass, Look, WorkloadState},
    fold::{Fact, NoteKind, StepEnd, Transition, Verdict},
    hold::HoldCode,
    id::{AttemptOrdinal, StepId},
    observed::{ClusterState, DeleteReason, Endpoint, Handle, NodeStage, Remains, StageName},
    reconcile::{Rung, reconcile},
    redact::Redacted,
    time::Millis,
};

use crate::fleet::{
    ambiguous, at, command, definite, dispatch, in_stage, lease, looked, of, present, report,
    reported, shape, slot, stage, state,
};

const SLOT: &str = "web-0";

fn at_stage(name: StageName) -> ClusterState {
    state([in_stage(&shape(&[("web", 1)]), SLOT, stage(name))])
}

/// A state with `kind` on its way from `name` as step 1.
fn flying(name: StageName, kind: CommandKind) -> ClusterState {
    let mut state = at_stage(name);
    assert_eq!(dispatch(&mut state, SLOT, kind, 1, at(0)), Verdict::Applied);
    state
}

fn creating() -> ClusterState {
    flying(StageName::New, CommandKind::CreateLease)
}

fn leased(endpoint: Option<Endpoint>) -> EffectOutcome {
    EffectOutcome::Leased { lease: lease("l-1"), endpoint }
}

fn stage_of(state: &ClusterState) -> StageName {
    of(state, SLOT).stage.name()
}

fn ends(state: &mut ClusterState) -> Vec<StepEnd> {
    state.take_settled().into_iter().map(|settled| settled.end).collect()
}

fn delete(state: &mut ClusterState, now: u64) {
    let transition = Transition::BeginDelete(DeleteReason::Undesired);
    let fact = Fact::Decided { slot: slot(SLOT), transition };
    assert_eq!(state.fold(fact, at(now)), Verdict::Applied);
}

/// R53: a lease is folded with and without its endpoint.
#[test]
fn a_lease_is_folded_with_and_without_endpoint() {
    for endpoint in [None, Some(Endpoint::default())] {
        let mut state = creating();
        assert_eq!(stage_of(&state), StageName::LeaseRequested);
        let verdict = reported(&mut state, SLOT, 1, Ok(leased(endpoint.clone())), at(1));
        assert_eq!(verdict, Verdict::Applied);
        let want = NodeStage::LeaseCreated { lease: lease("l-1"), endpoint, probe_at: None };
        assert_eq!(of(&state, SLOT).stage, want);
        assert_eq!(ends(&mut state), [StepEnd::Verified]);
    }
}

/// R54: an endpoint that is not known yet is a probe, not a failure.
#[test]
fn an_endpoint_that_is_not_ready_is_probed_for() {
    let mut state = flying(StageName::LeaseCreated, CommandKind::LookupEndpoint);
    let _applied = reported(&mut state, SLOT, 1, Ok(EffectOutcome::Endpoint(None)), at(10));
    let record = of(&state, SLOT);
    assert_eq!((record.backoff.failures, record.retry.is_none()), (0, true));
    let plan = reconcile(&state, &shape(&[("web", 1)]), at(2_009));
    assert_eq!(
        (plan.reasons[0].1.rung.clone(), plan.requeue_at),
        (Rung::AwaitEndpoint, Some(at(2_010)))
    );
    let plan = reconcile(&state, &shape(&[("web", 1)]), at(2_010));
    assert_eq!(command(&plan), Some(CommandKind::LookupEndpoint));
}

/// R59: facts of another attempt or step change nothing.
#[test]
fn facts_of_another_attempt_or_step_are_stale() {
    let mut state = creating();
    let mut other = report(&state, SLOT, 1, Ok(leased(None)));
    other.attempt.ordinal = AttemptOrdinal::new(9);
    assert_eq!(state.fold(Fact::Reported(other), at(1)), Verdict::Stale);
    let mut other = report(&state, SLOT, 1, Ok(leased(None)));
    other.step = StepId::new(2);
    assert_eq!(state.fold(Fact::Reported(other), at(1)), Verdict::Stale);
    assert_eq!(stage_of(&state), StageName::LeaseRequested);
}

/// R66: one effect at a time; a second dispatch and a repeated report change nothing.
#[test]
fn a_slot_has_one_effect_at_a_time() {
    let mut state = creating();
    let second = dispatch(&mut state, SLOT, CommandKind::CreateLease, 2, at(1));
    assert_eq!(second, Verdict::Illegal);
    let answer = report(&state, SLOT, 1, Ok(leased(None)));
    assert_eq!(state.fold(Fact::Reported(answer.clone()), at(1)), Verdict::Applied);
    let after = of(&state, SLOT);
    assert_eq!(state.fold(Fact::Reported(answer), at(2)), Verdict::Stale);
    assert_eq!(of(&state, SLOT), after);
}

/// R67: after its deadline an effect is of unknown outcome, and its late result is dropped.
#[test]
fn a_result_after_the_deadline_is_dropped() {
    let mut state = creating();
    let late = report(&state, SLOT, 1, Ok(leased(None)));
    let fact = Fact::Decided { slot: slot(SLOT), transition: Transition::Expire };
    assert_eq!(state.fold(fact, at(120_000)), Verdict::Applied);
    assert_eq!(state.fold(Fact::Reported(late), at(120_001)), Verdict::Stale);
    assert_eq!(stage_of(&state), StageName::LeaseRequested);
    assert_eq!(ends(&mut state), [StepEnd::Ambiguous]);
    let plan = reconcile(&state, &shape(&[("web", 1)]), at(120_000));
    assert!(plan.is_empty() && plan.looks == [slot(SLOT)], "it is looked for, not repeated");
}

/// R68, C2: an ambiguous create is adopted when it is seen, and never requested twice, also while deleting.
#[test]
fn an_ambiguous_create_is_adopted() {
    for deleting in [false, true] {
        let mut state = creating();
        let _applied = reported(&mut state, SLOT, 1, Err(ambiguous(FailureClass::TimedOut)), at(1));
        if deleting {
            delete(&mut state, 2);
        }
        let plan = reconcile(&state, &shape(&[("web", 1)]), at(3));
        assert!(plan.is_empty(), "nothing before the outcome is known: {plan:?}");
        let _adopted = looked(&mut state, SLOT, present("l-1", WorkloadState::Absent), at(4));
        assert_eq!(stage_of(&state), StageName::LeaseCreated);
        let plan = reconcile(&state, &shape(&[("web", 1)]), at(5));
        let next = if deleting { CommandKind::DestroyLease } else { CommandKind::LookupEndpoint };
        assert_eq!(command(&plan), Some(next));
        assert_eq!(ends(&mut state), [StepEnd::Ambiguous, StepEnd::Verified]);
    }
}

/// C2, C3: that a create did not happen needs two looks as far apart as a thing may stay invisible.
#[test]
fn an_ambiguous_create_is_repeated_only_after_proof() {
    let mut state = creating();
    let _applied = reported(&mut state, SLOT, 1, Err(ambiguous(FailureClass::TimedOut)), at(0));
    for now in [0, 4_999] {
        let _open = looked(&mut state, SLOT, Look::Absent, at(now));
        assert_eq!(stage_of(&state), StageName::LeaseRequested, "a young absence proves nothing");
        assert_eq!(of(&state, SLOT).ambiguity.as_ref().map(|a| a.look_at), Some(at(5_000)));
    }
    let before = of(&state, SLOT).attempt;
    let _proof = looked(&mut state, SLOT, Look::Absent, at(5_000));
    let record = of(&state, SLOT);
    assert_eq!((record.stage.name(), record.attempt), (StageName::New, before), "the same key");
    assert_eq!(record.backoff.failures, 1);
}

/// A lease that comes to light after its absence seemed proven is taken over, not made again.
#[test]
fn a_create_that_comes_to_light_late_is_adopted() {
    let mut state = at_stage(StageName::New);
    let verdict = looked(&mut state, SLOT, present("l-1", WorkloadState::Absent), at(9));
    assert_eq!((verdict, stage_of(&state)), (Verdict::Applied, StageName::LeaseCreated));
    let told = state.take_notes().into_iter().map(|note| note.what);
    assert!(
        told.into_iter().any(|what| what == NoteKind::Adopted(CommandKind::CreateLease.into()))
    );
}

/// R65: a definite failure clears the effect, fails the attempt and sets the time of the next.
#[test]
fn a_definite_failure_fails_the_attempt() {
    let mut state = creating();
    let _applied = reported(&mut state, SLOT, 1, Err(definite(FailureClass::Capacity)), at(1));
    let record = of(&state, SLOT);
    assert!(matches!(&record.stage, NodeStage::Failed { remains: Remains::Nothing, .. }));
    assert!(record.pending.is_none() && record.backoff.not_before > Some(at(1)));
    assert_eq!(ends(&mut state), [StepEnd::NoEffect]);
}

/// No lost lease: what failed after its lease was given is cleaned up before anything new begins.
#[test]
fn a_failed_start_keeps_its_lease_for_cleanup() {
    let mut state = flying(StageName::EndpointKnown, CommandKind::StartBootstrap);
    let _applied = reported(&mut state, SLOT, 1, Err(definite(FailureClass::Workload)), at(1));
    let record = of(&state, SLOT);
    assert_eq!(record.stage.lease(), Some(&lease("l-1")));
    delete(&mut state, 2);
    let plan = reconcile(&state, &shape(&[("web", 1)]), at(2));
    assert_eq!(command(&plan), Some(CommandKind::DestroyLease), "cleanup waits for no backoff");
}

/// D13: a crash is a definite failure; what a look behind it shows is cleaned up, and where nothing could be seen
/// the outcome is unknown.
#[test]
fn a_lease_that_a_crash_left_is_not_forgotten() {
    let crashed = |look: Look| {
        let mut state = creating();
        let mut report = report(&state, SLOT, 1, Err(definite(FailureClass::Crashed)));
        report.look = Some(look);
        assert_eq!(state.fold(Fact::Reported(report), at(1)), Verdict::Applied);
        state
    };
    let left = crashed(present("l-1", WorkloadState::Absent));
    assert_eq!(stage_of(&left), StageName::Failed);
    assert_eq!(of(&left, SLOT).stage.lease(), Some(&lease("l-1")));
    assert_eq!(of(&left, SLOT).backoff.failures, 1);
    let nothing = crashed(Look::Absent);
    assert!(matches!(
        &of(&nothing, SLOT).stage,
        NodeStage::Failed { remains: Remains::Nothing, .. }
    ));
    let unseen = crashed(Look::Unknown { why: Redacted::new("dark") });
    assert!(of(&unseen, SLOT).ambiguity.is_some());
}

/// R189: what a controller that stops took back before it began is charged to nobody, and asked for again.
#[test]
fn an_effect_that_was_taken_back_charges_nothing() {
    let withdrawn = || Err(definite(FailureClass::Withdrawn));
    let mut state = creating();
    let _applied = reported(&mut state, SLOT, 1, withdrawn(), at(1));
    assert_eq!(stage_of(&state), StageName::New);
    let mut going = flying(StageName::EndpointKnown, CommandKind::StartBootstrap);
    let _applied = reported(&mut going, SLOT, 1, withdrawn(), at(1));
    assert_eq!(stage_of(&going), StageName::EndpointKnown);
    for mut state in [state, going] {
        let record = of(&state, SLOT);
        assert_eq!((record.backoff.failures, record.backoff.not_before), (0, None));
        assert!(record.pending.is_none() && record.retry.is_none() && record.hold.is_none());
        assert_eq!(ends(&mut state), [StepEnd::NotBegun]);
        let plan = reconcile(&state, &shape(&[("web", 1)]), at(1));
        assert!(command(&plan).is_some());
    }
}

/// D8, C5: a destroy is over only when the absence was seen.
#[test]
fn a_destroy_needs_the_absence_to_be_seen() {
    let destroying = || {
        let mut state = at_stage(StageName::EndpointKnown);
        delete(&mut state, 0);
        let verdict = dispatch(&mut state, SLOT, CommandKind::DestroyLease, 1, at(0));
        assert_eq!(verdict, Verdict::Applied);
        state
    };
    let after = |look: Option<Look>| {
        let mut state = destroying();
        let mut report = report(&state, SLOT, 1, Ok(EffectOutcome::Released));
        report.look = look;
        assert_eq!(state.fold(Fact::Reported(report), at(1)), Verdict::Applied);
        state
    };
    assert!(of(&after(Some(Look::Absent)), SLOT).stage.lease().is_none());

    let mut unseen = after(None);
    assert!(of(&unseen, SLOT).stage.lease().is_some() && of(&unseen, SLOT).ambiguity.is_some());
    let _seen = looked(&mut unseen, SLOT, Look::Absent, at(6_000));
    assert!(of(&unseen, SLOT).stage.lease().is_none());

    let still = after(Some(present("l-1", WorkloadState::Absent)));
    assert!(of(&still, SLOT).stage.lease().is_some() && of(&still, SLOT).retry.is_some());
}

/// R69: cancelling or destroying what is not there succeeds.
#[test]
fn ending_an_absent_thing_succeeds() {
    let mut state = at_stage(StageName::Dormant);
    delete(&mut state, 0);
    let _sent = dispatch(&mut state, SLOT, CommandKind::CancelBootstrap, 1, at(0));
    let _gone = reported(&mut state, SLOT, 1, Err(definite(FailureClass::NotFound)), at(1));
    assert_eq!(stage_of(&state), StageName::EndpointKnown);
    let _sent = dispatch(&mut state, SLOT, CommandKind::DestroyLease, 2, at(2));
    let _gone = reported(&mut state, SLOT, 2, Err(definite(FailureClass::NotFound)), at(3));
    assert!(of(&state, SLOT).stage.lease().is_none());
}

/// R70, C5: a destroy that fails fifty times keeps its facts and backs off to the cap; it is never given up.
#[test]
fn a_destroy_that_keeps_failing_keeps_its_facts() {
    let mut state = at_stage(StageName::EndpointKnown);
    delete(&mut state, 0);
    let mut now = 0;
    for step in 1..=50 {
        let plan = reconcile(&state, &shape(&[("web", 1)]), at(now));
        assert_eq!(command(&plan), Some(CommandKind::DestroyLease), "try {step}");
        let _sent = dispatch(&mut state, SLOT, CommandKind::DestroyLease, step, at(now));
        let failed = Err(definite(FailureClass::Unavailable));
        let _kept = reported(&mut state, SLOT, step, failed, at(now));
        let retry = of(&state, SLOT).retry.clone().expect("a retry");
        assert!(retry.at.since(at(now)) <= Millis::from_secs(60));
        now += retry.at.since(at(now)).get();
    }
    let record = of(&state, SLOT);
    assert_eq!(record.stage.lease(), Some(&lease("l-1")));
    assert!(record.hold.is_none() && record.deletion.is_some());
}

/// C7: a rate limit pauses the provider and charges the node nothing.
#[test]
fn a_rate_limit_charges_nothing() {
    let mut state = creating();
    let limit = FailureClass::RateLimited { retry_after: Millis::from_secs(30) };
    let _paused = reported(&mut state, SLOT, 1, Err(definite(limit)), at(0));
    let record = of(&state, SLOT);
    assert_eq!((record.stage.name(), record.backoff.failures), (StageName::New, 0));
    assert!(record.retry.is_none());
    let early = reconcile(&state, &shape(&[("web", 1)]), at(29_999));
    assert_eq!(early.reasons[0].1.rung, Rung::ProviderPaused);
    assert_eq!((early.requeue_at, early.waiting), (Some(at(30_000)), vec![slot(SLOT)]));
    let due = reconcile(&state, &shape(&[("web", 1)]), at(30_000));
    assert_eq!(command(&due), Some(CommandKind::CreateLease));
}

/// D11: who meets a newer fence stops at once.
#[test]
fn a_newer_fence_holds_the_slot() {
    let mut state = flying(StageName::EndpointKnown, CommandKind::StartBootstrap);
    let _held = reported(&mut state, SLOT, 1, Err(definite(FailureClass::Fenced)), at(1));
    let record = of(&state, SLOT);
    assert_eq!(record.hold.as_ref().map(|hold| hold.code), Some(HoldCode::NewerFence));
    assert_eq!(record.stage.lease(), Some(&lease("l-1")), "what is there stays");
}

/// An answer to another question is no success: the outcome is unknown.
#[test]
fn an_answer_to_another_question_is_ambiguous() {
    let mut state = creating();
    let _open = reported(&mut state, SLOT, 1, Ok(EffectOutcome::Cancelled), at(1));
    assert!(of(&state, SLOT).ambiguity.is_some());
    assert_eq!(ends(&mut state), [StepEnd::Ambiguous]);
}

/// After a takeover whatever was on its way is of unknown outcome, and is looked for.
#[test]
fn a_takeover_makes_what_was_on_its_way_ambiguous() {
    let mut state = creating();
    assert_eq!(state.fold(Fact::Resumed, at(5)), Verdict::Applied);
    assert_eq!(ends(&mut state), [StepEnd::AmbiguousAfterResume]);
    let plan = reconcile(&state, &shape(&[("web", 1)]), at(5));
    assert!(plan.is_empty() && plan.looks == [slot(SLOT)]);
    assert_eq!(state.fold(Fact::Resumed, at(6)), Verdict::Unchanged);
}

/// An ambiguous start is found running, or tried again three times at most (R103).
#[test]
fn an_ambiguous_start_is_found_or_tried_three_times() {
    let running = WorkloadState::Running { workload: Handle::default() };
    let mut found = flying(StageName::EndpointKnown, CommandKind::StartBootstrap);
    let _open = reported(&mut found, SLOT, 1, Err(ambiguous(FailureClass::TimedOut)), at(1));
    let _adopted = looked(&mut found, SLOT, present("l-1", running), at(2));
    assert_eq!(stage_of(&found), StageName::BootstrapRunning);

    let mut state = at_stage(StageName::EndpointKnown);
    for step in 1..=3 {
        let now = step * 100_000;
        let sent = dispatch(&mut state, SLOT, CommandKind::StartBootstrap, step, at(now));
        assert_eq!(sent, Verdict::Applied, "try {step}");
        let lost = Err(ambiguous(FailureClass::TimedOut));
        let _open = reported(&mut state, SLOT, step, lost, at(now));
        assert_eq!(stage_of(&state), StageName::EndpointKnown, "try {step}");
        let _absent = looked(&mut state, SLOT, present("l-1", WorkloadState::Absent), at(now));
    }
    assert_eq!(stage_of(&state), StageName::Failed, "there is no fourth try");
}

/// R103: a session that cannot be closed is tried three times.
#[test]
fn a_session_is_closed_in_three_tries() {
    let mut state = at_stage(StageName::SwactorJoined);
    for step in 1..=3 {
        assert_eq!(stage_of(&state), StageName::SwactorJoined, "try {step}");
        let now = at(step * 100_000);
        let _sent =
            dispatch(&mut state, SLOT, CommandKind::BootstrapConvergenceObserved, step, now);
        let _failed =
            reported(&mut state, SLOT, step, Err(definite(FailureClass::Unavailable)), now);
    }
    assert!(matches!(
        &of(&state, SLOT).stage,
        NodeStage::Failed { remains: Remains::Session { .. }, .. }
    ));
}
