//! What of a node's spec differs, part by part. Values of variables and commands are never shown: they may be
//! secret, and their names say enough.

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::kind::{Drift, DriftKind, DriftSubject};
use crate::{
    desired::{DesiredNodeShape, NodeSpec},
    id::LogicalNodeId,
};

/// The drifts between what an attempt implements and what is wanted.
pub(super) fn differences(
    slot: &LogicalNodeId,
    wanted: &NodeSpec,
    present: &NodeSpec,
    out: &mut Vec<Drift>,
) {
    let subject = DriftSubject::Slot(slot.clone());
    let mut add = |kind, both: (String, String), reason| {
        out.push(Drift::new(subject.clone(), kind, both, reason));
    };
    if wanted.shape.image != present.shape.image {
        let both = (text(wanted.shape.image.as_deref()), text(present.shape.image.as_deref()));
        add(DriftKind::Image, both, "it was made from another image");
    }
    let ports = (names(&wanted.boot.ports), names(&present.boot.ports));
    if ports.0 != ports.1 {
        let both = set_difference(&ports.0, &ports.1);
        add(DriftKind::Ports, both, "it was made with other ports");
    }
    let others = other_parts(wanted, present);
    if !others.is_empty() {
        let both = ("the declared spec".to_string(), format!("other {}", others.join(", ")));
        add(DriftKind::Revision, both, "it was made from another revision of its group");
    }
}

/// Ports that were declared and are not where the node is reached.
pub(super) fn unreached_ports(
    slot: &LogicalNodeId,
    wanted: &NodeSpec,
    reached: &[&str],
) -> Option<Drift> {
    let wanted = names(&wanted.boot.ports);
    let reached: BTreeSet<&str> = reached.iter().copied().collect();
    if wanted.is_subset(&reached) {
        return None;
    }
    let both = set_difference(&wanted, &reached);
    let subject = DriftSubject::Slot(slot.clone());
    Some(Drift::new(subject, DriftKind::Ports, both, "its provider gave other ports"))
}

fn names(ports: &[String]) -> BTreeSet<&str> {
    ports.iter().map(String::as_str).collect()
}

/// What only one side has, for each side.
fn set_difference(wanted: &BTreeSet<&str>, present: &BTreeSet<&str>) -> (String, String) {
    let only = |a: &BTreeSet<&str>, b: &BTreeSet<&str>| {
        let only: Vec<&str> = a.difference(b).copied().collect();
        if only.is_empty() { "nothing more".to_string() } else { only.join(",") }
    };
    (only(wanted, present), only(present, wanted))
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or("none").to_string()
}

/// Names of the parts that differ, beside image and ports.
fn other_parts(wanted: &NodeSpec, present: &NodeSpec) -> Vec<&'static str> {
    // Taken apart in full, so that a new part cannot be forgotten here.
    let NodeSpec { role, provider, shape, boot, join } = wanted;
    let DesiredNodeShape { image: _, cpu_millis, memory_mib, disk_gib, gpus, labels } = shape;
    let crate::desired::BootSpec { command, env, secret_env, workdir, ports: _, verify } = boot;
    let parts = [
        ("role", *role != present.role),
        ("provider", *provider != present.provider),
        ("cpus", *cpu_millis != present.shape.cpu_millis),
        ("memory", *memory_mib != present.shape.memory_mib),
        ("disk", *disk_gib != present.shape.disk_gib),
        ("gpus", *gpus != present.shape.gpus),
        ("labels", *labels != present.shape.labels),
        ("command", *command != present.boot.command),
        ("env", *env != present.boot.env),
        ("secret-env", *secret_env != present.boot.secret_env),
        ("workdir", *workdir != present.boot.workdir),
        ("verify", *verify != present.boot.verify),
        ("join", *join != present.join),
    ];
    parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
