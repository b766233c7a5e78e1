//! What a failing liveness probe may cost: the budget of a slot (R176, R177) and the brake of a group (C9).

use proptest::prelude::*;
use reconciler_core::{
    desired::{ClusterShape, Policy, ProbeKind},
    fold::{Fact, Transition, Verdict},
    hold::HoldCode,
    limits,
    observed::{ClusterState, NodeRecord, ProbeAnswer, StageName},
    reconcile::{Rung, outlook, reconcile, standing},
    time::{Millis, Timestamp},
};

use crate::{
    fleet::{T0, at, group, of, slot, state},
    laws_single::journaled,
    probes::{answer, decided, failed, probed, ready, step, unknown, web},
    rollout::rung,
    world::{Fate, World},
};

fn fails(state: &mut ClusterState, text: &str, now: Timestamp) {
    for _ in 0..3 {
        let _counted = answer(state, text, ProbeKind::Liveness, failed(), now);
    }
}

fn hold(state: &ClusterState) -> Option<HoldCode> {
    state.group(&group("web")).and_then(|seen| seen.hold()).map(|hold| hold.code)
}

/// Every wanted give-up of a pass is folded.
fn pass(state: &mut ClusterState, shape: &ClusterShape, now: Timestamp) {
    let mut plan = reconcile(state, shape, now);
    for (slot, transition) in plan.take_transitions() {
        let gives_up = matches!(transition, Transition::GiveUp(_));
        if gives_up {
            let verdict = state.fold(Fact::Decided { slot, transition }, now);
            assert_eq!(verdict, Verdict::Applied);
        }
    }
}

/// R176, R177: as often as the budget of the slot allows, then held; the others go on, and a restart ends nothing.
#[test]
fn a_node_is_replaced_as_often_as_its_budget_allows() {
    let mut policy = probed(&[ProbeKind::Liveness]);
    policy.restart.attempts = 1_000;
    policy.probes.budget.restarts = 2;
    // The world of these tests goes by hours.
    policy.probes.budget.window = Millis::from_secs(1_000_000_000);
    let mut world = World::new(web(3, &policy), T0);
    assert!(world.settle().is_some());
    for n in 0..3 {
        fails(&mut world.state, "web-0", world.now);
        let was = of(&world.state, "web-0").attempt.ordinal;
        if n < 2 {
            assert!(world.settle().is_some());
        } else {
            // To settle is to release what is held.
            let _plan = world.pass();
        }
        let record = of(&world.state, "web-0");
        let replaced = record.attempt.ordinal > was;
        assert_eq!(replaced, n < 2, "{record:?}");
    }
    let record = of(&world.state, "web-0");
    let hold = record.hold.as_ref().expect("a hold");
    assert_eq!(hold.code, HoldCode::CrashLoop);
    let text = "its liveness probe failed: connection refused; its slot was given 2 new nodes for that within";
    assert!(hold.text.as_str().starts_with(text), "{}", hold.text);
    assert_eq!(record.stage.name(), StageName::Dormant, "what is held is not ended");
    assert!(!world.is_settled(), "what waits for a person is not as it should be");
    assert_eq!(world.things.len(), 3, "the others are as they were");
    world.restart();
    let _nothing = world.pass();
    assert!(of(&world.state, "web-0").hold.is_some(), "it survives a restart");
    let released = world.state.fold(Fact::ReleasedSlot(slot("web-0")), world.now);
    assert_eq!(released, Verdict::Applied);
    assert!(world.settle().is_some());
    assert_eq!(of(&world.state, "web-0").attempt.ordinal.get(), 4, "a person said so");
}

