//! Updates that move nothing, because they are paused or because they stalled: what is asked of the nodes goes on, at
//! the revision that each has (R175, D4, P6, P7).

use proptest::prelude::*;
use proptest::test_runner::Config;
use reconciler_core::{
    desired::{OnFailure, Policy, UpdateMode},
    effect::{ActionKind, CommandKind, ExitStatus},
    fold::{Fact, Transition, Verdict},
    hold::HoldCode,
    id::RevisionDigest,
    observed::{Freeze, NodeStage},
    plan::{Change, ChangeKind, Scope},
    reconcile::{Rung, reconcile, standing},
    redact::Redacted,
    time::Millis,
};

use crate::fleet::{T0, group, of, powered, slot};
use crate::plan_steps::plan_of;
use crate::rollout::{policy, rung, web, with};
use crate::rollout_ends::{refuse, run};
use crate::world::{Fate, World};

/// Three nodes in an update that an operator paused: one at a time, the first is of the new revision; where all go
/// first, all were on their way out.
fn paused(policy: &Policy) -> World {
    let mut world = World::new(web(1, 3, "v1", policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 3, "v2", policy));
    let begun = if policy.update.mode == UpdateMode::Recreate { 2 } else { 12 };
    run(&mut world, begun, |_, _| Fate::Succeed);
    pause(&mut world, true);
    run(&mut world, 40, |_, _| Fate::Succeed);
    assert_eq!(world.state.freeze(&group("web"), wanted(&world)), Some(Freeze::Paused));
    world
}

/// Three nodes, the first of which cannot become one of the new revision, in an update that is held for it.
fn stalled() -> World {
    let policy = with(|update| update.on_failure = OnFailure::Hold);
    let mut world = World::new(web(1, 3, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 3, "v2", &policy));
    run(&mut world, 100, |n, kind| refuse(n > 1 && kind == CommandKind::StartBootstrap));
    let hold = world.state.group(&group("web")).and_then(|g| g.hold().cloned()).expect("a hold");
    assert_eq!(hold.code, HoldCode::UpdateStalled);
    world
}

fn pause(world: &mut World, paused: bool) {
    let fact = Fact::Paused(group("web"), paused);
    assert_eq!(world.state.fold(fact, world.now), Verdict::Applied);
}

fn wanted(world: &World) -> RevisionDigest {
    world.shape.group(&group("web")).expect("a group").revision
}

fn revision(world: &World, text: &str) -> RevisionDigest {
    of(&world.state, text).revision
}

fn ready(world: &World) -> u32 {
    world.state.group(&group("web")).map_or(0, |group| group.ready())
}

/// The workload of a slot ends before its time.
fn lose(world: &mut World, text: &str) {
    let record = of(&world.state, text);
    let Some(workload) = record.stage.workload().cloned() else { return };
    let (slot, attempt) = (record.slot.clone(), record.attempt);
    let (status, tail) = (ExitStatus::Code(1), Redacted::default());
    let fact = Fact::Exited { slot, attempt, workload, status, tail };
    let _verdict = world.state.fold(fact, world.now);
}

fn only(changes: &[Change], text: &str) -> Option<(ChangeKind, &'static str)> {
    changes.iter().find(|change| change.slot == slot(text)).map(|change| (change.kind, change.why))
}

