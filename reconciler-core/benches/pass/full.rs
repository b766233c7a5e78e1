//! The full pass: a steady fleet, a burst from nothing, and the worst mix (SR1 to SR6).

use reconciler_core::{desired::ClusterShape, observed::ClusterState, reconcile::reconcile};
use stats_alloc::Region;

use crate::COUNTING;
use crate::fleet::{self, NOW};
use crate::floor;
use crate::report::{Report, median, size, timed};

fn rounds(n: u32) -> usize {
    if n >= 1_000_000 { 5 } else { 21 }
}

/// Nanoseconds per node of one full pass.
fn pass(state: &ClusterState, shape: &ClusterShape, n: u32) -> f64 {
    median(rounds(n), || timed(|| reconcile(state, shape, NOW))) / f64::from(n)
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

/// SR4: nothing is observed, everything is wanted.
pub(crate) fn burst(report: &mut Report) {
    let n = 10_000;
    let shape = fleet::shape(n, 1_000);
    let state = fleet::state(&shape, fleet::settled);
    let steady = pass(&state, &shape, n);
    let burst = pass(&ClusterState::default(), &shape, n);
    report.against("SR4 pass/burst/10k over steady, per node", burst, steady, Some(3.0));
}

/// SR5: every node has a step, or waits for one.
pub(crate) fn mixed(report: &mut Report) {
    let n = 10_000;
    let shape = fleet::shape(n, 1_000);
    let steady = pass(&fleet::state(&shape, fleet::settled), &shape, n);
    let mixed = pass(&fleet::state(&shape, fleet::mixed), &shape, n);
    report.against("SR5 pass/mixed/10k over steady, per node", mixed, steady, Some(5.0));
}