/// R51, R176: a node that serves and is held is not as it should be, also where it is the only one; whoever releases it
/// gets one new node for it, also where the budget allows none by itself.
#[test]
fn a_person_who_releases_a_node_gets_a_new_one() {
    for restarts in [0, 1] {
        let mut policy = probed(&[ProbeKind::Liveness]);
        policy.probes.budget.restarts = restarts;
        let shape = web(1, &policy);
        let mut record = ready(&shape, "web-0");
        record.revived = (0..restarts).map(|_| T0).collect();
        let mut state = state([record]);
        assert!(standing(&state, &shape).converged);
        fails(&mut state, "web-0", T0);
        decided(&mut state, Transition::GiveUp(ProbeKind::Liveness), 0);
        assert_eq!(
            of(&state, "web-0").hold.as_ref().map(|hold| hold.code),
            Some(HoldCode::CrashLoop)
        );
        let held = standing(&state, &shape);
        assert_eq!((held.ready, held.held, held.converged), (1, 1, false));
        assert!(outlook(&state, &shape, &reconcile(&state, &shape, T0), T0).is_stuck());
        assert_eq!(state.fold(Fact::ReleasedSlot(slot("web-0")), at(1)), Verdict::Applied);
        pass(&mut state, &shape, at(1));
        let record = of(&state, "web-0");
        assert_eq!((&record.hold, record.stage.name()), (&None, StageName::Failed));
        assert_eq!(hold(&state), None, "one node is no mass");
    }
}

/// R176: what recovered before it was released is left alone.
#[test]
fn a_release_of_a_node_that_recovered_ends_nothing() {
    let mut policy = probed(&[ProbeKind::Liveness]);
    policy.probes.budget.restarts = 0;
    let shape = web(1, &policy);
    let mut state = state([ready(&shape, "web-0")]);
    fails(&mut state, "web-0", T0);
    decided(&mut state, Transition::GiveUp(ProbeKind::Liveness), 0);
    for _ in 0..2 {
        let _counted = answer(&mut state, "web-0", ProbeKind::Liveness, ProbeAnswer::Passed, at(1));
    }
    assert_eq!(state.fold(Fact::ReleasedSlot(slot("web-0")), at(1)), Verdict::Applied);
    assert_eq!(step(&state, &shape, 1), None);
    assert!(standing(&state, &shape).converged);
    fails(&mut state, "web-0", at(2));
    decided(&mut state, Transition::GiveUp(ProbeKind::Liveness), 2);
    assert!(
        of(&state, "web-0").hold.is_some(),
        "what a person said of one failure is not said of the next"
    );
}

/// R176: what was long ago costs nothing any more, and another revision begins anew.
#[test]
fn the_budget_is_one_of_a_window() {
    let policy = probed(&[ProbeKind::Liveness]);
    let shape = web(1, &policy);
    let with = |ago: &[u64]| {
        let mut record = ready(&shape, "web-0");
        let before = |ms: &u64| Timestamp::from_millis(T0.as_millis() - ms);
        record.revived = ago.iter().map(before).collect();
        let mut state = state([record]);
        fails(&mut state, "web-0", T0);
        decided(&mut state, Transition::GiveUp(ProbeKind::Liveness), 0);
        NodeRecord::clone(&of(&state, "web-0"))
    };
    assert!(with(&[299_999, 200_000, 100_000]).hold.is_some());
    let young = with(&[300_000, 200_000, 100_000]);
    assert_eq!((young.hold, young.stage.name()), (None, StageName::Failed));
    assert_eq!(young.revived.last(), Some(&T0));
    // What neither the budget nor the brake counts any more is forgotten.
    let longest = limits::MASS_WINDOW.get();
    let kept = with(&[longest, longest - 1]).revived;
    assert_eq!(kept, [Timestamp::from_millis(T0.as_millis() + 1 - longest), T0]);
}

