//! Gates between groups: what may be declared, who waits for whom on the way up and down, and what a plan shows of it
//! (R79, R166 to R168).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use reconciler_core::{
    desired::{ClusterShape, GateCondition, GateError, GroupKind, ShapeError, find_cycle},
    effect::CommandKind,
    id::{Fence, GroupId, PlanSerial},
    observed::{Side, StageName},
    plan::{LifecyclePlan, PlanInput, Scope, StepKey, project},
    reconcile::{Rung, reconcile, standing},
    time::Millis,
};

use crate::fleet::{Gated, T0, at, command_of, gated, group, in_stage, kinds, slot, stage, state};
use crate::laws_single::records;
use crate::world::{Fate, World};

const SERVICE: GroupKind = GroupKind::Service;

/// What makes another shape of one.
type Edit = dyn Fn(&ClusterShape) -> ClusterShape;

/// A database, an application that needs it ready, and a front that needs the application started.
fn chain(counts: [u32; 3]) -> ClusterShape {
    let groups: [Gated<'_>; 3] = [
        ("app", counts[1], SERVICE, &[("db", GateCondition::Ready)]),
        ("db", counts[0], SERVICE, &[]),
        ("front", counts[2], SERVICE, &[("app", GateCondition::Started)]),
    ];
    gated(1, "v1", &groups).expect("a shape")
}

