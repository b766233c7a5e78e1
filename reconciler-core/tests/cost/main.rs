//! What passes and plans allocate: counts and how they grow, which say the same on every machine (SR6, SC1).
//!
//! A binary of its own, because it counts every allocation of its process; for the same reason it is one test.

use std::alloc::System;
use std::collections::BTreeMap;

use reconciler_core::{
    desired::{
        Amount, BootSpec, ClusterShape, DesiredNodeShape, JoinMode, NodeSpec, Policy,
        RunNodeGroupSpec, UpdatePolicy,
    },
    effect::ExitStatus,
    fold::Fact,
    id::{AttemptOrdinal, Fence, Generation, LogicalNodeId, PlanSerial, SessionId, Uuid},
    observed::{
        Backoff, ClusterState, Endpoint, Handle, LeaseFacts, LeaseId, MemberFacts, NodeRecord,
        NodeStage,
    },
    plan::{PlanInput, Scope, project},
    reconcile::{reconcile, reconcile_some},
    redact::Redacted,
    time::Timestamp,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

fn shape(n: u32, image: &str) -> ClusterShape {
    shape_under(n, image, &Policy::default())
}

/// A policy under which all nodes give way at once.
fn at_once() -> Policy {
    let update = UpdatePolicy { max_unavailable: Amount::Percent(100), ..UpdatePolicy::default() };
    Policy { update, ..Policy::default() }
}

fn shape_under(n: u32, image: &str, policy: &Policy) -> ClusterShape {
    let spec = || NodeSpec {
        role: "worker".to_owned(),
        provider: "fake".parse().expect("a provider name"),
        shape: DesiredNodeShape { image: Some(image.to_owned()), ..DesiredNodeShape::default() },
        boot: BootSpec::default(),
        join: JoinMode::None,
    };
    let groups = (0..n / 1_000).map(|at| {
        let name = format!("group{at:04}").parse().expect("a group name");
        RunNodeGroupSpec::new(name, 1_000, spec(), policy.clone())
    });
    let name = "cost".parse().expect("a run name");
    ClusterShape::new(name, Uuid::from_bytes([7; 16]), Generation::new(1), groups).expect("a shape")
}

fn settled(shape: &ClusterShape) -> ClusterState {
    let member = MemberFacts {
        session: SessionId::new(1),
        joined_at: NOW,
        ready_at: NOW,
        workload: Handle::default(),
    };
    let lease =
        LeaseFacts { id: LeaseId::new("l-1"), fence: Fence::new(1), handle: Handle::default() };
    let records = shape.groups().flat_map(|group| {
        let stage = NodeStage::Dormant {
            lease: lease.clone(),
            endpoint: Endpoint::default(),
            member: member.clone(),
            completed: None,
        };
        (0..group.count).map(move |index| {
            let slot = LogicalNodeId::new(group.group.clone(), index);
            let spec = shape.stamp(group, slot, shape.generation, AttemptOrdinal::new(1));
            let mut record = NodeRecord::fresh(spec, Backoff::default(), NOW);
            record.stage = stage.clone();
            record
        })
    });
    let mut state = ClusterState::restore(records, [], NOW);
    drop(state.take_dirty());
    state
}

fn allocations(run: impl FnOnce()) -> usize {
    let region = Region::new(COUNTING);
    run();
    region.change().allocations
}

fn of_a_plan(observed: &ClusterState, base: &ClusterShape, target: &ClusterShape) -> usize {
    let input = PlanInput {
        base,
        target,
        capabilities: &BTreeMap::new(),
        fence: Fence::new(3),
        serial: PlanSerial::new(0),
        parallelism: 16,
    };
    allocations(|| drop(project(observed, &input, Scope::All, NOW).expect("a plan that settles")))
}

/// One changed node: folded, decided, published.
fn of_a_change(shape: &ClusterShape) -> usize {
    let mut state = settled(shape);
    let published = state.snapshot();
    let slot: LogicalNodeId = "group0000-17".parse().expect("a slot");
    let attempt = state.record(&slot).expect("a record").attempt;
    let fact = Fact::Exited {
        slot,
        attempt,
        workload: Handle::default(),
        status: ExitStatus::Code(1),
        tail: Redacted::default(),
    };
    let n = allocations(|| {
        let _verdict = state.fold(fact, NOW);
        let dirty = state.take_dirty();
        drop(reconcile_some(&state, shape, NOW, &dirty));
        drop(state.snapshot());
    });
    drop(published);
    n
}

/// SR6, SC1: a steady pass allocates nothing, a change costs the same in a large fleet, and plans grow in a line.
#[test]
fn allocations_follow_the_law() {
    let (small, large) = (shape(1_000, "v1"), shape(16_000, "v1"));
    let (one, many) = (settled(&small), settled(&large));
    assert_eq!(allocations(|| drop(reconcile(&one, &small, NOW))), 0);
    assert_eq!(allocations(|| drop(reconcile(&many, &large, NOW))), 0);

    let (few, most) = (of_a_change(&small), of_a_change(&large));
    assert!(most <= few + 2 && few < 40, "{few} in a small fleet, {most} in a large one");

    let none = ClusterState::default();
    let (few, most) = (of_a_plan(&none, &small, &small), of_a_plan(&none, &large, &large));
    assert!(few <= 5 * 1_000, "{few} for a plan of 1000 new nodes");
    assert!(most <= few * 16 + few / 10, "{few} for 1000 new nodes, {most} for 16000");

    let policy = at_once();
    let newer = shape_under(1_000, "v2", &policy);
    let newest = shape_under(16_000, "v2", &policy);
    let (few, most) = (of_a_plan(&one, &small, &newer), of_a_plan(&many, &large, &newest));
    assert!(few <= 7 * 1_000, "{few} for a plan of 1000 replacements");
    assert!(most <= few * 16 + few / 10, "{few} for 1000 replacements, {most} for 16000");

    // One at a time: a round is for one node of each group, and costs that alone.
    let (four, large) = (settled(&shape(4_000, "v1")), shape(4_000, "v1"));
    let few = of_a_plan(&one, &small, &shape(1_000, "v2"));
    let most = of_a_plan(&four, &large, &shape(4_000, "v2"));
    assert!(few <= 60 * 1_000, "{few} for a plan of 1000 nodes in turn");
    assert!(most <= few * 4 + few / 10, "{few} for 1000 nodes in turn, {most} for 4000");
}
