//! R138: an update under which a hook completed is not taken back by itself.

use reconciler_core::{
    desired::{HookPoint, Policy},
    effect::ActionKind,
    fold::Fact,
    hold::HoldCode,
    observed::Hooked,
    reconcile::standing,
};

use crate::fleet::{T0, group, slot};
use crate::hooks::{ALL, POST_START, PRE_START, START};
use crate::rollout::{policy, web};
use crate::rollout_ends::{refuse, run};
use crate::trace::hooks;
use crate::world::{Fate, World};

/// Two nodes that serve, and an update of them under the hooks of a trace.
fn updating(nth: u64, surge: u32) -> World {
    let policy = Policy { hooks: hooks(nth), ..policy(surge, 1 - surge) };
    let mut world = World::new(web(1, 2, "v1", &policy), T0);
    run(&mut world, 30, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
    world.log.clear();
    world.reshape(web(2, 2, "v2", &policy));
    world
}

fn held(world: &World) -> Option<HoldCode> {
    world.state.group(&group("web"))?.hold().map(|hold| hold.code)
}

fn hooked(world: &World) -> Option<Hooked> {
    world.state.rollout(&group("web"))?.hooked.clone()
}

/// The starts of the new revision are refused.
fn unstarted(ordinal: u64, kind: ActionKind) -> Fate {
    refuse(ordinal > 1 && kind == START)
}

/// R138: the new revision never starts, and a hook of it has completed: the group is held, and says which hook.
#[test]
fn a_completed_hook_blocks_the_way_back() {
    let mut world = updating(1, 1);
    run(&mut world, 3_000, unstarted);
    assert_eq!((held(&world), world.reverts), (Some(HoldCode::IrreversibleHook), 0));
    let hold = world.state.group(&group("web")).and_then(|g| g.hold().cloned()).expect("a hold");
    for part in ["has failed", "pre-start hook of web-", "cannot be taken back", "release"] {
        assert!(hold.text.as_str().contains(part), "{}", hold.text);
    }
    assert_eq!(hooked(&world).map(|hooked| hooked.point), Some(HookPoint::PreStart));
    // The way out: released, it goes on as it stands.
    let _released = world.state.fold(Fact::ReleasedGroup(group("web")), world.now);
    for index in 0..2 {
        let slot = slot(&format!("web-{index}"));
        let _released = world.state.fold(Fact::ReleasedSlot(slot), world.now);
    }
    run(&mut world, 400, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
    assert_eq!((held(&world), hooked(&world)), (None, None));
}

/// A hook that fails has completed nothing: the update is taken back as any other.
#[test]
fn a_failed_hook_blocks_nothing() {
    let mut world = updating(1, 1);
    run(&mut world, 3_000, |ordinal, kind| refuse(ordinal > 1 && kind == PRE_START));
    assert_eq!((held(&world), world.reverts), (None, 1));
    run(&mut world, 200, |_, _| Fate::Succeed);
    let shape = world.shape.clone();
    assert!(standing(&world.state, &shape).converged);
    // With one that completed before it in the same attempt it is held.
    let mut world = updating(1, 1);
    run(&mut world, 3_000, |ordinal, kind| refuse(ordinal > 1 && kind == POST_START));
    assert_eq!((held(&world), world.reverts), (Some(HoldCode::IrreversibleHook), 0));
}

/// What the stop hook of a node that gave way did is a part of the update as well.
#[test]
fn a_stop_hook_of_what_gave_way_counts() {
    let mut world = updating(2, 0);
    run(&mut world, 3_000, unstarted);
    assert_eq!((held(&world), world.reverts), (Some(HoldCode::IrreversibleHook), 0));
    assert_eq!(hooked(&world).map(|hooked| hooked.point), Some(HookPoint::PreStop));
}

/// What stood before the update began is no part of it, and what completed outlives the driver.
#[test]
fn what_completed_is_journaled_with_the_update() {
    let mut world = updating(ALL, 1);
    let _plan = world.pass();
    assert_eq!(hooked(&world), None);
    while hooked(&world).is_none() {
        run(&mut world, 1, |_, _| Fate::Succeed);
    }
    world.restart();
    assert_eq!(hooked(&world).map(|hooked| hooked.point), Some(HookPoint::PreStart));
    run(&mut world, 3_000, unstarted);
    assert_eq!((held(&world), world.reverts), (Some(HoldCode::IrreversibleHook), 0));
}

/// R138 is about going back by itself: a person who declares what was before is followed.
#[test]
fn a_person_may_go_back() {
    let mut world = updating(1, 1);
    run(&mut world, 3_000, unstarted);
    assert_eq!(held(&world), Some(HoldCode::IrreversibleHook));
    let policy = Policy { hooks: hooks(1), ..policy(1, 0) };
    world.reshape(web(3, 2, "v1", &policy));
    run(&mut world, 400, |_, _| Fate::Succeed);
    assert!(standing(&world.state, &world.shape).converged);
    assert_eq!(held(&world), None);
}
