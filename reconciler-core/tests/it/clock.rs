//! Time: it is an argument, it saturates, it may go back, and it may leap (R4, R71, D12, C8).

use reconciler_core::{
    desired::{ClusterShape, Policy, RestartPolicy},
    effect::{CommandKind, EffectOutcome, FailureClass},
    fold::{Fact, Transition, Verdict},
    observed::{Backoff, ClusterState, StageName},
    reconcile::{RolloutChange, Rung, reconcile},
    time::{Millis, Timestamp},
};

use crate::fleet::{
    at, command, definite, dispatch, group, in_stage, of, pending, reported, shape, shape_with,
    slot, stage, state,
};

const SLOT: &str = "web-0";

fn one() -> ClusterShape {
    shape(&[("web", 1)])
}

/// A slot that waits an hour ahead of `T0` for its next attempt.
fn waiting() -> ClusterState {
    let mut record = in_stage(&one(), SLOT, stage(StageName::Destroyed));
    record.since = at(3_600_000);
    record.backoff = Backoff { failures: 3, delays: 3, not_before: Some(at(3_610_000)) };
    let mut state = ClusterState::restore([record], [], at(3_600_000));
    state.mark_due(at(3_600_000));
    drop(state.take_dirty());
    state
}

/// R71: arithmetic at both ends saturates.
#[test]
fn arithmetic_saturates() {
    assert_eq!(Timestamp::MAX.after(Millis::new(1)), Timestamp::MAX);
    assert_eq!(Timestamp::ZERO.since(Timestamp::MAX), Millis::ZERO);
    assert_eq!(Millis::from_secs(u64::MAX), Millis::new(u64::MAX));
    assert_eq!(at(5).since(at(3)), Millis::new(2));
}

/// R71: near the end of time nothing panics and nothing spins.
#[test]
fn the_end_of_time_is_harmless() {
    let end = Timestamp::MAX;
    for name in StageName::ALL {
        let mut state = state([in_stage(&one(), SLOT, stage(name))]);
        state.mark_due(end);
        let plan = reconcile(&state, &one(), end);
        assert!(plan.requeue_at.is_none(), "{name:?}");
        let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, end);
        let failed = Err(definite(FailureClass::Capacity));
        let _failed = reported(&mut state, SLOT, 1, failed, end);
        state.mark_due(end);
    }
}

/// R71: settings without bound saturate as well.
#[test]
fn settings_without_bound_saturate() {
    let most = Millis::new(u64::MAX);
    let restart =
        RestartPolicy { attempts: u32::MAX, initial: most, cap: most, jitter_percent: u32::MAX };
    let policy = Policy { restart, settle: most, stable: most, ..Policy::default() };
    let shape = shape_with(1, &[("web", 1, "v1")], &policy);
    let mut state = state([in_stage(&shape, SLOT, stage(StageName::New))]);
    let _sent = dispatch(&mut state, SLOT, CommandKind::CreateLease, 1, at(0));
    let _failed = reported(&mut state, SLOT, 1, Err(definite(FailureClass::Capacity)), at(0));
    assert!(of(&state, SLOT).backoff.not_before > Some(at(0)));
}

/// C8: before its time a slot waits, however far back the clock went, and nothing panics.
#[test]
fn a_clock_that_went_back_waits() {
    let state = waiting();
    for now in [Timestamp::ZERO, at(0), at(3_609_999)] {
        let plan = reconcile(&state, &one(), now);
        assert!(plan.is_empty());
        assert_eq!(plan.reasons[0].1.rung, Rung::Backoff { failures: 3, attempts: 5 });
    }
}

/// D12, C8: when the clock goes back, no stored time delays for longer than its own longest length.
#[test]
fn a_clock_that_went_back_pulls_times_in() {
    let mut state = waiting();
    state.mark_due(at(0));
    let cap = Policy::default().restart.cap;
    assert_eq!(of(&state, SLOT).backoff.not_before, Some(at(0).after(cap)));
    assert_eq!(of(&state, SLOT).since, at(0));
    assert_eq!(state.next_due(), Some(at(0).after(cap)));
    assert!(state.take_dirty().contains(&slot(SLOT)), "the pulled time is journaled");
    let plan = reconcile(&state, &one(), at(0).after(cap));
    assert!(matches!(plan.transitions[0].1, Transition::Restart(_)), "{plan:?}");
}

