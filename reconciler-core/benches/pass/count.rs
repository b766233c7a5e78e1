//! Workloads for a tool that counts instructions: their number does not depend on what else the machine does.
//!
//! `pass count WORKLOAD N` makes ready and then runs one workload once, inside `counted`; what happens outside is
//! not to be counted. Which are run, and what they may take, stands in `xtask/src/counts.rs`.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;

use reconciler_core::{
    desired::ClusterShape,
    id::LogicalNodeId,
    observed::ClusterState,
    reconcile::{reconcile, reconcile_some},
};

use crate::fleet::{self, NOW};
use crate::{life, planned};

/// Runs what is to be counted; the counting tool knows it by this name.
#[inline(never)]
fn counted<T>(run: impl FnOnce() -> T) {
    drop(black_box(run()));
}

/// A workload over so many nodes.
type Workload = fn(u32);

/// The workloads by name.
fn workloads() -> BTreeMap<&'static str, Workload> {
    BTreeMap::from([
        ("steady", steady as Workload),
        ("burst", burst),
        ("mixed", mixed),
        ("change", change),
        ("life", whole_life),
        ("plan", plan),
        ("update", update),
    ])
}

/// Runs the workload that the arguments name.
///
/// # Errors
/// Refuses a workload that is not there, and what is no number of nodes.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> io::Result<()> {
    let known = workloads();
    let workload = words.next().and_then(|name| known.get(name.as_str()));
    let nodes = words.next().and_then(|nodes| nodes.parse().ok());
    let (Some(workload), Some(nodes)) = (workload, nodes) else {
        let names: Vec<_> = known.keys().copied().collect();
        let how = format!("it is `count WORKLOAD NODES`; workloads: {}", names.join(", "));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, how));
    };
    workload(nodes);
    Ok(())
}

/// SR1, SR6: a full pass in which nothing is to be done.
fn steady(n: u32) {
    full(&fleet::shape(n, 1_000), fleet::settled);
}

/// SR5: a full pass in which every node has a step, or waits for one.
fn mixed(n: u32) {
    full(&fleet::shape(n, 1_000), fleet::mixed);
}

fn full(shape: &ClusterShape, make: fleet::Make) {
    let state = fleet::state(shape, make);
    counted(|| reconcile(&state, shape, NOW));
}

/// SR4: a full pass where nothing is observed.
fn burst(n: u32) {
    let (shape, state) = (fleet::shape(n, 1_000), ClusterState::default());
    counted(|| reconcile(&state, &shape, NOW));
}

/// SC1, SC3: one node among these changes: folded, decided, published.
fn change(n: u32) {
    let shape = fleet::shape(n, 1_000);
    let mut state = fleet::state(&shape, fleet::settled);
    let published = state.snapshot();
    let slot: LogicalNodeId = "group0000-17".parse().expect("a slot");
    let fact = fleet::exited(&state, slot);
    counted(|| {
        let verdict = state.fold(fact, NOW);
        state.mark_due(NOW);
        let dirty = state.take_dirty();
        (verdict, reconcile_some(&state, &shape, NOW, &dirty), state.snapshot())
    });
    drop(published);
}

/// SR4: all passes from nothing to a stable fleet.
fn whole_life(n: u32) {
    let shape = fleet::shape(n, 1_000);
    counted(|| life::run(&shape));
}

/// The plan of new nodes.
fn plan(n: u32) {
    let (shape, none) = (fleet::shape(n, 1_000), ClusterState::default());
    counted(|| planned::plan(&none, &shape, &shape));
}

/// The plan of an update of one group, whose nodes give way one at a time.
fn update(n: u32) {
    let (base, target) = (fleet::shape(n, n), fleet::shape_of(n, n, "v2"));
    let state = fleet::state(&base, fleet::settled);
    counted(|| planned::plan(&state, &base, &target));
}