/// A liveness probe that could not be asked ends nothing, and one that recovers in time neither.
#[test]
fn only_failures_in_a_row_end_a_node() {
    let shape = web(1, &probed(&[ProbeKind::Liveness]));
    let mut state = state([ready(&shape, "web-0")]);
    for n in 0..100 {
        let given = if n % 3 == 2 { ProbeAnswer::Passed } else { failed() };
        let _counted = answer(&mut state, "web-0", ProbeKind::Liveness, given, T0);
        let _nothing = answer(&mut state, "web-0", ProbeKind::Liveness, unknown(), T0);
        assert_eq!(step(&state, &shape, n), None);
    }
    fails(&mut state, "web-0", T0);
    assert_eq!(step(&state, &shape, 0), Some(Transition::GiveUp(ProbeKind::Liveness)));
}

/// C9: more failing at once than the share of a group are a sign that something else is wrong: the group is held and
/// nobody else is replaced; who recovers ends the hold.
#[test]
fn a_mass_of_failing_nodes_is_held_and_not_replaced() {
    let shape = web(5, &probed(&[ProbeKind::Liveness]));
    let mut state = state((0..5).map(|n| ready(&shape, &format!("web-{n}"))));
    for n in 0..4 {
        fails(&mut state, &format!("web-{n}"), T0);
    }
    pass(&mut state, &shape, T0);
    assert_eq!(hold(&state), Some(HoldCode::MassUnhealthy));
    let ended =
        |state: &ClusterState| state.group(&group("web")).map(|g| g.in_stage(StageName::Failed));
    assert_eq!(ended(&state), Some(2), "two of five are believed");
    let plan = reconcile(&state, &shape, T0);
    assert_eq!(rung(&plan, "web-3"), Rung::GroupHeld(HoldCode::MassUnhealthy));
    for _ in 0..2 {
        let _counted = answer(&mut state, "web-2", ProbeKind::Liveness, ProbeAnswer::Passed, at(1));
        assert_eq!(
            hold(&state),
            Some(HoldCode::MassUnhealthy),
            "one is still in doubt beyond the share"
        );
    }
    for _ in 0..2 {
        let _counted = answer(&mut state, "web-3", ProbeKind::Liveness, ProbeAnswer::Passed, at(1));
    }
    assert_eq!(hold(&state), None, "nobody is in doubt any more");
    assert_eq!(ended(&state), Some(2));
}

/// C9: a person who releases the group believes its probes, all of them; one that fails over and over is one sign.
#[test]
fn a_person_believes_the_probes() {
    let shape = web(5, &probed(&[ProbeKind::Liveness]));
    let mut state = state((0..5).map(|n| ready(&shape, &format!("web-{n}"))));
    for n in 0..5 {
        fails(&mut state, &format!("web-{n}"), T0);
    }
    pass(&mut state, &shape, T0);
    assert_eq!(hold(&state), Some(HoldCode::MassUnhealthy));
    assert_eq!(state.fold(Fact::ReleasedGroup(group("web")), at(1)), Verdict::Applied);
    pass(&mut state, &shape, at(1));
    assert_eq!(hold(&state), None);
    assert_eq!(state.group(&group("web")).map(|g| g.in_stage(StageName::Failed)), Some(5));
    let mut one = self::state([ready(&web(1, &probed(&[ProbeKind::Liveness])), "web-0")]);
    for n in 0..3 {
        fails(&mut one, "web-0", at(n));
        decided(&mut one, Transition::GiveUp(ProbeKind::Liveness), n);
        assert_eq!(hold(&one), None, "one node, however often, is no mass");
        let mut next = ready(&web(1, &probed(&[ProbeKind::Liveness])), "web-0");
        next.revived.clone_from(&of(&one, "web-0").revived);
        one = self::state([next]);
    }
}

/// One thing that a trace does.
#[derive(Clone, Debug)]
enum Input {
    Answer(u32, ProbeKind, u8),
    Pass,
    Deliver(usize),
    Tick(u64),
    Restart,
}

