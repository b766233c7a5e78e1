//! The plan as a projection: its steps, what blocks it, and that a fault-free world takes exactly them (D2).
//!
//! What binds a plan to its inputs stands in `plan_hash`.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use reconciler_core::{
    desired::{ClusterShape, Policy},
    effect::CommandKind,
    fold::Fact,
    hold::HoldCode,
    id::{Fence, PlanSerial},
    observed::{ClusterState, NodeStage, Side},
    plan::{ChangeKind, LifecyclePlan, PlanInput, Scope, StepKey, project},
    reconcile::Rung,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    T0, at, command_of, definite, dispatch, fleet, in_stage, reported, shape, shape_with, slot,
    state,
};
use crate::trace::hooks;
use crate::world::{Fate, World};

/// A plan for `scope` from `observed` to `target`.
pub(crate) fn plan_of(
    observed: &ClusterState,
    target: &ClusterShape,
    scope: Scope<'_>,
    now: Timestamp,
) -> LifecyclePlan {
    let input = PlanInput {
        base: target,
        target,
        capabilities: &BTreeMap::new(),
        fence: Fence::new(3),
        serial: PlanSerial::new(0),
        parallelism: 4,
    };
    project(observed, &input, scope, now).expect("a plan that settles")
}

fn plan(observed: &ClusterState, target: &ClusterShape) -> LifecyclePlan {
    plan_of(observed, target, Scope::All, T0)
}

fn actions(plan: &LifecyclePlan) -> Vec<(String, u64, CommandKind)> {
    let one = |step: &reconciler_core::plan::PlanStep| {
        (step.slot.to_string(), step.attempt.ordinal.get(), command_of(step.action))
    };
    plan.steps.iter().map(one).collect()
}

fn settled(shape: &ClusterShape) -> World {
    let mut world = World::new(shape.clone(), T0);
    assert!(world.settle().is_some());
    world
}

const UP: [CommandKind; 4] = [
    CommandKind::CreateLease,
    CommandKind::LookupEndpoint,
    CommandKind::StartBootstrap,
    CommandKind::BootstrapConvergenceObserved,
];
const DOWN: [CommandKind; 2] = [CommandKind::CancelBootstrap, CommandKind::DestroyLease];

fn steps(slot: &str, attempt: u64, kinds: &[CommandKind]) -> Vec<(String, u64, CommandKind)> {
    kinds.iter().map(|kind| (slot.to_owned(), attempt, *kind)).collect()
}

/// R23: a node that is not there is created in four steps, each after the one before.
#[test]
fn a_create_has_four_steps_in_order() {
    let plan = plan(&state([]), &shape(&[("web", 1)]));
    assert_eq!(actions(&plan), steps("web-0", 1, &UP));
    for (step, before) in plan.steps[1..].iter().zip(&plan.steps) {
        assert_eq!(*step.after, [before.key()]);
    }
    assert!(plan.steps[0].after.is_empty());
    assert_eq!(plan.changes[0].kind, ChangeKind::Create);
    assert_eq!(plan.counts.len(), 1);
}

/// R29, R30: a replacement takes the old attempt down before the next goes up.
#[test]
fn a_replacement_goes_down_before_it_goes_up() {
    let world = settled(&shape(&[("web", 1)]));
    let plan = plan(&world.state, &shape_with(2, &[("web", 1, "v2")], &Policy::default()));
    let want = [steps("web-0", 1, &DOWN), steps("web-0", 2, &UP)].concat();
    assert_eq!(actions(&plan), want);
    assert_eq!((plan.changes[0].kind, plan.changes[0].ready), (ChangeKind::Replace, true));
}

/// R172, R173: with surge the next attempt is up and was looked at before the old one goes.
#[test]
fn a_replacement_with_surge_goes_up_before_it_goes_down() {
    let policy = crate::rollout::policy(1, 0);
    let world = settled(&shape_with(1, &[("web", 1, "v1")], &policy));
    let plan = plan(&world.state, &shape_with(2, &[("web", 1, "v2")], &policy));
    let want = [steps("web-0", 2, &UP), steps("web-0", 1, &DOWN)].concat();
    assert_eq!(actions(&plan), want);
    assert!(plan.blocked.is_empty(), "{:?}", plan.blocked);
}