/// D12: a clock that is behind after a restart pulls times in as well.
#[test]
fn a_restart_under_a_clock_that_is_behind_pulls_times_in() {
    let record = of(&waiting(), SLOT).as_ref().clone();
    let state = ClusterState::restore([record], [], at(0));
    let cap = Policy::default().restart.cap;
    assert_eq!(of(&state, SLOT).backoff.not_before, Some(at(0).after(cap)));
}

/// D12: every kind of due time is pulled in, each to its own length.
#[test]
fn every_kind_of_due_time_is_pulled_in() {
    let far = at(3_600_000);
    for name in [StageName::BootstrapRunning, StageName::HandedOff, StageName::LeaseRequested] {
        let mut record = in_stage(&one(), SLOT, stage(name));
        record.since = far;
        if name == StageName::LeaseRequested {
            record.pending = Some(pending(CommandKind::CreateLease, 1, far));
        }
        let state = ClusterState::restore([record], [], at(0));
        let longest = at(0).after(Policy::default().timeouts.bootstrap);
        assert!(state.next_due().is_some_and(|due| due <= longest), "{name:?}");
    }
}

/// C8: after a long sleep a node that waits for its endpoint is looked at once before it counts as failed.
#[test]
fn a_sleep_does_not_fail_what_was_not_looked_at() {
    let mut state = state([in_stage(&one(), SLOT, stage(StageName::LeaseCreated))]);
    let woken = at(8 * 3_600_000);
    assert_eq!(command(&reconcile(&state, &one(), woken)), Some(CommandKind::LookupEndpoint));
    let _sent = dispatch(&mut state, SLOT, CommandKind::LookupEndpoint, 1, woken);
    let _none = reported(&mut state, SLOT, 1, Ok(EffectOutcome::Endpoint(None)), woken);
    let plan = reconcile(&state, &one(), woken);
    assert_eq!(plan.transitions, [(slot(SLOT), Transition::TimeOut)]);
}

/// C17: an endpoint that never comes ends at its deadline, also if every lookup fails or hangs.
#[test]
fn an_endpoint_that_never_comes_times_out() {
    let mut state = state([in_stage(&one(), SLOT, stage(StageName::LeaseCreated))]);
    let mut now = at(0);
    for step in 1..1_000 {
        let plan = reconcile(&state, &one(), now);
        if plan.transitions == [(slot(SLOT), Transition::TimeOut)] {
            assert!(now.since(at(0)) >= Policy::default().timeouts.endpoint);
            return;
        }
        if command(&plan).is_some() {
            let _sent = dispatch(&mut state, SLOT, CommandKind::LookupEndpoint, step, now);
            let failed = Err(definite(FailureClass::Unavailable));
            let _failed = reported(&mut state, SLOT, step, failed, now);
        }
        now = now.after(Millis::from_secs(1));
    }
    panic!("it never ends");
}

/// D12, R175: an update fails no later than its whole patience after the clock went back, also after a restart.
#[test]
fn the_end_of_an_update_is_pulled_in() {
    let patience = Millis::from_secs(60);
    let target = one().groups().next().expect("a group").revision;
    let begin = RolloutChange::Begin { target, prior: None, reverts: false, patience };
    let mut state = state([in_stage(&one(), SLOT, stage(StageName::Dormant))]);
    let ahead = at(3_600_000);
    state.mark_due(ahead);
    let fact = Fact::Rollout { group: group("web"), change: begin };
    assert_eq!(state.fold(fact, ahead), Verdict::Applied);
    let kept: Vec<_> =
        state.rollouts().map(|(name, known)| (name.clone(), known.clone())).collect();
    let restarted = self::state([]).with_rollouts(kept, at(0));
    state.mark_due(at(0));
    for state in [state, restarted] {
        let rollout = state.rollout(&group("web")).expect("an update");
        assert_eq!((rollout.since, rollout.deadline), (at(0), Some(at(0).after(patience))));
    }
}
