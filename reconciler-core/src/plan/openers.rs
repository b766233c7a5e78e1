//! The edges that gates make in a plan: which steps of other groups come before a step.
//!
//! A step that a gate held back follows the steps that opened it; one that had to wait for those that depend on it
//! follows their last ones. Both are kept per group, so that a plan stays linear in its steps.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use super::{after::After, key::StepKey, step::PlanStep};
use crate::{
    desired::{ClusterShape, GateCondition, HookPoint, RunNodeGroupSpec},
    effect::{ActionKind, CommandKind},
    id::{GroupId, LogicalNodeId},
    limits,
};

/// What a step does for those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Opens {
    /// A workload runs.
    Started,
    /// A node is ready.
    Ready,
    /// A workload is gone.
    Gone,
}

/// The steps of a plan so far that may open a gate, by group.
#[derive(Debug)]
pub(super) struct Openers {
    /// True if any group waits for another: without gates nothing needs to be remembered.
    gated: bool,
    steps: BTreeMap<(GroupId, Opens), Vec<StepKey>>,
}

impl Openers {
    /// No step was taken on the way to `target` yet.
    pub(super) fn new(target: &ClusterShape) -> Self {
        let gated = target.groups().any(|group| !group.policy.after.is_empty());
        Self { gated, steps: BTreeMap::new() }
    }

    /// Notes a step that was taken.
    pub(super) fn note(&mut self, step: &PlanStep) {
        if !self.gated {
            return;
        }
        let ActionKind::Command(command) = step.action else { return };
        let opens = match command {
            CommandKind::StartBootstrap => Opens::Started,
            CommandKind::BootstrapConvergenceObserved => Opens::Ready,
            CommandKind::CancelBootstrap => Opens::Gone,
            CommandKind::CreateLease | CommandKind::LookupEndpoint | CommandKind::DestroyLease => {
                return;
            }
        };
        self.steps.entry((step.slot.group.clone(), opens)).or_default().push(step.key());
    }

    /// The steps of other groups that the next step of `slot` waited for, sorted.
    ///
    /// Of a larger group the last ones are named: in the order of a plan the others come before them.
    pub(super) fn edges(
        &self,
        slot: &LogicalNodeId,
        kind: ActionKind,
        target: &ClusterShape,
    ) -> After {
        if !self.gated {
            return After::default();
        }
        let mut after = Vec::new();
        let mut add = |group: &GroupId, opens| {
            let steps = self.steps.get(&(group.clone(), opens)).into_iter().flatten().rev();
            after.extend(steps.take(limits::GATE_EDGES_MAX).cloned());
        };
        match kind {
            ActionKind::Command(CommandKind::CreateLease | CommandKind::StartBootstrap)
            | ActionKind::Hook(HookPoint::PreStart) => {
                let gates = target.group(&slot.group).map(|spec| &spec.policy.after);
                for (on, condition) in gates.into_iter().flatten() {
                    add(
                        on,
                        match condition {
                            GateCondition::Started => Opens::Started,
                            GateCondition::Ready | GateCondition::Completed => Opens::Ready,
                        },
                    );
                }
            }
            ActionKind::Command(CommandKind::CancelBootstrap)
            | ActionKind::Hook(HookPoint::PreStop)
                if target.wanted(slot).is_none() =>
            {
                let waits =
                    |spec: &&Arc<RunNodeGroupSpec>| spec.policy.after.contains_key(&slot.group);
                for spec in target.groups().filter(waits) {
                    add(&spec.group, Opens::Gone);
                }
            }
            ActionKind::Command(
                CommandKind::LookupEndpoint
                | CommandKind::BootstrapConvergenceObserved
                | CommandKind::CancelBootstrap
                | CommandKind::DestroyLease,
            )
            | ActionKind::Hook(HookPoint::PostStart | HookPoint::PreStop | HookPoint::PostStop) => {
            }
        }
        after.sort();
        after.into_iter().collect()
    }
}
