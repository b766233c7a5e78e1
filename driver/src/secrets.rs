//! The secrets that a plan needs, asked for before anything is done under it (R88), and those that were given before
//! this driver began.

use std::collections::{BTreeMap, BTreeSet};

use checkpoint::scan::Recovered;
use executor::secret::{Missing, Secrets};
use reconciler_core::{
    desired::{BootSpec, ClusterShape},
    effect::{ActionKind, CommandKind},
    id::{GroupId, LogicalNodeId},
    observed::{ClusterState, NodeRecord},
    plan::{LifecyclePlan, PlanStep},
};

use crate::{
    refusing::refuse,
    view::{Refusal, RefusalKind},
};

/// What helps where a secret cannot be had.
const HINT: &str = "put it where its reference says, for the driver or, without one, for this command; then plan again";

/// Takes notice of every secret that nodes may have been given so far, before anything of them is read (P8).
pub(crate) fn expect(recovered: &Recovered, secrets: &Secrets) {
    let shape = recovered.shape.iter().flat_map(|row| row.shape.groups());
    let wanted = shape.map(|group| (&group.group, &group.spec));
    let records = recovered.records.iter().flat_map(NodeRecord::attempts);
    let implemented = records.map(|record| (&record.slot.group, &record.spec));
    let mut seen = BTreeSet::new();
    for (group, spec) in wanted.chain(implemented) {
        let boot = &spec.boot;
        if !boot.secret_env.is_empty() && seen.insert((group, &boot.secret_env)) {
            secrets.were_given(group, boot);
        }
    }
}

/// Refuses a plan that makes or starts what needs a secret which cannot be had now; names each, and where it lacks.
pub(crate) fn refuse_without(
    plan: &LifecyclePlan,
    cluster: &ClusterState,
    target: &ClusterShape,
    secrets: &Secrets,
) -> Result<(), Refusal> {
    let mut asked: BTreeMap<_, (&BootSpec, BTreeSet<&LogicalNodeId>)> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| begins(step)) {
        if let Some(boot) = boot(step, cluster, target).filter(|b| !b.secret_env.is_empty()) {
            let entry = asked.entry((&step.slot.group, step.revision));
            entry.or_insert_with(|| (boot, BTreeSet::new())).1.insert(&step.slot);
        }
    }
    let mut lines = Vec::new();
    for ((group, _revision), (boot, slots)) in asked {
        if let Err(missing) = secrets.resolve(boot) {
            lines.extend(missing.iter().map(|one| line(group, &slots, one)));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let message = match lines.len() {
        1 => "a secret cannot be had".to_owned(),
        n => format!("{n} secrets cannot be had"),
    };
    let hint = Some(HINT.to_owned());
    Err(Refusal { moved: lines, hint, ..refuse(RefusalKind::Forbidden, message) })
}

/// True for a step whose node is to run afterwards. What ends a node goes on without its secrets.
fn begins(step: &PlanStep) -> bool {
    matches!(
        step.action,
        ActionKind::Command(CommandKind::CreateLease | CommandKind::StartBootstrap)
    )
}

/// How the node of a step comes up: as declared, or as what is there where it begins anew.
fn boot<'a>(
    step: &PlanStep,
    cluster: &'a ClusterState,
    target: &'a ClusterShape,
) -> Option<&'a BootSpec> {
    let declared = target.group(&step.slot.group).filter(|group| group.revision == step.revision);
    let spec = declared.map(|group| &group.spec).or_else(|| {
        let record = cluster.record(&step.slot)?;
        (record.revision == step.revision).then_some(&record.spec)
    });
    spec.map(|spec| &spec.boot)
}

fn line(group: &GroupId, slots: &BTreeSet<&LogicalNodeId>, missing: &Missing) -> String {
    /// Slots that are named; the number says the rest.
    const NAMED: usize = 8;
    let named: Vec<_> = slots.iter().take(NAMED).map(ToString::to_string).collect();
    let rest = match slots.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("group {group}, {}{rest}: {missing}", named.join(", "))
}
