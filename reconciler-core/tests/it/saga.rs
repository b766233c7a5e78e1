//! The saga: its table, the priority within a wave, what is taken back, and when an update turns back (R102 to R105).

use reconciler_core::{
    desired::{ClusterShape, OnFailure, Policy, ProbeKind, RunNodeGroupSpec},
    effect::{ActionKind, CommandKind, ExitStatus, FailureClass},
    fold::{Fact, Verdict},
    hold::HoldCode,
    id::{AttemptOrdinal, Generation, LogicalNodeId, StepId},
    observed::{ClusterState, Failing, Handle, Prior, ProbeAnswer, Rollout, Side, StageName},
    reconcile::{RolloutChange, reconcile, standing},
    redact::Redacted,
    saga::{
        Answer, Compensation, Decision, HoldMark, Sight, WrittenStep, audit, decide, is_retry_safe,
        of_wave,
    },
    time::Millis,
};

use crate::fleet::{self, RUN, T0, group, in_stage, node_spec, of, slot, stage};
use crate::probes::{answer, probed};
use crate::rollout::{policy, web, with};
use crate::rollout_ends::{refuse, run};
use crate::world::{Fate, Flight, World};

/// R102, R103: every pair of an answer and a sight, for every try.
#[test]
fn the_table_holds_row_by_row() {
    for nth in 1..=4 {
        for answer in Answer::ALL {
            for sight in Sight::ALL {
                let wanted = match (answer, sight) {
                    (_, Sight::Satisfied) => Decision::Verified,
                    (_, Sight::Unmet) => Decision::CompensateThis,
                    (_, Sight::Ambiguous) => Decision::Hold(HoldMark::AmbiguousEffect),
                    (Answer::Accepted, Sight::NoEffect) => {
                        Decision::Hold(HoldMark::AcceptedWithoutEffect)
                    }
                    (Answer::Cancelled, Sight::NoEffect) => Decision::Interrupt,
                    (Answer::Failed { retry_safe: true }, Sight::NoEffect) if nth < 3 => {
                        Decision::Retry
                    }
                    (Answer::Failed { .. }, Sight::NoEffect) => Decision::CompensateEarlier,
                };
                assert_eq!(decide(answer, sight, nth), wanted, "{answer:?} {sight:?} {nth}");
            }
        }
    }
}

/// Where the steps of a wave differ: doubt, effect that is there, definite failure, cancelled, retry.
#[test]
fn a_wave_comes_to_what_weighs_most() {
    let order = [
        Decision::Hold(HoldMark::AmbiguousEffect),
        Decision::Hold(HoldMark::AcceptedWithoutEffect),
        Decision::CompensateThis,
        Decision::CompensateEarlier,
        Decision::Interrupt,
        Decision::Retry,
        Decision::Verified,
    ];
    for n in 0..order.len() {
        let mut rest = order[n..].to_vec();
        assert_eq!(of_wave(rest.clone()), Some(order[n]));
        rest.reverse();
        assert_eq!(of_wave(rest), Some(order[n]));
    }
    assert_eq!(of_wave([]), None);
}

/// R103: what a repeat cannot mend is not repeated.
#[test]
fn only_what_may_be_gone_is_tried_again() {
    for class in [FailureClass::Auth, FailureClass::Invalid, FailureClass::Fenced] {
        assert!(!is_retry_safe(class), "{class:?}");
    }
    for class in [FailureClass::Capacity, FailureClass::Unavailable, FailureClass::Workload] {
        assert!(is_retry_safe(class), "{class:?}");
    }
    assert_eq!(Answer::failed(FailureClass::Withdrawn), Answer::Cancelled);
}

