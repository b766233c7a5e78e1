//! Fleets of more than one block: records are kept by 64 to a block and 64 blocks to a branch, and a pass reads blocks
//! where it can; none of that decides a slot otherwise (R13).

use std::collections::BTreeSet;

use reconciler_core::{
    desired::{ClusterShape, Policy},
    effect::ExitStatus,
    fold::{Fact, Transition, Verdict},
    id::{AttemptOrdinal, LogicalNodeId},
    observed::{ClusterState, DeleteReason, GroupState, Handle, NodeRecord, StageName},
    reconcile::{ReconcilePlan, reconcile, reconcile_some},
    redact::Redacted,
    time::Millis,
};

use crate::{
    fleet::{T0, at, group, in_stage, shape, shape_with, slot, stage, state, with},
    laws_single::counts_agree,
};

/// Where blocks and branches begin and end.
const EDGES: [u32; 10] = [0, 1, 63, 64, 127, 128, 4_095, 4_096, 4_159, 4_160];

fn name(index: u32) -> String {
    format!("web-{index}")
}

fn node(shape: &ClusterShape, index: u32, name: StageName) -> NodeRecord {
    in_stage(shape, &self::name(index), stage(name))
}

fn settled(shape: &ClusterShape, count: u32) -> ClusterState {
    state((0..count).map(|index| node(shape, index, StageName::Dormant)))
}

fn counting(shape: &ClusterShape, count: u32) -> ClusterShape {
    shape.with_counts(&[(group("web"), count)].into()).expect("a count")
}

fn seen(state: &ClusterState) -> &GroupState {
    state.group(&group("web")).expect("the group")
}

fn decided(state: &mut ClusterState, index: u32, transition: Transition) {
    let fact = Fact::Decided { slot: slot(&name(index)), transition };
    assert_eq!(state.fold(fact, at(1)), Verdict::Applied);
}

/// The plan for a fleet, which is that for its slots one by one.
fn planned(state: &ClusterState, shape: &ClusterShape) -> ReconcilePlan {
    let group = shape.groups().next().expect("a group");
    let mut all: BTreeSet<LogicalNodeId> =
        (0..group.count).map(|index| LogicalNodeId::new(group.group.clone(), index)).collect();
    all.extend(seen(state).records().map(|record| record.slot.clone()));
    let whole = reconcile(state, shape, T0);
    assert_eq!(whole, reconcile_some(state, shape, T0, &all));
    whole
}

/// A record is found at its index and in its order, from wherever is looked.
#[test]
fn a_record_is_found_wherever_it_stands() {
    let shape = shape(&[("web", 4_161)]);
    let state = state(EDGES.map(|index| node(&shape, index, StageName::Dormant)));
    let group = seen(&state);
    let found: Vec<u32> = group.records().map(|record| record.slot.index).collect();
    assert_eq!(found, EDGES);
    for from in EDGES.into_iter().flat_map(|index| [index, index + 1]) {
        let (before, beyond): (Vec<u32>, Vec<u32>) =
            EDGES.into_iter().partition(|index| *index < from);
        let found: Vec<u32> = group.records_from(from).map(|record| record.slot.index).collect();
        assert_eq!(found, beyond, "from {from}");
        assert_eq!(group.record(from).is_some(), EDGES.contains(&from), "at {from}");
        assert_eq!(group.ready_within(from) as usize, before.len(), "within {from}");
        assert_eq!(group.runs_beyond(from), !beyond.is_empty(), "beyond {from}");
    }
}

/// Whatever of a group is there and however many are wanted: the whole is decided as its slots are.
#[test]
fn a_fleet_is_decided_as_its_slots_are() {
    let shape = shape(&[("web", 4_161)]);
    let state = state(EDGES.map(|index| node(&shape, index, StageName::Dormant)));
    // Also where just as many are there as are wanted, elsewhere.
    for count in [0, 1, 2, 10, 64, 65, 129, 4_096, 4_097] {
        let plan = planned(&state, &counting(&shape, count));
        let there = EDGES.into_iter().filter(|index| *index < count).count();
        assert_eq!(plan.to_start.len(), count as usize - there, "of {count}");
        assert_eq!(plan.to_destroy.len(), EDGES.len() - there, "of {count}");
    }
}

/// A full block of which all are as wanted is still asked for those beyond the count.
#[test]
fn a_full_block_goes_beyond_the_count() {
    let shape = shape(&[("web", 128)]);
    let state = settled(&shape, 128);
    for count in [0, 1, 63, 64, 65, 127, 128] {
        let plan = planned(&state, &counting(&shape, count));
        assert_eq!(plan.to_destroy.len(), 128 - count as usize, "of {count}");
    }
}