/// R26 to R28: scaling and removal touch what they must and nothing else.
#[test]
fn scaling_plans_touch_only_what_changes() {
    let world = settled(&shape(&[("db", 1), ("web", 2)]));
    let up = plan(&world.state, &shape(&[("db", 1), ("web", 3)]));
    assert_eq!(actions(&up), steps("web-2", 1, &UP));
    let down = plan(&world.state, &shape(&[("db", 1), ("web", 1)]));
    assert_eq!(actions(&down), steps("web-1", 1, &DOWN));
    assert_eq!(down.changes[0].kind, ChangeKind::Destroy);
    let dropped = plan(&world.state, &shape(&[("web", 2)]));
    assert_eq!(actions(&dropped), steps("db-0", 1, &DOWN));
}

/// R90: the plan of what is as wanted is empty.
#[test]
fn a_converged_fleet_has_an_empty_plan() {
    let shape = shape(&[("db", 1), ("web", 3)]);
    let world = settled(&shape);
    assert!(plan(&world.state, &shape).is_empty());
    assert!(!plan(&state([]), &shape).is_empty());
}

/// D2: held, ambiguous and pending slots end the projection and stand in it with their reasons.
#[test]
fn what_cannot_move_is_named() {
    let state = fleet(
        "web-0 #1 v1 destroyed hold=restart.crash-loop hold.text=\"five failures\"\n\
         web-1 #1 v1 lease-requested ambiguous=CreateLease ambiguous.look=+500\n\
         web-2 #1 v1 lease-requested pending=CreateLease pending.step=1 pending.until=+120000\n\
         web-3 #1 v1 dormant\n",
    );
    let plan = plan(&state, &shape(&[("web", 4)]));
    let blocked: Vec<_> = plan.blocked.iter().map(|(slot, r)| (slot.clone(), &r.rung)).collect();
    assert_eq!(blocked.len(), 2);
    assert!(matches!(&blocked[0], (s, Rung::Held(HoldCode::CrashLoop, _)) if *s == slot("web-0")));
    assert_eq!(blocked[1], (slot("web-1"), &Rung::Ambiguous(CommandKind::CreateLease.into())));
    assert_eq!(actions(&plan), steps("web-2", 1, &UP[1..]), "what is on its way succeeds");
}

/// D2: the projection waits out a backoff, also when it is about that slot alone.
#[test]
fn a_backoff_is_waited_out() {
    let state = fleet(
        "web-0 #1 v1 destroyed failures=1 delays=1 not-before=+50000\n\
         web-1 #1 v1 dormant\n",
    );
    let slots = BTreeSet::from([slot("web-0")]);
    for scope in [Scope::All, Scope::Slots(&slots)] {
        let plan = plan_of(&state, &shape(&[("web", 2)]), scope, T0);
        assert_eq!(actions(&plan), steps("web-0", 2, &UP));
    }
}

/// D2: a paused provider delays a plan and does not shorten it.
#[test]
fn a_pause_shortens_no_plan() {
    let shape = shape(&[("web", 1)]);
    let mut paused = state([in_stage(&shape, "web-0", NodeStage::New)]);
    let limit =
        reconciler_core::effect::FailureClass::RateLimited { retry_after: Millis::from_secs(30) };
    let _sent = dispatch(&mut paused, "web-0", CommandKind::CreateLease, 1, at(0));
    let _paused = reported(&mut paused, "web-0", 1, Err(definite(limit)), at(0));
    assert_eq!(actions(&plan(&paused, &shape)), steps("web-0", 1, &UP));
}

