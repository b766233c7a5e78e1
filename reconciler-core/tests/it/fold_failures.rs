//! What failures do to the attempts that follow: R60 to R62, D4, D5, C6.

use reconciler_core::{
    desired::{ClusterShape, Policy, RestartPolicy},
    effect::{CommandKind, EffectOutcome, ExitStatus, FailureClass, Look},
    fold::{Fact, Transition, Verdict},
    hold::{Hold, HoldCode},
    observed::{Backoff, ClusterState, DeleteReason, Deletion, Handle, NodeStage, StageName},
    reconcile::reconcile,
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    T0, ambiguous, at, definite, dispatch, in_stage, lease, looked, of, reported, shape,
    shape_with, slot, stage, state,
};
use crate::laws_single::journaled;

const SLOT: &str = "web-0";

fn policy(jitter_percent: u32) -> Policy {
    let restart = RestartPolicy { jitter_percent, attempts: 100, ..RestartPolicy::default() };
    Policy { restart, ..Policy::default() }
}

fn one(policy: &Policy) -> ClusterShape {
    shape_with(1, &[("web", 1, "v1")], policy)
}

fn at_stage(policy: &Policy, name: StageName) -> ClusterState {
    state([in_stage(&one(policy), SLOT, stage(name))])
}

fn exit(state: &mut ClusterState, now: Timestamp) -> Verdict {
    let attempt = of(state, SLOT).attempt;
    let (status, tail) = (ExitStatus::Code(3), Redacted::new("out of memory"));
    state.fold(
        Fact::Exited { slot: slot(SLOT), attempt, workload: Handle::default(), status, tail },
        now,
    )
}

fn decided(state: &mut ClusterState, transition: Transition, now: Timestamp) {
    let fact = Fact::Decided { slot: slot(SLOT), transition };
    assert_eq!(state.fold(fact, now), Verdict::Applied);
}

/// Cleans up a failed attempt and begins the next at the moment that it may.
fn begin_again(state: &mut ClusterState, shape: &ClusterShape, mut now: Timestamp) -> Timestamp {
    for _ in 0..8 {
        let mut plan = reconcile(state, shape, now);
        let kind = plan.per_node.first().map(|(_, command)| command.kind());
        if kind == Some(CommandKind::CreateLease.into()) {
            return now;
        }
        if let Some(kind) = kind {
            let _sent = dispatch(state, SLOT, kind, 1, now);
            let gone = Err(definite(FailureClass::NotFound));
            assert_eq!(reported(state, SLOT, 1, gone, now), Verdict::Applied);
        } else if plan.is_empty() {
            now = plan.requeue_at.expect("a time to wait for");
        }
        for (_, transition) in plan.take_transitions() {
            decided(state, transition, now);
        }
    }
    panic!("it never begins again");
}

/// The delays between so many failures in a row and the attempts that follow them.
fn delays(policy: &Policy, n: usize) -> Vec<u64> {
    let shape = one(policy);
    let mut state = at_stage(policy, StageName::New);
    let mut now = at(0);
    let fail = |_| {
        let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, now);
        let refused = Err(definite(FailureClass::Capacity));
        let _failed = reported(&mut state, SLOT, 1, refused, now);
        let next = begin_again(&mut state, &shape, now);
        let delay = next.since(now).get();
        now = next;
        delay
    };
    (0..n).map(fail).collect()
}

/// R60: the reason and the time of a failure stand in the record.
#[test]
fn a_failure_keeps_its_reason_and_time() {
    let mut state = at_stage(&policy(0), StageName::HandedOff);
    assert_eq!(exit(&mut state, at(77)), Verdict::Applied);
    let record = of(&state, SLOT);
    let NodeStage::Failed { failure, .. } = &record.stage else { panic!("{record:?}") };
    assert_eq!((failure.at, failure.class), (at(77), FailureClass::Workload));
    assert!(failure.message.as_str().contains("status 3"), "{}", failure.message);
    assert!(failure.message.as_str().contains("out of memory"), "{}", failure.message);
}

/// R62: delays double from the initial one to the cap.
#[test]
fn delays_double_to_the_cap() {
    let want = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
    assert_eq!(delays(&policy(0), 8), want);
}

/// R62, C6: jitter takes off at most its share, and is the same in every run.
#[test]
fn jitter_is_bounded_and_derived() {
    let (plain, jittered) = (delays(&policy(0), 8), delays(&policy(50), 8));
    for (full, less) in plain.iter().zip(&jittered) {
        assert!((full / 2..=*full).contains(less), "{less} of {full}");
    }
    assert_ne!(plain, jittered);
    assert_eq!(delays(&policy(50), 8), jittered);
    assert_eq!(delays(&policy(5_000), 8), jittered, "more than half is half");
}