fn refusal(groups: &[Gated<'_>]) -> GateError {
    match gated(1, "v1", groups) {
        Err(ShapeError::Gate(error)) => error,
        other => panic!("expected a refused gate, found {other:?}"),
    }
}

fn plan(world: &World, target: &ClusterShape) -> LifecyclePlan {
    let input = PlanInput {
        base: &world.shape,
        target,
        capabilities: &BTreeMap::new(),
        fence: Fence::new(3),
        serial: PlanSerial::new(0),
        parallelism: 4,
    };
    project(&world.state, &input, Scope::All, world.now).expect("a plan that settles")
}

/// Lets a world without faults run; the commands that went out, in order.
fn run(world: &mut World) -> Vec<(String, CommandKind)> {
    world.log.clear();
    for _ in 0..400 {
        let _plan = world.pass();
        while !world.flights.is_empty() {
            world.deliver(0, Fate::Succeed);
        }
        world.finish_jobs();
        if world.is_settled() {
            break;
        }
        world.advance(Millis::from_secs(1));
    }
    assert!(world.is_settled(), "{:#?}", records(&world.state));
    world.log.iter().map(|(slot, _, kind)| (slot.to_string(), command_of(*kind))).collect()
}

/// The places of a group's commands of one kind: the first and the last.
fn span(log: &[(String, CommandKind)], group: &str, kind: CommandKind) -> (usize, usize) {
    let of = |(slot, k): &(String, CommandKind)| {
        *k == kind && slot.rsplit_once('-').is_some_and(|(name, _)| name == group)
    };
    let first = log.iter().position(of).expect("such a command");
    (first, log.iter().rposition(of).expect("such a command"))
}

/// R79: a group that is unknown, the group itself, a ring, and the completion of a service cannot be waited for.
#[test]
fn gates_that_can_never_open_are_refused() {
    let on = |name| [(name, GateCondition::Ready)];
    let unknown = refusal(&[("web", 1, SERVICE, &on("db"))]);
    assert_eq!(unknown, GateError::Unknown { group: group("web"), on: group("db") });
    assert_eq!(refusal(&[("web", 1, SERVICE, &on("web"))]), GateError::Itself(group("web")));
    let completed = [("db", GateCondition::Completed)];
    let no_job = refusal(&[("db", 1, SERVICE, &[]), ("web", 1, SERVICE, &completed)]);
    assert_eq!(no_job, GateError::NoJob { group: group("web"), on: group("db") });
    let (a, b, c) = (on("a"), on("b"), on("c"));
    let ring = [
        ("a", 1, SERVICE, &b[..]),
        ("b", 1, SERVICE, &c),
        ("c", 1, SERVICE, &a),
        ("d", 1, SERVICE, &a),
    ];
    let ring = refusal(&ring);
    assert_eq!(ring, GateError::Cycle(["a", "b", "c"].map(group).to_vec()));
    assert!(ring.to_string().ends_with("a -> b -> c -> a"), "every group of it is named: {ring}");
}

/// R79: of any gates, either every group can come up in some order, or a ring is named that really is one.
#[test]
fn a_ring_is_found_wherever_there_is_one() {
    let names = ["a", "b", "c", "d"].map(group);
    for edges in 0_u32..1 << 12 {
        let pairs =
            (0..4).flat_map(|from| (0..4).filter(move |to| *to != from).map(move |to| (from, to)));
        let chosen: BTreeSet<(usize, usize)> = pairs
            .enumerate()
            .filter(|(bit, _)| edges >> bit & 1 == 1)
            .map(|(_, pair)| pair)
            .collect();
        let after: Vec<(GroupId, Vec<GroupId>)> = (0..4)
            .map(|from| {
                let on = (0..4).filter(|to| chosen.contains(&(from, *to)));
                (names[from].clone(), on.map(|to| names[to].clone()).collect())
            })
            .collect();
        let mut up: BTreeSet<usize> = BTreeSet::new();
        for _ in 0..4 {
            let free =
                (0..4).filter(|n| chosen.iter().all(|(from, to)| from != n || up.contains(to)));
            up = free.collect();
        }
        let ring = find_cycle(after.iter().map(|(name, on)| (name, on.iter())));
        assert_eq!(ring.is_none(), up.len() == 4, "{after:?}");
        let place = |name: &GroupId| names.iter().position(|n| n == name).expect("a name");
        if let Some(ring) = ring {
            let next = ring.iter().cycle().skip(1);
            assert!(ring.iter().zip(next).all(|(a, b)| chosen.contains(&(place(a), place(b)))));
        }
    }
}

/// R167: a dependent gets its lease only once the gate is open, and says until then whom it waits for and why.
#[test]
fn a_dependent_waits_and_names_what_is_lacking() {
    let shape = chain([2, 1, 1]);
    let fresh = |text| in_stage(&shape, text, stage(StageName::New));
    let ready = in_stage(&shape, "db-0", stage(StageName::Dormant));
    let young = in_stage(&shape, "db-1", stage(StageName::BootstrapRunning));
    let seen = state([fresh("app-0"), ready, young, fresh("front-0")]);
    let plan = reconcile(&seen, &shape, at(0));
    assert_eq!(kinds(&plan.per_node), []);
    let reason = |text: &str| {
        let found = plan.reasons.iter().find(|(s, _)| *s == slot(text)).expect("a reason");
        found.1.to_string()
    };
    assert_eq!(reason("app-0"), "waits for db (1 of 2 ready)");
    assert_eq!(reason("front-0"), "waits for app (0 of 1 started)");
    assert_eq!(standing(&seen, &shape).gated, 2);
}

/// R167: what runs is not touched when what it depends on falters; only what would start anew waits.
#[test]
fn a_running_dependent_is_not_touched() {
    let shape = chain([1, 1, 0]);
    let mut world = World::new(shape, T0);
    run(&mut world);
    let attempt = world.state.record(&slot("db-0")).expect("a record").attempt;
    world.things.remove(&attempt.uuid);
    world.look(&slot("db-0"), Side::Present);
    let plan = reconcile(&world.state, &world.shape, world.now);
    assert!(plan.reasons.iter().all(|(slot, _)| slot.group == group("db")), "{plan:?}");
    let log = run(&mut world);
    assert!(log.iter().all(|(slot, _)| slot.starts_with("db-")), "{log:?}");
}

/// R166, R167: a chain comes up in order, each group once the one before has come as far as its gate asks.
#[test]
fn a_chain_comes_up_in_order() {
    let mut world = World::new(chain([2, 2, 2]), T0);
    let log = run(&mut world);
    let ready = CommandKind::BootstrapConvergenceObserved;
    assert!(span(&log, "db", ready).1 < span(&log, "app", CommandKind::CreateLease).0);
    let started = span(&log, "app", CommandKind::StartBootstrap).1;
    assert!(started < span(&log, "front", CommandKind::CreateLease).0);
    assert!(span(&log, "front", CommandKind::CreateLease).0 < span(&log, "app", ready).1);
}

/// R168: whatever takes nodes away takes dependents first: fewer nodes, none, dropped groups, and all of it at once.
#[test]
fn dependents_go_first() {
    let cancel = CommandKind::CancelBootstrap;
    let fewer = |shape: &ClusterShape| {
        let counts = [("app", 1), ("db", 1), ("front", 1)].map(|(name, n)| (group(name), n));
        shape.with_counts(&counts.into()).expect("a shape")
    };
    let dropped = |shape: &ClusterShape| {
        shape.without(&["app", "db", "front"].map(group).into()).expect("a shape")
    };
    let ways: [(&str, &Edit); 3] =
        [("fewer", &fewer), ("down", &ClusterShape::emptied), ("dropped", &dropped)];
    for (way, target) in ways {
        let mut world = World::new(chain([2, 2, 2]), T0);
        run(&mut world);
        let target = target(&world.shape);
        let shown = plan(&world, &target);
        world.reshape(target);
        let log = run(&mut world);
        assert!(span(&log, "front", cancel).1 < span(&log, "app", cancel).0, "{way}: {log:?}");
        assert!(span(&log, "app", cancel).1 < span(&log, "db", cancel).0, "{way}: {log:?}");
        let mut steps: Vec<_> =
            shown.steps.iter().map(|s| (s.slot.to_string(), command_of(s.action))).collect();
        let mut sent = log.clone();
        steps.sort();
        sent.sort();
        assert_eq!(steps, sent, "{way}: what runs is what was shown (P3)");
    }
}

/// A group that others wait for cannot be dropped without them.
#[test]
fn what_is_waited_for_cannot_be_dropped_alone() {
    let shape = chain([1, 1, 1]);
    let alone = shape.without(&[group("db")].into());
    let unknown = GateError::Unknown { group: group("app"), on: group("db") };
    assert_eq!(alone, Err(ShapeError::Gate(unknown)));
    assert!(shape.without(&[group("front")].into()).is_ok());
}

/// A group that wants no nodes holds nobody back; one whose nodes are gone for a while does.
#[test]
fn an_empty_group_holds_nobody_back() {
    let mut world = World::new(chain([0, 1, 1]), T0);
    let log = run(&mut world);
    assert_eq!(span(&log, "app", CommandKind::CreateLease).0, 0);
}

/// D2: a gate makes edges in the plan: whoever waited comes after the steps that opened it, and every edge points back.
#[test]
fn gates_are_edges_of_the_plan() {
    let world = World::new(chain([2, 1, 1]), T0);
    let shown = plan(&world, &world.shape);
    let after = |key: &str| {
        let step = shown.steps.iter().find(|step| step.key().to_string() == key).expect("a step");
        step.after.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let ready = ["db-0.1", "db-1.1"].map(|a| format!("{a}.BootstrapConvergenceObserved"));
    assert_eq!(after("app-0.1.CreateLease"), ready);
    assert_eq!(after("front-0.1.CreateLease"), ["app-0.1.StartBootstrap"]);
    assert_eq!(after("app-0.1.StartBootstrap"), ["app-0.1.LookupEndpoint"]);
    assert_eq!(after("db-0.1.CreateLease"), Vec::<String>::new());
    let mut known = BTreeSet::new();
    for step in &shown.steps {
        assert!(step.after.iter().all(|key| known.contains(key)) && step.after.is_sorted());
        known.insert(step.key());
    }
}

/// D2: what waits for a gate that does not open stands in the plan as blocked, with whom it waits for.
#[test]
fn a_gate_that_stays_closed_blocks() {
    let shape = chain([1, 1, 0]);
    let mut world = World::new(shape, T0);
    run(&mut world);
    let off = crate::fleet::powered(&world.shape, "db", |power| power.switched(true));
    let more = off.with_counts(&[(group("app"), 2)].into()).expect("a shape");
    let shown = plan(&world, &more);
    let blocked: Vec<_> = shown.blocked.iter().map(|(s, r)| (s.to_string(), &r.rung)).collect();
    assert!(matches!(&blocked[..], [(s, Rung::Gate(_))] if s == "app-1"), "{blocked:?}");
    assert_eq!(shown.blocked[0].1.to_string(), "waits for db (0 of 1 ready, 1 off)");
}

/// R167: what could not start again yet is not ended either: a restart waits for the gates of its group.
#[test]
fn a_restart_waits_for_the_gates() {
    let mut world = World::new(chain([1, 1, 0]), T0);
    run(&mut world);
    let off = crate::fleet::powered(&world.shape, "db", |power| power.switched(true));
    world.reshape(off);
    run(&mut world);
    let anew = crate::fleet::powered(&world.shape, "app", reconciler_core::desired::Power::anew);
    world.reshape(anew);
    for _ in 0..10 {
        let _plan = world.pass();
        assert!(world.flights.is_empty(), "{:?}", world.flights);
    }
    assert!(world.state.record(&slot("app-0")).is_some_and(|record| record.is_ready()));
    let on = crate::fleet::powered(&world.shape, "db", |power| power.switched(false));
    world.reshape(on);
    let log = run(&mut world);
    let (close, cancel) = (CommandKind::BootstrapConvergenceObserved, CommandKind::CancelBootstrap);
    assert!(span(&log, "db", close).1 < span(&log, "app", cancel).0, "{log:?}");
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 48, failure_persistence: None, ..Default::default()
    })]

    /// P3, R166 to R168: between any two sizes of a chain, restarts included, what runs is what was shown, group by
    /// group in an order that the plan's edges allow.
    #[test]
    fn what_runs_is_what_was_planned(
        before in prop::array::uniform3(0_u32..3),
        after in prop::array::uniform3(0_u32..3),
        anew in prop::array::uniform3(any::<bool>()),
    ) {
        let mut world = World::new(chain(before), T0);
        run(&mut world);
        let mut target = chain(after);
        for (name, anew) in ["app", "db", "front"].iter().zip(anew) {
            if anew {
                target = crate::fleet::powered(&target, name, reconciler_core::desired::Power::anew);
            }
        }
        let target = target.at_generation(world.shape.generation.next());
        let shown = plan(&world, &target);
        prop_assert!(shown.blocked.is_empty(), "{:?}", shown.blocked);
        world.reshape(target);
        let log = run(&mut world);
        let told = |kind: &CommandKind| *kind != CommandKind::LookupEndpoint;
        let mut sent: Vec<_> = log.iter().filter(|(_, kind)| told(kind)).cloned().collect();
        let steps = shown.steps.iter().filter(|step| told(&command_of(step.action)));
        let mut steps: Vec<_> = steps.map(|s| (s.slot.to_string(), command_of(s.action))).collect();
        let place = |key: &StepKey| {
            let step = shown.steps.iter().find(|step| step.key() == *key).expect("a step");
            log.iter().position(|(s, kind)| *s == step.slot.to_string() && step.action == *kind)
        };
        for step in shown.steps.iter().filter(|step| told(&command_of(step.action))) {
            for before in step.after.iter().filter_map(place) {
                prop_assert!(Some(before) < place(&step.key()), "{} too early: {log:?}", step.key());
            }
        }
        sent.sort();
        steps.sort();
        prop_assert_eq!(sent, steps);
    }
}
