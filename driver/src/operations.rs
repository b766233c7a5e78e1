//! Open operations: which confirmed plan covers a group's steps (D3).
//!
//! An operation covers goals, not literal steps: every step towards the confirmed shape of its group. A step of a
//! group without an open operation is a repair; the driver plans it, confirms its own hash, and opens one.

use std::collections::{BTreeMap, BTreeSet};

use checkpoint::operation::{OperationWrite, Outcome};
use reconciler_core::{
    id::{GroupId, OperationId, PlanHash},
    reconcile::group_converged,
};

use crate::state::State;

/// The open operations by group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operations {
    open: BTreeMap<GroupId, OperationId>,
}

impl Operations {
    /// Takes back what the journal has open.
    pub(crate) fn restore(open: impl IntoIterator<Item = (GroupId, OperationId)>) -> Self {
        Self { open: open.into_iter().collect() }
    }

    /// The operation that covers a group's steps.
    pub(crate) fn of(&self, group: &GroupId) -> Option<OperationId> {
        self.open.get(group).copied()
    }
}

impl State {
    /// Opens an operation of `plan` for `group`; one that was open gives way to it.
    pub(crate) fn open_operation(
        &mut self,
        group: &GroupId,
        plan: PlanHash,
        goals: String,
        writes: &mut Vec<OperationWrite>,
    ) -> OperationId {
        let id = self.counters.operation;
        self.counters.operation = id.next();
        if let Some(older) = self.operations.open.insert(group.clone(), id) {
            let outcome = Outcome::Interrupted;
            writes.push(OperationWrite::Close { id: older, outcome, superseded_by: Some(id) });
        }
        writes.push(OperationWrite::Open { id, group: group.clone(), plan, goals });
        id
    }

    /// Closes the operations of those of `groups` that are as they should be.
    pub(crate) fn close_operations(
        &mut self,
        groups: &BTreeSet<GroupId>,
        writes: &mut Vec<OperationWrite>,
    ) {
        for group in groups {
            let Some(id) = self.operations.of(group) else { continue };
            let (seen, wanted) = (self.cluster.group(group), self.shape.group(group));
            if group_converged(seen.map(AsRef::as_ref), wanted.map(AsRef::as_ref)) {
                self.operations.open.remove(group);
                let outcome = Outcome::Succeeded;
                writes.push(OperationWrite::Close { id, outcome, superseded_by: None });
            }
        }
    }

    /// What an operation for `group` covers, for the journal.
    pub(crate) fn goals(&self, group: &GroupId) -> String {
        match self.shape.group(group) {
            Some(spec) => format!(
                "{} nodes of revision {} at generation {}",
                spec.count, spec.revision, self.shape.generation
            ),
            None => format!("no nodes at generation {}", self.shape.generation),
        }
    }
}