/// D5: the first failure of a proven node restarts at once; the next waits for the first delay.
#[test]
fn a_dormant_node_restarts_at_once() {
    let policy = policy(0);
    let mut state = at_stage(&policy, StageName::Dormant);
    let _failed = exit(&mut state, at(5));
    assert_eq!(begin_again(&mut state, &one(&policy), at(5)), at(5));
    assert_eq!((of(&state, SLOT).backoff.failures, of(&state, SLOT).backoff.delays), (1, 0));
    let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, at(6));
    let _failed = reported(&mut state, SLOT, 1, Err(definite(FailureClass::Capacity)), at(6));
    assert_eq!(begin_again(&mut state, &one(&policy), at(6)), at(1_006));
}

/// C6: failures are forgotten only when the node was ready for its stable time.
#[test]
fn failures_are_forgotten_only_when_stable() {
    let shape = one(&policy(0));
    let mut record = in_stage(&shape, SLOT, stage(StageName::HandedOff));
    record.backoff = Backoff { failures: 3, delays: 3, not_before: None };
    let mut ready = state([record]);
    assert_eq!(of(&ready, SLOT).backoff.failures, 3, "ready alone proves nothing");
    decided(&mut ready, Transition::Rest, at(10_000));
    assert_eq!(of(&ready, SLOT).backoff, Backoff::default());
}

/// D5, C6: the deadline is computed once, stored, and the same after a restart.
#[test]
fn the_deadline_is_stored_and_survives_a_restart() {
    let policy = policy(20);
    let mut state = at_stage(&policy, StageName::HandedOff);
    let _failed = exit(&mut state, at(100));
    let set = of(&state, SLOT).backoff.not_before;
    assert!(set.is_some());
    for later in [200, 500] {
        let restored = journaled(&state, at(later));
        assert_eq!(of(&restored, SLOT).backoff.not_before, set);
        let plan = reconcile(&restored, &one(&policy), at(later));
        assert!(plan.per_node.is_empty());
    }
}

/// R61: each slot has its own deadline, and a pass asks to be woken for the earliest.
#[test]
fn slots_back_off_apart() {
    let shape = shape_with(1, &[("web", 2, "v1")], &policy(0));
    let gone = |text: &str, wait: u64| {
        let mut record = in_stage(&shape, text, stage(StageName::Destroyed));
        record.backoff = Backoff { failures: 1, delays: 1, not_before: Some(at(wait)) };
        record
    };
    let state = state([gone("web-0", 900), gone("web-1", 400)]);
    assert_eq!(reconcile(&state, &shape, at(0)).requeue_at, Some(at(400)));
    assert_eq!(state.next_due(), Some(at(400)));
}

/// D5: five failures in a row hold the slot; its release begins anew with nothing counted.
#[test]
fn a_crash_loop_is_held_and_released() {
    let policy = Policy::default();
    let shape = one(&policy);
    let mut state = at_stage(&policy, StageName::New);
    let mut now = at(0);
    for n in 1..=5 {
        let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, now);
        let refused = Err(definite(FailureClass::Capacity));
        let _failed = reported(&mut state, SLOT, 1, refused, now);
        let code = of(&state, SLOT).hold.as_ref().map(|hold| hold.code);
        assert_eq!(code, (n == 5).then_some(HoldCode::CrashLoop), "failure {n}");
        if n < 5 {
            now = begin_again(&mut state, &shape, now);
        }
    }
    while let Some((_, transition)) = reconcile(&state, &shape, now).take_transitions().next() {
        decided(&mut state, transition, now);
    }
    let late = now.after(Millis::from_secs(1_000_000));
    assert!(reconcile(&state, &shape, late).is_empty(), "it waits for an operator");
    assert_eq!(of(&state, SLOT).stage.name(), StageName::Destroyed, "with nothing left behind");
    assert_eq!(state.fold(Fact::ReleasedSlot(slot(SLOT)), late), Verdict::Applied);
    assert_eq!(state.fold(Fact::ReleasedSlot(slot(SLOT)), late), Verdict::Unchanged);
    assert_eq!(begin_again(&mut state, &shape, late), late);
    assert_eq!(of(&state, SLOT).backoff, Backoff::default());
}

/// C6: what can never work is not tried again: it is held at the first failure.
#[test]
fn a_terminal_refusal_is_held_at_once() {
    for class in [FailureClass::Invalid, FailureClass::Auth] {
        let mut state = at_stage(&policy(0), StageName::New);
        let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, at(0));
        let _failed = reported(&mut state, SLOT, 1, Err(definite(class)), at(0));
        let hold = of(&state, SLOT).hold.clone().expect("a hold");
        assert_eq!(hold.code, HoldCode::Refused);
        assert!(!hold.text.as_str().is_empty());
    }
}

