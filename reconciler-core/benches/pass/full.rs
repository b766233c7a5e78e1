//! The full pass: a steady fleet, a burst from nothing, and the worst mix (SR1 to SR6).

use std::hint::black_box;

use reconciler_core::{desired::ClusterShape, observed::ClusterState, reconcile::reconcile};
use stats_alloc::Region;

use crate::COUNTING;
use crate::fleet::{self, NOW};
use crate::floor;
use crate::report::{Report, median, size, timed};

/// How often a pass is measured; it skips whole blocks, so that even of a large fleet many are soon done.
const PASSES: usize = 21;

/// How often a floor is measured, which reads every entry.
fn rounds(n: u32) -> usize {
    if n >= 1_000_000 { 5 } else { 21 }
}

/// Nanoseconds per node of one full pass; so many in a row that looking at the clock does not count.
fn pass(state: &ClusterState, shape: &ClusterShape, n: u32) -> f64 {
    let times = (1_000_000 / n).max(1);
    let passes = || (0..times).for_each(|_| drop(black_box(reconcile(state, shape, NOW))));
    median(PASSES, || timed(passes)) / f64::from(n) / f64::from(times)
}

/// SR1, SR2, SR3, SR6: a pass over a fleet in which nothing is to be done.
pub(crate) fn steady(report: &mut Report, sizes: &[u32]) {
    let mut before: Option<(u32, f64)> = None;
    for &n in sizes {
        let shape = fleet::shape(n, 1_000);
        let state = fleet::state(&shape, fleet::settled);
        let each = pass(&state, &shape, n);
        let must = match n {
            10_000 => Some(15.0),
            1_000_000 => Some(8.0),
            _ => None,
        };
        let name = format!("SR pass/steady/{} per node", size(n));
        report.against(&name, each, floor::merge(n, rounds(n)), must);
        if let Some((smaller, cost)) = before {
            let growth = each * f64::from(n) / (cost * f64::from(smaller));
            let must = [(100_000, 20.0), (1_000_000, 15.0)];
            let must = must.iter().find(|(at, _)| *at == n).map(|(_, must)| *must);
            report.plain(
                &format!("SR3 growth {} to {}", size(smaller), size(n)),
                growth,
                "x",
                must,
            );
        }
        before = Some((n, each));
        let region = Region::new(COUNTING);
        let plan = reconcile(&state, &shape, NOW);
        let n_allocations = region.change().allocations;
        drop(plan);
        let name = format!("SR6 allocations in pass/steady/{}", size(n));
        let count = u32::try_from(n_allocations).unwrap_or(u32::MAX);
        report.plain(&name, f64::from(count), "", Some(f64::from(n.div_ceil(1_000)) + 8.0));
    }
}

/// What a steady pass may cost by SR1, in floors.
const STEADY_MUST: f64 = 15.0;

/// SR4: nothing is observed, everything is wanted. Its bar is three times what a steady pass may take, not what it
/// takes: that is next to nothing, and no measure for a pass that has something to decide. So it is with SR5.
pub(crate) fn burst(report: &mut Report) {
    let n = 10_000;
    let shape = fleet::shape(n, 1_000);
    let burst = pass(&ClusterState::default(), &shape, n);
    let must = Some(3.0 * STEADY_MUST);
    report.against("SR4 pass/burst/10k per node", burst, floor::merge(n, rounds(n)), must);
}

/// SR5: every node has a step, or waits for one.
pub(crate) fn mixed(report: &mut Report) {
    let n = 10_000;
    let shape = fleet::shape(n, 1_000);
    let mixed = pass(&fleet::state(&shape, fleet::mixed), &shape, n);
    let must = Some(5.0 * STEADY_MUST);
    report.against("SR5 pass/mixed/10k per node", mixed, floor::merge(n, rounds(n)), must);
}

/// SM1, SM2: what a node costs in memory, and what a full pass needs beside it.
pub(crate) fn memory(report: &mut Report) {
    let n = 100_000;
    let region = Region::new(COUNTING);
    let map = floor::named(n);
    let floor = held(&region, n);
    drop(map);
    let region = Region::new(COUNTING);
    let shape = fleet::shape(n, 1_000);
    let state = fleet::state(&shape, fleet::settled);
    let each = held(&region, n);
    report.plain("SM1 bytes per node of an ordered map, 100k", floor, "B", None);
    report.plain("SM1 bytes per node, 100k", each, "B", None);
    report.plain("SM1 bytes per node over the map's", each / floor, "x", Some(7.0));
    let region = Region::new(COUNTING);
    let plan = reconcile(&state, &shape, NOW);
    let taken = region.change().bytes_allocated;
    drop(plan);
    let percent = bytes(taken) / (each * f64::from(n)) * 100.0;
    report.plain("SM2 memory of a full pass over what is held", percent, "%", Some(5.0));
}

/// Bytes per node that are held since the region began.
fn held(region: &Region<'_, std::alloc::System>, n: u32) -> f64 {
    let change = region.change();
    bytes(change.bytes_allocated.saturating_sub(change.bytes_deallocated)) / f64::from(n)
}

fn bytes(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from)
}
