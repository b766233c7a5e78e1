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

/// The secrets of one kind of node, and who needs them.
#[derive(Debug)]
struct Need {
    group: GroupId,
    boot: BootSpec,
    slots: BTreeSet<LogicalNodeId>,
}

/// Every secret that a plan needs. What it takes to ask for them may block; finding out that there are some does not.
#[derive(Debug, Default)]
pub(crate) struct Needs(Vec<Need>);

impl Needs {
    /// What the steps of `plan` that make or start something need.
    pub(crate) fn of(plan: &LifecyclePlan, cluster: &ClusterState, target: &ClusterShape) -> Self {
        let mut all: BTreeMap<_, Need> = BTreeMap::new();
        for step in plan.steps.iter().filter(|step| begins(step)) {
            let Some(boot) = boot(step, cluster, target).filter(|b| !b.secret_env.is_empty())
            else {
                continue;
            };
            let group = &step.slot.group;
            let need = all.entry((group, step.revision)).or_insert_with(|| Need {
                group: group.clone(),
                boot: boot.clone(),
                slots: BTreeSet::new(),
            });
            need.slots.insert(step.slot.clone());
        }
        Self(all.into_values().collect())
    }

    /// True if there is nothing to ask for.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses what cannot be had now; names each, and where it lacks. Reads files: not for the loop's thread.
    pub(crate) fn check(&self, secrets: &Secrets) -> Result<(), Refusal> {
        let mut lines = Vec::new();
        for Need { group, boot, slots } in &self.0 {
            if let Err(missing) = secrets.resolve(boot) {
                lines.extend(missing.iter().map(|one| line(group, slots, one)));
            }
        }
        let message = match lines.len() {
            0 => return Ok(()),
            1 => "a secret cannot be had".to_owned(),
            n => format!("{n} secrets cannot be had"),
        };
        let hint = Some(HINT.to_owned());
        Err(Refusal { moved: lines, hint, ..refuse(RefusalKind::Forbidden, message) })
    }
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

fn line(group: &GroupId, slots: &BTreeSet<LogicalNodeId>, missing: &Missing) -> String {
    /// Slots that are named; the number says the rest.
    const NAMED: usize = 8;
    let named: Vec<_> = slots.iter().take(NAMED).map(ToString::to_string).collect();
    let rest = match slots.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("group {group}, {}{rest}: {missing}", named.join(", "))
}