/// P6, D8: a cleanup that its provider refuses for good holds its slot, names what it said, and is tried again only
/// after a release; when nothing is left the hold goes with it.
#[test]
fn a_cleanup_that_is_refused_for_good_holds_its_slot() {
    let shape = shape(&[("web", 1)]);
    for (class, held) in [
        (FailureClass::Invalid, true),
        (FailureClass::Auth, true),
        (FailureClass::Unavailable, false),
    ] {
        let mut record = in_stage(&shape, "web-0", stage(StageName::EndpointKnown));
        record.deletion = Some(Deletion { reason: DeleteReason::Undesired, since: T0 });
        let mut state = state([record]);
        let _sent = dispatch(&mut state, "web-0", CommandKind::DestroyLease, 1, at(0));
        let _told = reported(&mut state, "web-0", 1, Err(definite(class)), at(0));
        let record = of(&state, "web-0");
        let code = record.hold.as_ref().map(|hold| hold.code);
        assert_eq!(code, held.then_some(HoldCode::CleanupRefused), "{class:?}");
        assert_eq!(record.retry.is_some(), !held, "{class:?}");
        let plan = reconcile(&state, &shape.emptied(), at(100_000));
        assert_eq!(plan.per_node.is_empty(), held, "a held cleanup is not tried again");
        assert!(record.stage.lease().is_some(), "nothing is forgotten (C5)");
        if !held {
            continue;
        }
        let _released = state.fold(Fact::ReleasedSlot(slot("web-0")), at(1));
        let again = reconcile(&state, &shape.emptied(), at(1));
        assert_eq!(crate::fleet::command(&again), Some(CommandKind::DestroyLease));
        let _sent = dispatch(&mut state, "web-0", CommandKind::DestroyLease, 2, at(1));
        let _told = reported(&mut state, "web-0", 2, Err(definite(class)), at(1));
        let _gone = looked(&mut state, "web-0", Look::Absent, at(2));
        let transition = Transition::MarkDestroyed;
        let _over = state.fold(Fact::Decided { slot: slot("web-0"), transition }, at(2));
        assert_eq!(of(&state, "web-0").hold, None, "nothing is left to be refused");
    }
}

/// D5: the hold of a refused cleanup does not forgive a crash loop that it stood in the place of.
#[test]
fn a_refused_cleanup_forgives_no_crash_loop() {
    let shape = shape(&[("web", 1)]);
    let mut record = in_stage(&shape, "web-0", stage(StageName::New));
    record.deletion = Some(Deletion { reason: DeleteReason::Failed, since: T0 });
    record.backoff.failures = record.policy.restart.attempts;
    let text = Redacted::new("refused");
    record.hold = Some(Hold { code: HoldCode::CleanupRefused, text, since: T0 });
    let mut state = state([record]);
    let transition = Transition::MarkDestroyed;
    let _over = state.fold(Fact::Decided { slot: slot("web-0"), transition }, at(2));
    let code = of(&state, "web-0").hold.as_ref().map(|hold| hold.code);
    assert_eq!(code, Some(HoldCode::CrashLoop));
}

/// R122: a step that failed says what its failure was, in the words of the journal; one that was done says nothing.
#[test]
fn a_failed_step_says_what_its_failure_was() {
    let limited = FailureClass::RateLimited { retry_after: Millis::from_secs(1) };
    for (result, want) in [
        (Err(definite(FailureClass::Quota)), Some("quota/definite")),
        (Err(definite(limited)), Some("rate-limited/definite")),
        (Err(ambiguous(FailureClass::Unavailable)), Some("unavailable/ambiguous")),
        (Ok(EffectOutcome::Leased { lease: lease("l-1"), endpoint: None }), None),
    ] {
        let mut state = at_stage(&policy(0), StageName::New);
        let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, at(0));
        let _told = reported(&mut state, SLOT, 1, result, at(1));
        let told = state.take_settled().remove(0).failure.map(|kind| kind.to_string());
        assert_eq!(told.as_deref(), want);
    }
}

/// C4, C5: a lease that its provider does not know any more is not waited for: its attempt failed, and has nothing left.
#[test]
fn a_lookup_of_a_lease_that_is_gone_fails_the_attempt() {
    for (class, gone) in [(FailureClass::NotFound, true), (FailureClass::Unavailable, false)] {
        let mut state = at_stage(&policy(0), StageName::LeaseCreated);
        let _sent = dispatch(&mut state, SLOT, CommandKind::LookupEndpoint, 1, at(0));
        let _told = reported(&mut state, SLOT, 1, Err(definite(class)), at(1));
        let record = of(&state, SLOT);
        assert_eq!(record.stage.lease().is_none(), gone, "{class:?}");
        assert_eq!(record.stage.name() == StageName::Failed, gone, "{class:?}");
    }
}
