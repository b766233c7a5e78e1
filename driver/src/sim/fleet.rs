//! The fleet of a story as the product declares it: groups, policies, shapes and the run's identity.

use std::sync::Arc;

use reconciler_core::{
    desired::{
        Amount, BootSpec, ClusterShape, DesiredNodeShape, JoinMode, NodeSpec, Policy, Probe,
        ProbeCheck, Probes, RestartPolicy, RunNodeGroupSpec, ShapeError, UpdatePolicy,
    },
    id::{Generation, RunName, Uuid},
    time::Millis,
};

use super::story::Group;

/// The run of every story.
pub(crate) const RUN: Uuid = Uuid::from_bytes([0x51; 16]);
/// The wall clock at the beginning of every story, in milliseconds; far enough from zero for jumps back.
pub(crate) const DAWN_MS: u64 = 1_000_000_000;

/// Effects under way at once, at most: fewer than most fleets have nodes, so that some wait for a place.
pub(crate) const PARALLELISM: u32 = 4;

/// The names of the providers of every story.
pub(crate) const NAMES: [&str; 2] = ["strict", "lax"];

/// The name of that run.
pub(crate) fn run_name() -> RunName {
    "sim".parse().expect("a run may be called so")
}

fn policy(group: &Group) -> Policy {
    let after = group.after.iter();
    let after = after.filter_map(|(on, condition)| Some((on.parse().ok()?, *condition)));
    Policy {
        restart: RestartPolicy { attempts: 4, ..RestartPolicy::default() },
        stable: Millis::from_secs(5),
        kind: group.kind,
        after: after.collect(),
        update: UpdatePolicy { max_surge: Amount::Nodes(group.surge), ..UpdatePolicy::default() },
        probes: if group.probed { probes() } else { Probes::default() },
        ..Policy::default()
    }
}

/// Probes that a story of minutes has time for.
fn probes() -> Probes {
    let check = ProbeCheck::Exec { argv: vec!["ask".to_owned()] };
    let every = |seconds, failures| {
        let interval = Millis::from_secs(seconds);
        Some(Arc::new(Probe { interval, failures, ..Probe::new(check.clone()) }))
    };
    Probes {
        startup: every(2, 5),
        liveness: every(5, 3),
        readiness: every(3, 2),
        ..Probes::default()
    }
}

/// What the nodes of a group are at one revision.
pub(crate) fn spec(group: &Group, revision: u32) -> NodeSpec {
    let command = vec!["serve".to_owned(), format!("--revision={revision}")];
    NodeSpec {
        role: "worker".to_owned(),
        provider: group.provider.parse().unwrap_or_else(|_| "strict".parse().expect("a name")),
        shape: DesiredNodeShape::default(),
        boot: BootSpec { command, ..BootSpec::default() },
        join: JoinMode::None,
    }
}

/// The shape that declares `groups`.
pub(crate) fn shape(groups: &[Group]) -> Result<ClusterShape, ShapeError> {
    let specs = groups.iter().filter_map(|group| {
        let name = group.name.parse().ok()?;
        Some(RunNodeGroupSpec::new(name, group.count, spec(group, 0), policy(group)))
    });
    ClusterShape::new(run_name(), RUN, Generation::new(1), specs)
}

/// `shape` with one group changed by `change`.
pub(crate) fn changed(
    shape: &ClusterShape,
    group: &str,
    change: impl Fn(&RunNodeGroupSpec) -> RunNodeGroupSpec,
) -> Result<ClusterShape, ShapeError> {
    let specs = shape.groups().map(|spec| {
        if spec.group.as_str() == group { change(spec) } else { RunNodeGroupSpec::clone(spec) }
    });
    let specs: Vec<_> = specs.collect();
    ClusterShape::new(shape.run.clone(), shape.uuid, shape.generation, specs)
}