fn input() -> impl Strategy<Value = Input> {
    let kind = prop::sample::select(ProbeKind::ALL.to_vec());
    prop_oneof![
        6 => (0..3_u32, kind, 0..5_u8).prop_map(|(n, kind, what)| Input::Answer(n, kind, what)),
        4 => Just(Input::Pass),
        4 => (0..4_usize).prop_map(Input::Deliver),
        2 => (0..400_000_u64).prop_map(Input::Tick),
        1 => Just(Input::Restart),
    ]
}

/// Answers every probe that may be asked now.
fn ask(world: &mut World, n: u32, kind: ProbeKind, what: u8) {
    let text = format!("web-{n}");
    let Some(record) = world.state.record(&slot(&text)) else { return };
    let given = match what {
        0 => unknown(),
        1 | 2 => failed(),
        _ => ProbeAnswer::Passed,
    };
    if record.probes().any(|(asked, ..)| asked == kind) {
        let _counted = answer(&mut world.state, &text, kind, given, world.now);
    }
}

fn well(world: &mut World) {
    for n in 0..3 {
        for kind in ProbeKind::ALL.into_iter().flat_map(|kind| [kind, kind]) {
            ask(world, n, kind, 4);
        }
    }
}

fn policy() -> Policy {
    let mut policy = probed(&ProbeKind::ALL);
    policy.restart.attempts = 1_000;
    policy.stable = Millis::from_secs(1);
    policy
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the probes say and when: every pass keeps the laws of one decision, what the journal holds decides the
    /// same, and once all is well the run converges, or somebody is held and says why.
    #[test]
    fn whatever_probes_say_the_run_comes_to_rest(inputs in prop::collection::vec(input(), 1..80)) {
        let mut world = World::new(web(3, &policy()), T0);
        for input in inputs {
            match input {
                Input::Answer(n, kind, what) => ask(&mut world, n, kind, what),
                Input::Pass => drop(world.pass()),
                Input::Deliver(at) => world.deliver(at, Fate::Succeed),
                Input::Tick(length) => world.advance(Millis::new(length)),
                Input::Restart => world.restart(),
            }
        }
        let again = journaled(&world.state, world.seen);
        prop_assert_eq!(of_all(&again), of_all(&world.state));
        for _ in 0..40 {
            well(&mut world);
            let _plan = world.pass();
            while !world.flights.is_empty() {
                world.deliver(0, Fate::Succeed);
            }
            world.advance(Millis::from_secs(60));
        }
        let records = world.state.groups().flat_map(|(_, group)| group.records());
        let held = records.filter(|record| record.hold.is_some()).count();
        let seen = world.state.group(&group("web")).expect("the group");
        let ready = usize::try_from(seen.ready()).expect("few");
        prop_assert_eq!(ready + held, 3, "{:?}", seen);
        prop_assert!(seen.hold().is_none());
    }
}

fn of_all(state: &ClusterState) -> Vec<Option<Box<reconciler_core::observed::Health>>> {
    state.groups().flat_map(|(_, group)| group.records()).map(|r| r.health.clone()).collect()
}

/// C9: a slot that counted as a sign of a broken group is no further sign within the window of signs; later it is one.
#[test]
fn one_slot_is_one_sign_within_a_window() {
    let window = limits::MASS_WINDOW.get();
    for (ago, braked) in [(1, false), (window - 1, false), (window, true), (window + 1, true)] {
        let shape = web(2, &probed(&[ProbeKind::Liveness]));
        let mut record = ready(&shape, "web-0");
        record.revived = vec![Timestamp::from_millis(T0.as_millis() - ago)];
        let mut state = state([record, ready(&shape, "web-1")]);
        // One of two is believed.
        for text in ["web-1", "web-0"] {
            fails(&mut state, text, T0);
            pass(&mut state, &shape, T0);
        }
        assert_eq!(hold(&state).is_some(), braked, "{ago} ms ago");
        let ended = of(&state, "web-0").stage.name() == StageName::Failed;
        assert_eq!(ended, !braked, "{ago} ms ago");
    }
}
