//! The laws over random traces: R1 to R7, R12, R46, R59, R72 to R74, D10.
//!
//! The laws of each single pass are checked by `laws_single`, which every pass of a world goes through.

use proptest::prelude::*;
use proptest::test_runner::Config;
use reconciler_core::desired::RunNodeGroupSpec;
use reconciler_core::effect::{CommandKind, FailureClass};
use reconciler_core::time::Millis;

use crate::fleet::{T0, shape, slot};
use crate::laws_single::{decide_the_same, journaled, records};
use crate::trace::{Asked, Input, apply, begin, input};
use crate::world::{Fate, World};

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> Config {
    let asked = std::env::var_os("PROPTEST_CASES").map(|_| Config::default().cases);
    Config { cases: asked.unwrap_or(cases), failure_persistence: None, ..Config::default() }
}

fn run(inputs: &[Input]) -> World {
    let mut world = begin();
    for input in inputs {
        apply(&mut world, input);
    }
    world
}

/// The most that may own anything in a group, as seen over a trace.
fn owning(world: &World) -> Vec<(String, u32, u32)> {
    let groups = world.state.groups();
    groups
        .map(|(name, group)| {
            let most = |g: &RunNodeGroupSpec| g.count + g.policy.update.surge(g.count);
            let most = world.shape.group(name).map_or(0, |spec| most(spec));
            (name.to_string(), group.owning(), most)
        })
        .collect()
}

proptest! {
    #![proptest_config(config(64))]

    /// Once faults stop, a fair world converges in at most 64 rounds, and then nothing is left to do (R72, R73).
    #[test]
    fn a_fair_world_converges(inputs in prop::collection::vec(input(), 0..80)) {
        let mut world = run(&inputs);
        // Whoever waits for what is switched off waits for ever, and says so.
        apply(&mut world, &Input::Ask(0, Asked::On));
        let rounds = world.settle();
        prop_assert!(rounds.is_some(), "{:#?}", records(&world.state));
        prop_assert!(world.pass().is_empty(), "the forced pass of a settled fleet is empty (R73)");
        let known: Vec<_> = records(&world.state).iter().map(|r| r.slot.clone()).collect();
        let wanted: Vec<_> = world.shape.expand().into_iter().map(|spec| spec.slot).collect();
        prop_assert_eq!(known, wanted);
        // What was off from its beginning never got a lease.
        let leased = records(&world.state).iter().filter(|r| r.stage.lease().is_some()).count();
        prop_assert!(world.state.rollouts().next().is_none(), "a settled fleet updates nothing");
        prop_assert_eq!(world.things.len(), leased, "nothing leaks");
    }

    /// The same trace gives the same world, record by record (R2, R74).
    #[test]
    fn a_trace_replays(inputs in prop::collection::vec(input(), 0..60)) {
        let (one, other) = (run(&inputs), run(&inputs));
        prop_assert_eq!(records(&one.state), records(&other.state));
        prop_assert_eq!(one.log, other.log);
    }

    /// What may own something at a provider never grows beyond count and surge (D10, C10).
    #[test]
    fn ownership_stays_within_the_count(inputs in prop::collection::vec(input(), 0..80)) {
        let mut world = begin();
        for input in &inputs {
            let before = owning(&world);
            apply(&mut world, input);
            for (name, owns, count) in owning(&world) {
                let had = before.iter().find(|(n, ..)| *n == name).map_or(0, |(_, owns, _)| *owns);
                prop_assert!(owns <= had.max(count), "{} owns {} of {}", name, owns, count);
            }
        }
    }

    /// A state that went through the journal is the same state and decides the same (C6).
    #[test]
    fn a_journaled_state_decides_the_same(inputs in prop::collection::vec(input(), 0..60)) {
        let world = run(&inputs);
        let orphans = world.state.groups().any(|(_, group)| group.orphans().next().is_some());
        let paused = world.state.providers().values().any(|p| p.paused_until.is_some());
        let restored = journaled(&world.state, world.seen);
        if !orphans && !paused {
            decide_the_same(&world.state, &restored, &world.shape, world.now);
        }
    }

    /// In whatever order effects end, the fleet ends the same (R74).
    #[test]
    fn the_order_of_results_is_no_input(last_first in any::<bool>(), count in 1_u32..6) {
        let mut ends = Vec::new();
        for backwards in [last_first, false] {
            let mut world = World::new(shape(&[("web", count)]), T0);
            for _ in 0..40 {
                let _plan = world.pass();
                while !world.flights.is_empty() {
                    let at = if backwards { world.flights.len() - 1 } else { 0 };
                    world.deliver(at, Fate::Succeed);
                }
                world.advance(Millis::from_secs(5));
            }
            ends.push(records(&world.state));
        }
        prop_assert_eq!(&ends[0], &ends[1]);
    }
}

/// One node that fails for ever delays no other (R12, P4).
#[test]
fn a_node_that_always_fails_delays_no_other() {
    let mut world = World::new(shape(&[("web", 5)]), T0);
    for _ in 0..200 {
        let _plan = world.pass();
        while let Some(flight) = world.flights.first() {
            let bad =
                flight.slot == slot("web-2") && flight.action.kind() == CommandKind::StartBootstrap;
            let fate = if bad { Fate::Refuse(FailureClass::Workload) } else { Fate::Succeed };
            world.deliver(0, fate);
        }
        world.advance(Millis::from_secs(1));
    }
    let ready: Vec<_> = records(&world.state)
        .iter()
        .filter(|record| record.is_ready())
        .map(|record| record.slot.to_string())
        .collect();
    assert_eq!(ready, ["web-0", "web-1", "web-3", "web-4"]);
}

/// A pass may be forced at any time: twice in a row the second finds every effect of the first (R6, R7).
#[test]
fn an_effect_that_is_reflected_is_not_asked_for_again() {
    let mut world = World::new(shape(&[("web", 3)]), T0);
    for _ in 0..20 {
        let _first = world.pass();
        let sent = world.log.len();
        let again = reconciler_core::reconcile::reconcile(&world.state, &world.shape, world.now);
        let in_flight: Vec<_> = world.flights.iter().map(|flight| flight.slot.clone()).collect();
        assert!(again.per_node.iter().all(|(slot, _)| !in_flight.contains(slot)));
        assert_eq!(world.log.len(), sent);
        world.deliver(0, Fate::Succeed);
        world.advance(Millis::from_secs(1));
    }
}

/// Dropping a group takes down all of its nodes and nothing else (R28).
#[test]
fn a_dropped_group_goes_whole_and_alone() {
    let mut world = World::new(shape(&[("db", 2), ("web", 3)]), T0);
    assert!(world.settle().is_some());
    world.reshape(shape(&[("db", 2)]));
    assert!(world.settle().is_some());
    let left: Vec<_> = records(&world.state).iter().map(|r| r.slot.to_string()).collect();
    assert_eq!(left, ["db-0", "db-1"]);
    assert!(world.things.values().all(|thing| thing.slot.group.as_str() == "db"));
}

/// Shapes in between that were never reached are skipped (R32).
#[test]
fn the_latest_shape_wins() {
    let mut world = World::new(shape(&[("web", 1)]), T0);
    assert!(world.settle().is_some());
    world.reshape(shape(&[("batch", 2), ("web", 1)]));
    world.reshape(shape(&[("web", 2)]));
    assert!(world.settle().is_some());
    assert!(world.log.iter().all(|(slot, ..)| slot.group.as_str() == "web"));
}