/// Who is reaped is gone, and the others stand where they stood, in whatever order that happens.
#[test]
fn who_is_reaped_leaves_the_others_as_they_are() {
    let shape = shape(&[("web", 4_161)]);
    let mut backwards = EDGES;
    backwards.reverse();
    let mut mixed = EDGES;
    mixed.sort_by_key(|index| index % 7);
    for order in [EDGES, backwards, mixed] {
        let mut state = state(EDGES.map(|index| node(&shape, index, StageName::Destroyed)));
        let mut left = EDGES.to_vec();
        for index in order {
            decided(&mut state, index, Transition::Reap);
            left.retain(|other| *other != index);
            let group = seen(&state);
            let found: Vec<u32> = group.records().map(|record| record.slot.index).collect();
            assert_eq!((&found, group.len()), (&left, left.len()), "{order:?} at {index}");
            assert_eq!(group.is_empty(), left.is_empty());
            counts_agree(group);
        }
    }
}

/// As many as are wanted are not yet those that are wanted: they stand at the first indices.
#[test]
fn what_is_left_of_a_fleet_is_asked_where_it_stands() {
    let block: Vec<u32> = (1..=64).collect();
    let rows: [(&[u32], u32, u32); 9] = [
        (&block, 65, 64),
        (&[3], 5, 1),
        (&[0], 5, 1),
        (&[64], 128, 1),
        (&[64], 65, 65),
        (&[0, 2], 5, 2),
        (&[0, 1], 5, 2),
        (&[0, 1], 5, 3),
        (&[1, 2], 0, 2),
    ];
    for (kept, gone, count) in rows {
        let shape = shape(&[("web", count)]);
        let records = kept.iter().map(|index| node(&shape, *index, StageName::Dormant));
        let mut state = state(records.chain([node(&shape, gone, StageName::Destroyed)]));
        decided(&mut state, gone, Transition::Reap);
        let steady = kept.iter().copied().eq(0..count);
        assert_eq!(planned(&state, &shape).is_empty(), steady, "{kept:?} of {count}");
    }
}

/// The same where what is left was written again: here because its time lay ahead of a clock that went back.
#[test]
fn what_is_left_and_written_again_is_asked_where_it_stands() {
    let shape = shape(&[("web", 3)]);
    let young = with(node(&shape, 2, StageName::Dormant), |record| record.since = at(50));
    let others = [0, 5].map(|index| node(&shape, index, StageName::Dormant));
    let gone = node(&shape, 7, StageName::Destroyed);
    let records = others.into_iter().chain([young, gone]);
    let mut state = ClusterState::restore(records, [], at(100));
    let reap = Fact::Decided { slot: slot(&name(7)), transition: Transition::Reap };
    assert_eq!(state.fold(reap, at(100)), Verdict::Applied);
    state.mark_due(at(10));
    let plan = planned(&state, &shape);
    assert_eq!((plan.to_start.len(), plan.to_destroy.len()), (1, 1), "web-1 for web-5");
}

/// A single node that asks for something is asked, wherever it stands among those that ask for nothing.
#[test]
fn one_that_asks_for_something_is_asked() {
    let shape = shape(&[("web", 129)]);
    for index in [0, 63, 64, 128] {
        let mut going = settled(&shape, 129);
        assert!(planned(&going, &shape).reasons.is_empty());
        decided(&mut going, index, Transition::BeginDelete(DeleteReason::Replaced));
        let mut failed = settled(&shape, 129);
        let attempt = failed.record(&slot(&name(index))).expect("a record").attempt;
        let (workload, status, tail) =
            (Handle::default(), ExitStatus::Code(1), Redacted::default());
        let fact = Fact::Exited { slot: slot(&name(index)), attempt, workload, status, tail };
        assert_eq!(failed.fold(fact, at(1)), Verdict::Applied);
        for state in [going, failed] {
            let told: Vec<_> = planned(&state, &shape).reasons;
            assert_eq!(told.iter().map(|(slot, _)| slot.index).collect::<Vec<_>>(), [index]);
        }
    }
}

/// One that comes to rest asks for nothing any more, whether it is the first of its block or the last.
#[test]
fn one_that_comes_to_rest_asks_for_nothing_more() {
    let shape = shape(&[("web", 65)]);
    let mut state = state((0..65).map(|index| node(&shape, index, StageName::HandedOff)));
    for index in (0..65).rev() {
        decided(&mut state, index, Transition::Rest);
        assert_eq!(planned(&state, &shape).reasons.len(), index as usize);
    }
}

/// While a fleet comes to be treated otherwise, node by node and from either end, each is told as it is treated.
#[test]
fn a_fleet_is_treated_otherwise_node_by_node() {
    let before = shape(&[("web", 65)]);
    let other = Policy { settle: Millis::new(7), ..Policy::default() };
    let after = shape_with(1, &[("web", 65, "v1")], &other);
    let group = after.group(&group("web")).expect("the group");
    let orders: [Vec<u32>; 2] = [(0..65).collect(), (0..65).rev().collect()];
    for order in orders {
        let mut state = settled(&before, 65);
        for (done, index) in (1..).zip(order) {
            let ordinal = AttemptOrdinal::new(1);
            let spec = after.stamp(group, slot(&name(index)), after.generation, ordinal);
            decided(&mut state, index, Transition::Retune(Box::new(spec)));
            assert_eq!(planned(&state, &before).transitions.len(), done, "at {index}");
            assert_eq!(planned(&state, &after).transitions.len(), 65 - done, "at {index}");
        }
    }
}
