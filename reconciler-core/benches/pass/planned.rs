//! What a plan costs: against the full decision over the same nodes, and as it grows.

use std::collections::BTreeMap;

use reconciler_core::{
    desired::ClusterShape,
    id::{Fence, PlanSerial},
    observed::ClusterState,
    plan::{LifecyclePlan, PlanInput, Scope, project},
    reconcile::reconcile,
};
use stats_alloc::Region;

use crate::COUNTING;
use crate::fleet::{self, NOW};
use crate::report::{Report, median, size, timed};

/// The plan from what is observed to a shape.
pub(crate) fn plan(
    observed: &ClusterState,
    base: &ClusterShape,
    target: &ClusterShape,
) -> LifecyclePlan {
    let input = PlanInput {
        base,
        target,
        capabilities: &BTreeMap::new(),
        fence: Fence::new(3),
        serial: PlanSerial::new(0),
        parallelism: 16,
    };
    project(observed, &input, Scope::All, NOW).expect("a plan that settles")
}

/// Nanoseconds per node of deciding all of them and deriving the identities of those that start.
fn decided(observed: &ClusterState, shape: &ClusterShape, n: u32) -> f64 {
    let whole = || reconcile(observed, shape, NOW).take_transitions().count();
    median(11, || timed(whole)) / f64::from(n)
}

/// The plan of new nodes beside the full decision over them; how it grows, and what it allocates.
pub(crate) fn of_new_nodes(report: &mut Report) {
    let none = ClusterState::default();
    let mut before = None;
    for n in [1_000, 10_000, 100_000] {
        let shape = fleet::shape(n, 1_000);
        let floor = decided(&none, &shape, n);
        let each = median(5, || timed(|| plan(&none, &shape, &shape))) / f64::from(n);
        let must = (n == 10_000).then_some(20.0);
        let name = format!("plan of {} new nodes over deciding them", size(n));
        report.against(&name, each, floor, must);
        if let Some(smaller) = before.replace(each) {
            let name = format!("plan growth per node at {}", size(n));
            report.plain(&name, each / smaller, "x", Some(1.5));
        }
        let region = Region::new(COUNTING);
        drop(plan(&none, &shape, &shape));
        let n_allocations = u32::try_from(region.change().allocations).unwrap_or(u32::MAX);
        let name = format!("allocations of a plan per new node, {}", size(n));
        report.plain(&name, f64::from(n_allocations) / f64::from(n), "", None);
    }
}

/// The plan of a rolling update: linear in the nodes.
pub(crate) fn of_an_update(report: &mut Report) {
    let mut before = None;
    for n in [100, 1_000, 10_000] {
        let base = fleet::shape(n, 1_000);
        let target = fleet::shape_of(n, 1_000, "v2");
        let state = fleet::state(&base, fleet::settled);
        let each = median(5, || timed(|| plan(&state, &base, &target))) / f64::from(n);
        report.plain(&format!("plan of an update of {n}, per node"), each, "ns", None);
        if let Some(smaller) = before.replace(each) {
            report.plain(
                &format!("update plan growth per node at {n}"),
                each / smaller,
                "x",
                Some(1.5),
            );
        }
    }
}
