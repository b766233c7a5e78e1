//! Whole updates on a world: how they come on, fail, are held, paused and taken back (R171, R174, R175, D4, C10).
//!
//! Who gives way within them stands in `rollout`.

use proptest::prelude::*;
use proptest::test_runner::Config;
use reconciler_core::{
    desired::{ClusterShape, GateCondition, OnFailure, Policy, Power, RunNodeGroupSpec},
    effect::{ActionKind, CommandKind, FailureClass},
    fold::{Fact, Verdict},
    hold::HoldCode,
    id::Generation,
    plan::{ChangeKind, Scope},
    reconcile::{RolloutChange, Rung, reconcile, standing},
    time::Millis,
};

use crate::fleet::{RUN, T0, group, node_spec, powered, slot};
use crate::plan_steps::plan_of;
use crate::rollout::{policy, rung, web, with};
use crate::trace::updates;
use crate::world::{Fate, World};

/// A failed candidate backs off and begins again beside; its ordinals rise, and no lease is left.
#[test]
fn a_failed_candidate_begins_again_beside() {
    let policy = policy(1, 0);
    let mut world = World::new(web(1, 1, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 1, "v2", &policy));
    run(&mut world, 12, |ordinal, kind| {
        refuse(ordinal == 2 && kind == CommandKind::StartBootstrap)
    });
    let record = world.state.record(&slot("web-0")).expect("a record").clone();
    assert!(record.is_ready() && record.attempt.ordinal.get() == 1, "{record:?}");
    run(&mut world, 30, |_, _| Fate::Succeed);
    let record = world.state.record(&slot("web-0")).expect("a record").clone();
    assert_eq!((record.attempt.ordinal.get(), record.second.is_none()), (3, true));
    assert_eq!(world.things.len(), 1);
}

/// What `fate` says of each effect, and a second for each round.
pub(crate) fn run(world: &mut World, rounds: usize, fate: impl Fn(u64, ActionKind) -> Fate) {
    for _ in 0..rounds {
        let _plan = world.pass();
        while let Some(flight) = world.flights.first() {
            let fate = fate(flight.attempt.ordinal.get(), flight.action.kind());
            world.deliver(0, fate);
        }
        world.advance(Millis::from_secs(1));
    }
}

pub(crate) fn refuse(refused: bool) -> Fate {
    if refused { Fate::Refuse(FailureClass::Workload) } else { Fate::Succeed }
}

fn begun(world: &World) -> Option<(bool, bool, u32)> {
    let rollout = world.state.rollout(&group("web"))?;
    Some((rollout.prior.is_some(), rollout.reverts, rollout.done))
}