/// D2: a plan about some slots alone has the steps of those and of no other.
#[test]
fn a_plan_may_be_about_some_slots() {
    let mut world = settled(&shape(&[("web", 3)]));
    for text in ["web-0", "web-2"] {
        let attempt = world.state.record(&slot(text)).expect("a record").attempt;
        world.things.remove(&attempt.uuid);
        world.look(&slot(text), Side::Present);
    }
    let slots = BTreeSet::from([slot("web-2")]);
    let some = plan_of(&world.state, &world.shape, Scope::Slots(&slots), world.now);
    assert!(some.steps.iter().all(|step| step.slot == slot("web-2")));
    let all = plan_of(&world.state, &world.shape, Scope::All, world.now);
    let of_two = all.steps.iter().filter(|step| step.slot == slot("web-2")).cloned();
    assert_eq!(some.steps, of_two.collect::<Vec<_>>());
}

/// Carries a plan's target out in a world without faults, `width` effects at once; what went out, in order.
fn carried_out(world: &mut World, width: usize, backwards: bool) -> Vec<StepKey> {
    world.log.clear();
    world.endpoints_late = true;
    for _ in 0..400 {
        let _plan = world.admitting(width);
        while !world.flights.is_empty() {
            let at = if backwards { world.flights.len() - 1 } else { 0 };
            world.deliver(at, Fate::Succeed);
        }
        if world.is_settled() {
            break;
        }
        world.advance(Millis::from_secs(1));
    }
    assert!(world.is_settled());
    let key = |(slot, ordinal, action): &(_, _, _)| StepKey {
        slot: Clone::clone(slot),
        ordinal: *ordinal,
        action: *action,
    };
    world.log.iter().map(key).collect()
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 48, failure_persistence: None, ..Default::default()
    })]

    /// P3: what runs is what was shown: a world without faults takes exactly the steps of the plan, each once,
    /// and none before those that it comes after, however many go out at once and in whatever order they end.
    #[test]
    fn what_runs_is_what_was_planned(
        before in (0_u32..4, 0_u32..3),
        after in (0_u32..4, 0_u32..3),
        newer in any::<bool>(),
        width in 1_usize..6,
        backwards in any::<bool>(),
        hooked in 0_u64..4,
    ) {
        let image = if newer { "v2" } else { "v1" };
        let policy = Policy { hooks: hooks(hooked), ..Policy::default() };
        let groups = [("db", before.0, "v1"), ("web", before.1, "v1")];
        let mut world = settled(&shape_with(1, &groups, &policy));
        let groups = [("db", after.0, image), ("web", after.1, "v1")];
        let target = shape_with(2, &groups, &policy);
        let plan = plan_of(&world.state, &target, Scope::All, world.now);
        world.reshape(target);
        let sent = carried_out(&mut world, width, backwards);
        let mut done = BTreeSet::new();
        for key in &sent {
            let step = plan.steps.iter().find(|step| step.key() == *key);
            let after = step.map_or(&[][..], |step| &step.after);
            prop_assert!(step.is_some(), "{key} was not planned");
            prop_assert!(after.iter().all(|before| done.contains(before)), "{key} came too early");
            prop_assert!(done.insert(key.clone()), "{key} went out twice");
        }
        prop_assert_eq!(done.len(), plan.steps.len(), "every step of the plan went out");
    }
}

/// D2: a hold on a whole group names each slot that would move.
#[test]
fn a_held_group_blocks_its_slots() {
    let shape = shape(&[("web", 2)]);
    let mut world = settled(&shape);
    world.advance(Millis::from_secs(60));
    world.list(reconciler_core::effect::Listing::Complete(Vec::new()));
    let target = shape_with(2, &[("web", 2, "v2")], &Policy::default());
    let blocked = plan_of(&world.state, &target, Scope::All, world.now);
    assert!(blocked.steps.is_empty() && blocked.blocked.len() == 2, "{blocked:?}");
    assert!(!blocked.is_empty(), "what it would change is shown");
    let group = crate::fleet::group("web");
    let _released = world.state.fold(Fact::ReleasedGroup(group), world.now);
    let free = plan_of(&world.state, &target, Scope::All, world.now);
    assert!(free.blocked.is_empty() && !free.steps.is_empty());
}
