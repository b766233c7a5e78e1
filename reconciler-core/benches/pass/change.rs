//! The cost of change: it follows what changed, not what exists (SC1 to SC6).

use std::hint::black_box;

use reconciler_core::{
    desired::ClusterShape, id::LogicalNodeId, observed::ClusterState, reconcile::reconcile_some,
    time::Millis,
};
use stats_alloc::Region;

use crate::COUNTING;
use crate::fleet::{self, NOW};
use crate::floor;
use crate::report::{Report, median, middle, size, timed};

/// Changes that do not count: the allocator tidies up after the fleet was made.
const WARM: usize = 100;

/// One change after another: fold, decide what changed, publish a snapshot. Nanoseconds of each.
fn one_by_one(state: &mut ClusterState, shape: &ClusterShape, slots: Vec<LogicalNodeId>) -> f64 {
    let mut published = state.snapshot();
    let mut all = Vec::with_capacity(slots.len());
    for slot in slots {
        let fact = fleet::exited(state, slot);
        all.push(timed(|| {
            let verdict = state.fold(fact, NOW);
            state.mark_due(NOW);
            let dirty = state.take_dirty();
            let plan = reconcile_some(state, shape, NOW, &dirty);
            published = state.snapshot();
            black_box((verdict, plan))
        }));
        drop((state.take_notes(), state.take_settled()));
    }
    drop(published);
    middle(all.split_off(all.len() / 10))
}

/// SC1: one changed node among N.
pub(crate) fn one_of_many(report: &mut Report, sizes: &[u32]) {
    for (width, kind) in [(1_000, "groups of 1k"), (100_000, "groups of 100k")] {
        let mut least = None;
        for &n in sizes {
            let shape = fleet::shape(n, width);
            let mut state = fleet::state(&shape, fleet::settled);
            let slots = fleet::scattered(&shape, 500);
            let cost = one_by_one(&mut state, &shape, slots);
            let name = format!("SC1 one change of {}, {kind}", size(n));
            report.against(&name, cost, floor::lookup(n), None);
            let first = *least.get_or_insert(cost);
            if n == 1_000_000 {
                let name = format!("SC1 growth 1k to 1M, {kind}");
                report.plain(&name, cost / first, "x", Some(6.0));
            }
        }
    }
}

/// Folds the end of each workload, decides what changed, and publishes. Nanoseconds in all.
fn at_once(state: &mut ClusterState, shape: &ClusterShape, slots: &[LogicalNodeId]) -> f64 {
    let published = state.snapshot();
    let facts: Vec<_> = slots.iter().map(|slot| fleet::exited(state, slot.clone())).collect();
    let cost = timed(|| {
        for fact in facts {
            let _verdict = state.fold(fact, NOW);
        }
        let dirty = state.take_dirty();
        (reconcile_some(state, shape, NOW, &dirty), state.snapshot())
    });
    drop((published, state.take_notes(), state.take_settled()));
    cost
}

/// SC2: k changes in one pass among a million, per changed node, and the line through them.
pub(crate) fn many_of_many(report: &mut Report) {
    let (n, ks) = (1_000_000, [1_u32, 10, 100, 1_000, 10_000]);
    let shape = fleet::shape(n, 1_000);
    let floor = floor::lookup(n);
    let mut state = fleet::state(&shape, fleet::settled);
    let total: u32 = ks.iter().sum();
    let all = fleet::scattered(&shape, WARM + total as usize);
    let (warm, mut rest) = all.split_at(WARM);
    let _uncounted = one_by_one(&mut state, &shape, warm.to_vec());
    let mut line = Vec::new();
    for k in ks {
        let (slots, others) = rest.split_at(k as usize);
        rest = others;
        let cost = at_once(&mut state, &shape, slots);
        line.push((f64::from(k), cost));
        let name = format!("SC2 {k} changes of {}, per change", size(n));
        report.against(&name, cost / f64::from(k), floor, (k >= 10).then_some(10.0));
    }
    if let [.., (near, low), (far, high)] = line[..] {
        report.against(
            "SC2 slope, 1k to 10k changes of 1M",
            (high - low) / (far - near),
            floor,
            Some(10.0),
        );
    }
}

/// What half of kube-rs' loop costs, in lookups of an ordered map of a million: 3.5 of 0.33 microseconds where
/// both were measured side by side.
const HALF_OF_KUBE: f64 = 10.6;

/// SC3: every node of 10 k changes once, a thousand in a pass.
pub(crate) fn all_once(report: &mut Report) {
    let n = 10_000;
    let shape = fleet::shape(n, 1_000);
    let mut state = fleet::state(&shape, fleet::settled);
    let all = fleet::scattered(&shape, n as usize);
    let costs = all.chunks(1_000).map(|slots| at_once(&mut state, &shape, slots) / 1_000.0);
    let cost = middle(costs.collect());
    let floor = floor::lookup(1_000_000);
    report.against("SC3 fold, step and plan per change, 10k", cost, floor, Some(HALF_OF_KUBE));
}

/// SC5: an edit that touches one group of a hundred costs that group.
pub(crate) fn one_group(report: &mut Report) {
    let width = 10_000;
    let cost = |n: u32| {
        let shape = fleet::shape(n, width);
        let mut state = fleet::state(&shape, fleet::settled);
        let Some(spec) = shape.groups().last().cloned() else { return 0.0 };
        let counts = [(spec.group.clone(), width - 1)].into();
        let edited = shape.with_counts(&counts).expect("a smaller shape");
        median(5, || {
            timed(|| {
                state.mark_group(&spec.group, width);
                let dirty = state.take_dirty();
                reconcile_some(&state, &edited, NOW, &dirty)
            })
        })
    };
    let (alone, among) = (cost(width), cost(1_000_000));
    // A millisecond more than one and a half times the group alone.
    let must = 1.5 + 1e6 / alone;
    report.against("SC5 an edit of one group of 100, 1M", among, alone, Some(must));
}

/// SC4: nothing is due: a look at the head of a queue, whatever the size.
pub(crate) fn nothing(report: &mut Report) {
    let shape = fleet::shape(1_000_000, 1_000);
    let mut state = fleet::state(&shape, fleet::settled);
    let region = Region::new(COUNTING);
    let cost = median(5, || {
        timed(|| {
            for _ in 0..1_000 {
                state.mark_due(NOW);
                black_box(state.next_due());
            }
        }) / 1_000.0
    });
    report.plain("SC4 a wake with nothing due, 1M", cost, "ns", None);
    let count = u32::try_from(region.change().allocations).unwrap_or(u32::MAX);
    report.plain("SC4 allocations in 6000 such wakes", f64::from(count), "", Some(16.0));
}

/// SC6: 10 k backoffs fall due within one second.
pub(crate) fn falling_due(report: &mut Report) {
    let shape = fleet::shape(10_000, 1_000);
    let floor = floor::lookup(10_000);
    let cost = median(5, || {
        let mut state = fleet::state(&shape, fleet::waiting);
        timed(|| {
            state.mark_due(NOW.after(Millis::from_secs(2)));
            let dirty = state.take_dirty();
            let plan = reconcile_some(&state, &shape, NOW.after(Millis::from_secs(2)), &dirty);
            assert_eq!(plan.transitions.len(), 10_000, "each is stepped once");
            plan
        })
    });
    // Two microseconds where a lookup of a million took a third of one; here one of ten thousand is the measure.
    report.against("SC6 10k backoffs due, per node", cost / 10_000.0, floor, Some(20.0));
}