/// R175: an update begins with what served, moves with each node that is ready, and is over at the end.
#[test]
fn an_update_is_kept_from_its_beginning_to_its_end() {
    let policy = policy(0, 1);
    let mut world = World::new(web(1, 2, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!(begun(&world), None, "the first nodes are no update");
    world.reshape(web(2, 2, "v2", &policy));
    run(&mut world, 1, |_, _| Fate::Succeed);
    assert_eq!(begun(&world), Some((true, false, 0)));
    run(&mut world, 12, |_, _| Fate::Succeed);
    assert_eq!(begun(&world), Some((true, false, 1)));
    run(&mut world, 30, |_, _| Fate::Succeed);
    assert_eq!(begun(&world), None);
    assert!(standing(&world.state, &world.shape).converged);
}

/// C10, D4: a new revision that never comes up is taken back; nothing that served was lost beyond the budget.
#[test]
fn an_update_that_fails_goes_back() {
    for (surge, unavailable) in [(0, 1), (1, 0)] {
        let policy = policy(surge, unavailable);
        let mut world = World::new(web(1, 3, "v1", &policy), T0);
        run(&mut world, 20, |_, _| Fate::Succeed);
        let first = world.shape.group(&group("web")).expect("a group").revision;
        world.reshape(web(2, 3, "v2", &policy));
        for _ in 0..400 {
            run(&mut world, 1, |n, kind| {
                refuse((2..8).contains(&n) && kind == CommandKind::StartBootstrap)
            });
            let ready = world.state.group(&group("web")).expect("a group").ready();
            assert!(ready + unavailable >= 3, "{ready} ready");
        }
        assert_eq!(world.reverts, 1);
        assert_eq!(world.shape.group(&group("web")).expect("a group").revision, first);
        assert!(
            standing(&world.state, &world.shape).converged,
            "{:?}",
            world.state.rollout(&group("web"))
        );
        assert_eq!(begun(&world), None);
    }
}

/// C10: the way back is not taken back itself; it holds the group and names the way out.
#[test]
fn never_a_revert_of_a_revert() {
    let policy = with(|update| update.progress_deadline = Millis::from_secs(60));
    let mut world = World::new(web(1, 2, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 2, "v2", &policy));
    // From now on nothing starts any more, whatever its revision.
    run(&mut world, 300, |n, kind| refuse(n > 1 && kind == CommandKind::StartBootstrap));
    assert_eq!(world.reverts, 1);
    let hold = world.state.group(&group("web")).and_then(|g| g.hold().cloned()).expect("a hold");
    assert_eq!(hold.code, HoldCode::RestoredHealthFailed);
    assert!(hold.text.to_string().contains("it was itself a way back"), "{}", hold.text);
    // Going down is planned to its end, though the group is held.
    let down = plan_of(&world.state, &world.shape.emptied(), Scope::All, world.now);
    assert!(down.changes.iter().all(|change| change.kind == ChangeKind::Destroy), "{down:?}");
    // A newer shape lifts it: what stalled is not wanted any more.
    world.reshape(web(9, 2, "v3", &policy));
    run(&mut world, 60, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
}

/// D4: by policy a failed update is held where it stands; a release gives it its time again.
#[test]
fn a_failed_update_may_be_held_instead() {
    let policy = with(|update| {
        update.on_failure = OnFailure::Hold;
        update.progress_deadline = Millis::from_secs(60);
    });
    let mut world = World::new(web(1, 2, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 2, "v2", &policy));
    run(&mut world, 100, |n, kind| refuse(n > 1 && kind == CommandKind::StartBootstrap));
    let held = |world: &World| {
        let hold = world.state.group(&group("web")).and_then(|g| g.hold().cloned());
        hold.map(|hold| hold.code)
    };
    assert_eq!((held(&world), world.reverts), (Some(HoldCode::UpdateStalled), 0));
    let sent = world.log.len();
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert_eq!(world.log.len(), sent, "a held update takes no step");
    assert_eq!(world.state.fold(Fact::ReleasedGroup(group("web")), world.now), Verdict::Applied);
    assert_eq!(world.state.fold(Fact::ReleasedSlot(slot("web-0")), world.now), Verdict::Applied);
    run(&mut world, 60, |_, _| Fate::Succeed);
    assert_eq!(held(&world), None);
    assert!(standing(&world.state, &world.shape).converged);
}

/// A paused update lets no serving node give way, and no deadline runs; resumed, it goes on.
#[test]
fn a_paused_update_waits_and_does_not_fail() {
    let policy = policy(0, 1);
    let mut world = World::new(web(1, 3, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(web(2, 3, "v2", &policy));
    run(&mut world, 14, |_, _| Fate::Succeed);
    let paused = |world: &mut World, paused| {
        assert_eq!(
            world.state.fold(Fact::Paused(group("web"), paused), world.now),
            Verdict::Applied
        );
    };
    paused(&mut world, true);
    run(&mut world, 500, |_, _| Fate::Succeed);
    let plan = reconcile(&world.state, &world.shape, world.now);
    assert_eq!((rung(&plan, "web-2"), plan.is_empty()), (Rung::UpdatePaused, true));
    let ready = world.state.group(&group("web")).map(|g| g.ready());
    assert_eq!((ready, world.reverts), (Some(3), 0));
    paused(&mut world, false);
    run(&mut world, 60, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
}

/// What a newer shape finds half done never served: the way back leads to what did.
#[test]
fn the_prior_revision_is_the_one_that_served() {
    let policy = policy(0, 1);
    let mut world = World::new(web(1, 3, "v1", &policy), T0);
    run(&mut world, 20, |_, _| Fate::Succeed);
    let first = world.shape.group(&group("web")).expect("a group").revision;
    world.reshape(web(2, 3, "v2", &policy));
    run(&mut world, 6, |_, _| Fate::Succeed);
    world.reshape(web(3, 3, "v3", &policy));
    run(&mut world, 1, |_, _| Fate::Succeed);
    let rollout = world.state.rollout(&group("web")).expect("an update").clone();
    assert_eq!(rollout.prior.map(|prior| prior.revision), Some(first));
    // Going back by hand is a way back as well.
    world.reshape(web(4, 3, "v1", &policy));
    let plan = reconcile(&world.state, &world.shape, world.now);
    let reverts = |(_, change): &(_, RolloutChange)| {
        matches!(change, RolloutChange::Begin { reverts: true, .. })
    };
    assert!(plan.rollouts.iter().any(reverts), "{:?}", plan.rollouts);
}

proptest! {
    #![proptest_config(Config { cases: 32, failure_persistence: None, ..Config::default() })]

    /// R170: in a world without faults no update takes more away or adds more than its budget, whatever the order
    /// in which effects end, and whatever else is declared meanwhile.
    #[test]
    fn an_update_stays_within_its_budget(
        count in 1_u32..7,
        nth in 0_usize..5,
        images in prop::collection::vec(0_usize..3, 1..4),
        order in prop::collection::vec(0_usize..8, 20..200),
    ) {
        let policy = Policy { update: updates(nth), ..Policy::default() };
        let mut world = World::new(web(1, count, "v9", &policy), T0);
        run(&mut world, 12, |_, _| Fate::Succeed);
        let (least, most) = (
            count - policy.update.unavailable(count),
            count + policy.update.surge(count),
        );
        let every = order.len() / images.len();
        for (at, pick) in order.iter().enumerate() {
            if at % every.max(1) == 0
                && let Some(image) = images.get(at / every.max(1))
            {
                let generation = world.shape.generation.next().get();
                world.reshape(web(generation, count, ["v1", "v2", "v3"][*image], &policy));
            }
            let _plan = world.pass();
            world.deliver(*pick, Fate::Succeed);
            world.advance(Millis::from_secs(1));
            let seen = world.state.group(&group("web")).expect("a group");
            prop_assert!(seen.ready() >= least, "{} ready of at least {}", seen.ready(), least);
            prop_assert!(seen.owning() <= most, "{} owned of at most {}", seen.owning(), most);
            prop_assert!(world.things.len() <= most as usize);
        }
        for _ in 0..600 {
            if standing(&world.state, &world.shape).converged {
                break;
            }
            run(&mut world, 1, |_, _| Fate::Succeed);
        }
        prop_assert!(standing(&world.state, &world.shape).converged);
        prop_assert_eq!(world.reverts, 0);
    }
}

/// A `web` beside what serves, behind a `db` that is on or off.
fn behind(generation: u64, image: &str, off: bool) -> ClusterShape {
    let after = [(group("db"), GateCondition::Ready)].into();
    let web = Policy { after, ..policy(1, 0) };
    let groups = [
        RunNodeGroupSpec::new(group("db"), 1, node_spec("v1"), Policy::default()),
        RunNodeGroupSpec::new(group("web"), 2, node_spec(image), web),
    ];
    let name = "demo".parse().expect("a run name");
    let shape = ClusterShape::new(name, RUN, Generation::new(generation), groups);
    powered(&shape.expect("a shape"), "db", |power| power.switched(off))
}

/// R167, D10: a candidate that waits at a closed gate goes on when it opens.
#[test]
fn a_candidate_behind_a_gate_goes_on_when_it_opens() {
    let mut world = World::new(behind(1, "v1", false), T0);
    run(&mut world, 40, |_, _| Fate::Succeed);
    world.reshape(behind(3, "v1", true));
    run(&mut world, 20, |_, _| Fate::Succeed);
    world.reshape(behind(5, "v2", true));
    run(&mut world, 20, |_, _| Fate::Succeed);
    assert!(!standing(&world.state, &world.shape).converged, "the gate is closed");
    let open = powered(&world.shape, "db", |power: &Power| power.switched(false));
    world.reshape(open);
    run(&mut world, 120, |_, _| Fate::Succeed);
    assert!(
        standing(&world.state, &world.shape).converged,
        "{:?}",
        world.state.rollout(&group("web"))
    );
}