fn updating(policy: &Policy) -> World {
    let mut world = World::new(web(1, 3, "v1", policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.log.clear();
    world.reshape(web(2, 3, "v2", policy));
    world
}

/// How many starts of the new revision were sent for `text`.
fn starts(world: &World, text: &str) -> usize {
    let of = |(at, ordinal, kind): &&(LogicalNodeId, AttemptOrdinal, ActionKind)| {
        at.to_string() == text && ordinal.get() > 1 && *kind == CommandKind::StartBootstrap
    };
    world.log.iter().filter(of).count()
}

fn failing(world: &World) -> Option<String> {
    let failing = world.state.rollout(&group("web"))?.failing.as_ref()?;
    Some(format!("{}: {}", failing.slot, failing.why))
}

/// Every start of the new revision ends as `class` says, without effect.
fn refused(world: &mut World, class: FailureClass) {
    for _ in 0..200 {
        run(world, 1, |ordinal, kind| {
            let new = ordinal > 1 && kind == CommandKind::StartBootstrap;
            if new { Fate::Refuse(class) } else { Fate::Succeed }
        });
        if world.reverts > 0 {
            return;
        }
    }
}

/// R103, R105: three tries where a try may help, one where none does; then the update turns back, and no other node
/// of it was begun.
#[test]
fn a_failure_turns_the_update_back_after_as_many_tries_as_make_sense() {
    for (class, tries) in [(FailureClass::Workload, 3), (FailureClass::Invalid, 1)] {
        let mut world = updating(&policy(1, 0));
        refused(&mut world, class);
        assert_eq!((world.reverts, starts(&world, "web-0")), (1, tries), "{class:?}");
        assert_eq!(starts(&world, "web-1") + starts(&world, "web-2"), 0, "a further wave began");
        run(&mut world, 60, |_, _| Fate::Succeed);
        assert!(standing(&world.state, &world.shape).converged);
    }
}

/// The table's row of an effect that is there and does not do: a workload that started and ended is not tried again.
#[test]
fn a_workload_that_ends_before_it_is_ready_turns_the_update_back_at_once() {
    let mut world = updating(&policy(1, 0));
    let running = |world: &World| {
        let second = world.state.record(&slot("web-0"))?.side(Side::Second)?;
        Some((second.attempt, second.stage.workload()?.clone()))
    };
    for _ in 0..20 {
        if running(&world).is_none() {
            run(&mut world, 1, |_, _| Fate::Succeed);
        }
    }
    let (attempt, workload) = running(&world).expect("a candidate runs");
    let (status, tail) = (ExitStatus::Code(1), Redacted::new("no such option"));
    let fact = Fact::Exited { slot: slot("web-0"), attempt, workload, status, tail };
    let _verdict = world.state.fold(fact, world.now);
    let why = failing(&world).expect("the update is failing");
    assert!(why.contains("web-0: the workload exited with status 1"), "{why}");
    run(&mut world, 60, |_, _| Fate::Succeed);
    assert_eq!((world.reverts, starts(&world, "web-0")), (1, 1));
    assert!(standing(&world.state, &world.shape).converged);
}

/// R129: while nobody can say what became of another node of the new revision, nothing is taken back; a look settles
/// that, and the way back begins. Time that runs out does not wait for it.
#[test]
fn a_doubt_in_the_wave_is_looked_into_before_anything_is_taken_back() {
    let mut world = updating(&policy(2, 0));
    for _ in 0..20 {
        let _plan = world.pass();
        let starts = |flight: &Flight| {
            flight.attempt.ordinal.get() > 1 && flight.action.kind() == CommandKind::StartBootstrap
        };
        while let Some(at) = world.flights.iter().position(|flight| !starts(flight)) {
            world.deliver(at, Fate::Succeed);
        }
        world.advance(Millis::from_secs(1));
    }
    assert_eq!(world.flights.len(), 2, "the starts of both candidates are on their way");
    let _doubted = world.state.fold(Fact::Resumed, world.now);
    let rollout = world.state.rollout(&group("web")).expect("an update").clone();
    let why = Failing { slot: slot("web-0"), why: Redacted::new("gone") };
    let failing = (group("web"), Rollout { failing: Some(why), ..rollout });
    let state = world.state.clone().with_rollouts([failing], world.now);
    let reverts = |state: &ClusterState, now| {
        let plan = reconcile(state, &world.shape, now);
        let is = |(_, change): &(_, RolloutChange)| matches!(change, RolloutChange::Revert { .. });
        plan.rollouts.iter().any(is)
    };
    assert!(!reverts(&state, world.now));
    assert!(reverts(&state, world.now.after(Millis::from_secs(7_200))), "time ran out");
    let mut seen = state;
    for index in 0..2 {
        let at = slot(&format!("web-{index}"));
        let attempt = of(&seen, &at.to_string()).side(Side::Second).expect("a candidate").attempt;
        let look = world.sight(attempt.uuid);
        let fact = Fact::Looked { slot: at, attempt, look, visibility: Millis::ZERO };
        let _verdict = seen.fold(fact, world.now);
    }
    assert!(reverts(&seen, world.now), "the doubt is gone");
}

/// D4: the policy `hold` is not the saga's; an update after which nothing served has no way back to turn to.
#[test]
fn nothing_is_noted_where_nothing_is_taken_back() {
    let mut world = updating(&with(|update| update.on_failure = OnFailure::Hold));
    run(&mut world, 10, |n, kind| refuse(n > 1 && kind == CommandKind::StartBootstrap));
    assert_eq!(failing(&world), None);
    let mut world = World::new(web(1, 2, "v1", &policy(0, 1)), T0);
    run(&mut world, 3, |_, kind| refuse(kind == CommandKind::StartBootstrap));
    world.reshape(web(2, 2, "v2", &policy(0, 1)));
    run(&mut world, 30, |_, kind| refuse(kind == CommandKind::StartBootstrap));
    assert_eq!((failing(&world), world.reverts), (None, 0));
}

/// C10: what does not serve again after the way back is held under a code of its own, and nothing is made anew of
/// the revision that failed (R134).
#[test]
fn a_way_back_that_fails_is_held_as_such() {
    let mut world = updating(&policy(0, 1));
    run(&mut world, 300, |n, kind| refuse(n > 1 && kind == CommandKind::StartBootstrap));
    let hold = world.state.group(&group("web")).and_then(|g| g.hold().cloned()).expect("a hold");
    assert_eq!((hold.code, world.reverts), (HoldCode::RestoredHealthFailed, 1));
}

fn shape(generation: u64, groups: &[(&str, u32, &str)]) -> ClusterShape {
    let groups = groups.iter().map(|(name, count, image)| {
        RunNodeGroupSpec::new(group(name), *count, node_spec(image), Policy::default())
    });
    let name = "demo".parse().expect("a run name");
    ClusterShape::new(name, RUN, Generation::new(generation), groups).expect("a shape")
}

/// R93, R130: what is written when an operation is opened is all that going back takes.
#[test]
fn a_group_is_taken_back_to_what_it_was() {
    let before = shape(1, &[("db", 1, "v1"), ("web", 2, "v1")]);
    let after = shape(2, &[("api", 1, "v1"), ("web", 5, "v2")]);
    let state = World::new(before.clone(), T0).state;
    for name in ["api", "db", "web"] {
        let name = group(name);
        let kept = Compensation::of(&name, &before, &state);
        let text = serde_json::to_string(&kept).expect("JSON");
        let read: Compensation = serde_json::from_str(&text).expect("what was written");
        let back = read.restored(&name, &after).expect("a shape");
        assert_eq!(back.generation, Generation::new(3));
        let (back, before) = (back.group(&name), before.group(&name));
        assert_eq!(back.map(AsRef::as_ref), before.map(AsRef::as_ref), "{name}");
    }
}

/// What a second change finds half done never served: the way back leads past it.
#[test]
fn the_way_back_leads_to_what_served() {
    let mut world = updating(&policy(0, 1));
    run(&mut world, 4, |_, _| Fate::Succeed);
    let kept = Compensation::of(&group("web"), &world.shape, &world.state);
    let first = web(1, 3, "v1", &policy(0, 1));
    let first = first.group(&group("web")).expect("a group").revision;
    assert_eq!(kept.before.map(|before| before.revision), Some(first));
}

/// R130: a step whose inverse is not the one that undoes it is found, whichever way it differs.
#[test]
fn an_inverse_that_was_not_written_here_is_found() {
    let action = ActionKind::from(CommandKind::CreateLease);
    let written = |inverse| [WrittenStep { step: StepId::new(7), action, inverse }];
    assert_eq!(audit(written(Some(CommandKind::DestroyLease))), Ok(()));
    for wrong in [None, Some(CommandKind::CreateLease)] {
        let found = audit(written(wrong)).expect_err("another inverse");
        let was = wrong.map_or("none", CommandKind::as_str);
        let said = format!("the inverse of step 7 is written as {was}, and it is DestroyLease");
        assert_eq!(found.to_string(), said);
    }
}

/// R103: of the new revision who never served turns the update back with its failure, the first one by its name; who had
/// served was verified, and who is of another revision is not asked.
#[test]
fn only_who_never_served_turns_an_update_back() {
    let policy = Policy { update: policy(0, 1).update, ..probed(&[ProbeKind::Readiness]) };
    let (old, new) = (web(1, 2, "v1", &policy), web(2, 2, "v2", &policy));
    let third = web(3, 2, "v3", &policy);
    let revision = |shape: &ClusterShape| shape.group(&group("web")).expect("a group").revision;
    let joined =
        |shape: &ClusterShape, text: &str| in_stage(shape, text, stage(StageName::HandedOff));
    let exits = |state: &mut ClusterState, text: &str| {
        let (attempt, workload) = (of(state, text).attempt, Handle::default());
        let (status, tail) = (ExitStatus::Code(1), Redacted::default());
        let fact = Fact::Exited { slot: slot(text), attempt, workload, status, tail };
        assert_eq!(state.fold(fact, T0), Verdict::Applied);
    };
    for (shape, serves, turns) in [(&new, false, true), (&new, true, false), (&third, false, false)]
    {
        let prior = Prior { revision: revision(&old), spec: node_spec("v1").into() };
        let (target, patience) = (revision(&new), Millis::from_secs(60));
        let change =
            RolloutChange::Begin { target, prior: Some(Box::new(prior)), reverts: false, patience };
        let mut state = fleet::state(["web-0", "web-1"].map(|text| joined(shape, text)));
        let _begun = state.fold(Fact::Rollout { group: group("web"), change }, T0);
        for _ in 0..if serves { 2 } else { 0 } {
            let passed = ProbeAnswer::Passed;
            let _counted = answer(&mut state, "web-0", ProbeKind::Readiness, passed, T0);
        }
        exits(&mut state, "web-0");
        let failing = |state: &ClusterState| {
            let rollout = state.rollout(&group("web")).expect("an update");
            rollout.failing.as_ref().map(|failing| failing.slot.clone())
        };
        assert_eq!(failing(&state), turns.then(|| slot("web-0")), "serves: {serves}");
        exits(&mut state, "web-1");
        let first = if turns { Some("web-0") } else { (shape == &new).then_some("web-1") };
        assert_eq!(failing(&state), first.map(slot), "serves: {serves}");
    }
}