/// R175: what is restarted while its update is paused keeps its lease and its revision, and the plan says so.
#[test]
fn a_restart_in_a_pause_moves_nothing() {
    let mut world = paused(&policy(0, 1));
    let (first, before) = (revision(&world, "web-2"), of(&world.state, "web-2").attempt);
    assert_ne!(first, wanted(&world));
    let shape = powered(&world.shape, "web", |power| power.anew_slot(2));
    let plan = plan_of(&world.state, &shape, Scope::All, world.now);
    let (kind, why) = only(&plan.changes, "web-2").expect("a change");
    assert_eq!(kind, ChangeKind::Restart);
    assert!(why.contains("as it was"), "{why}");
    let blocked: Vec<_> = plan.blocked.iter().map(|(at, _)| at.to_string()).collect();
    assert_eq!(blocked, ["web-1"], "who begins anew is not held");
    assert!(plan.steps.iter().all(|step| step.attempt == before && step.revision == first));
    world.reshape(shape);
    run(&mut world, 20, |_, _| Fate::Succeed);
    let after = of(&world.state, "web-2");
    assert_eq!((after.attempt, after.revision, after.is_ready()), (before, first, true));
    assert_eq!(after.round, 1, "it did begin anew");
    pause(&mut world, false);
    run(&mut world, 60, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
}

/// R175: what is lost while its update is paused comes back as it was, whatever the mode.
#[test]
fn what_is_lost_in_a_pause_comes_back_as_it_was() {
    for mode in [UpdateMode::Rolling, UpdateMode::Recreate] {
        let mut world = paused(&with(|update| update.mode = mode));
        let before: Vec<_> =
            ["web-0", "web-1", "web-2"].map(|slot| revision(&world, slot)).to_vec();
        assert!(before.iter().any(|one| *one != wanted(&world)), "{mode:?}");
        for slot in ["web-0", "web-1", "web-2"] {
            lose(&mut world, slot);
        }
        let plan = plan_of(&world.state, &world.shape, Scope::All, world.now);
        assert!(plan.changes.iter().all(|c| c.kind == ChangeKind::Repair), "{:?}", plan.changes);
        assert!(plan.impacts.is_empty(), "{:?}", plan.impacts);
        run(&mut world, 60, |_, _| Fate::Succeed);
        let after = ["web-0", "web-1", "web-2"].map(|slot| revision(&world, slot)).to_vec();
        assert_eq!((before, ready(&world)), (after, 3), "{mode:?}");
    }
}

/// A node that is stopped in a pause rests on its lease; it is replaced when the update goes on.
#[test]
fn what_is_stopped_in_a_pause_rests() {
    let mut world = paused(&policy(0, 1));
    let before = of(&world.state, "web-2").attempt;
    world.reshape(powered(&world.shape, "web", |power| power.switched_slot(2, true, 3)));
    run(&mut world, 20, |_, _| Fate::Succeed);
    let record = of(&world.state, "web-2");
    assert_eq!(record.attempt, before);
    assert!(matches!(record.stage, NodeStage::EndpointKnown { .. }), "{:?}", record.stage);
    let plan = reconcile(&world.state, &world.shape, world.now);
    assert_eq!(rung(&plan, "web-2"), Rung::Off);
}

/// A candidate that fails in a pause does not begin again before the update goes on.
#[test]
fn no_candidate_begins_in_a_pause() {
    let policy = policy(1, 0);
    let mut world = World::new(web(1, 2, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 2, "v2", &policy));
    run(&mut world, 3, |n, kind| refuse(n > 1 && kind == CommandKind::StartBootstrap));
    assert!(of(&world.state, "web-0").second.is_some());
    pause(&mut world, true);
    let sent = world.log.len();
    run(&mut world, 60, |n, kind| refuse(n > 1 && kind == CommandKind::StartBootstrap));
    let creates = |(_, _, kind): &&(_, _, ActionKind)| *kind == CommandKind::CreateLease;
    assert_eq!(world.log.iter().skip(sent).filter(creates).count(), 0, "{:?}", world.log);
    assert_eq!(ready(&world), 2);
    pause(&mut world, false);
    run(&mut world, 90, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
}

/// A plan over an update that moves nothing replaces nothing, and says who is held for it.
#[test]
fn a_plan_over_a_frozen_update_replaces_nothing() {
    for world in [paused(&policy(0, 1)), stalled()] {
        let plan = plan_of(&world.state, &world.shape, Scope::All, world.now);
        assert!(plan.impacts.is_empty(), "{:?}", plan.impacts);
        assert!(plan.steps.is_empty(), "{:?}", plan.steps);
        let replaced = plan.changes.iter().filter(|change| change.kind == ChangeKind::Replace);
        assert_eq!(replaced.count(), 0, "{:?}", plan.changes);
        assert!(plan.blocked.iter().any(|(at, _)| *at == slot("web-2")), "{:?}", plan.blocked);
    }
}

/// D3: what takes nodes away of a group whose update stalled goes on, and so does what is asked of its workloads.
#[test]
fn a_stalled_update_bars_only_its_own_revision() {
    let mut world = stalled();
    let first = revision(&world, "web-1");
    let begun = of(&world.state, "web-0").attempt.ordinal;
    world.reshape(powered(&world.shape, "web", |power| power.anew_slot(1)));
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!((of(&world.state, "web-1").round, ready(&world)), (1, 2), "it began anew");
    world.reshape(powered(&world.shape, "web", |power| power.switched_slot(1, true, 3)));
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert!(matches!(of(&world.state, "web-1").stage, NodeStage::EndpointKnown { .. }));
    lose(&mut world, "web-2");
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!((ready(&world), revision(&world, "web-2")), (1, first), "it came back as it was");
    assert_eq!(of(&world.state, "web-0").attempt.ordinal, begun, "nothing of it begins");

    let fewer = world.shape.with_counts(&[(group("web"), 2)].into()).expect("fewer nodes");
    world.reshape(fewer);
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!(world.state.group(&group("web")).map(|group| group.len()), Some(2));
}

/// More nodes would be of the revision that stalled: they wait for the hold, and a release lets them come.
#[test]
fn nothing_new_is_made_of_what_stalled() {
    let mut world = stalled();
    let sent = world.log.len();
    let more = world.shape.with_counts(&[(group("web"), 4)].into()).expect("more nodes");
    world.reshape(more);
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!(world.log.len(), sent, "{:?}", world.log.get(sent..));
    let plan = reconcile(&world.state, &world.shape, world.now);
    assert_eq!(rung(&plan, "web-3"), Rung::GroupHeld(HoldCode::UpdateStalled));
    let release = [Fact::ReleasedGroup(group("web")), Fact::ReleasedSlot(slot("web-0"))];
    for fact in release {
        assert_eq!(world.state.fold(fact, world.now), Verdict::Applied);
    }
    run(&mut world, 120, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
}

/// A candidate that comes up only after its update stalled does not take over before the hold is released.
#[test]
fn no_candidate_takes_over_in_a_stalled_update() {
    let policy = with(|update| {
        update.max_surge = reconciler_core::desired::Amount::Nodes(1);
        update.max_unavailable = reconciler_core::desired::Amount::Nodes(0);
        update.on_failure = OnFailure::Hold;
        update.observation = Millis::from_secs(90);
        update.progress_deadline = Millis::from_secs(60);
    });
    let mut world = World::new(web(1, 1, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 1, "v2", &policy));
    run(&mut world, 200, |_, _| Fate::Succeed);
    assert_eq!(of(&world.state, "web-0").attempt.ordinal.get(), 1);
    assert_eq!(world.state.fold(Fact::ReleasedGroup(group("web")), world.now), Verdict::Applied);
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!(of(&world.state, "web-0").attempt.ordinal.get(), 2);
}

proptest! {
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]

    /// R175: whatever is lost, restarted, stopped or started in a pause, no slot changes its revision.
    #[test]
    fn a_pause_moves_no_slot(
        recreate in any::<bool>(),
        events in prop::collection::vec((0_u32..3, 0_u8..4, 1_usize..6), 1..12),
    ) {
        let mode = if recreate { UpdateMode::Recreate } else { UpdateMode::Rolling };
        let mut world = paused(&with(|update| update.mode = mode));
        let names = ["web-0", "web-1", "web-2"];
        let before = names.map(|name| revision(&world, name));
        for (index, what, rounds) in events {
            let next = |off| powered(&world.shape, "web", |power| power.switched_slot(index, off, 3));
            match what {
                0 => lose(&mut world, names[index as usize]),
                1 => world.reshape(powered(&world.shape, "web", |power| power.anew_slot(index))),
                2 => world.reshape(next(true)),
                _ => world.reshape(next(false)),
            }
            for _ in 0..rounds {
                let plan = reconcile(&world.state, &world.shape, world.now);
                let target = wanted(&world);
                let begins = plan.transitions.iter().filter_map(|(slot, transition)| {
                    if let Transition::Restart(spec) = transition {
                        return Some((slot.index, spec.revision));
                    }
                    matches!(transition, Transition::Candidate(_)).then_some((slot.index, target))
                });
                for (at, revision) in begins {
                    prop_assert_eq!(revision, before[at as usize]);
                }
                run(&mut world, 1, |_, _| Fate::Succeed);
            }
        }
        prop_assert_eq!(names.map(|name| revision(&world, name)), before);
    }
}
