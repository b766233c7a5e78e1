//! Open operations: which confirmed plan covers a group's steps (D3).
//!
//! An operation covers goals, not literal steps: every step towards the confirmed shape of its group. A step of a
//! group without an open operation is a repair; the driver plans it, confirms its own hash, and opens one.

use std::collections::BTreeMap;

use reconciler_core::id::{GroupId, OperationId};

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

    /// Opens one, and gives back the one that it takes the place of.
    pub(crate) fn open(&mut self, group: &GroupId, id: OperationId) -> Option<OperationId> {
        self.open.insert(group.clone(), id)
    }

    /// Forgets a group's operation, which is over.
    pub(crate) fn close(&mut self, group: &GroupId) {
        self.open.remove(group);
    }

    /// The operation that covers a group's steps.
    pub(crate) fn of(&self, group: &GroupId) -> Option<OperationId> {
        self.open.get(group).copied()
    }
}
