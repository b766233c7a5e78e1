//! Which step of each slot of an open operation is the current one, as its writer last wrote it.
//!
//! An operation may have had many steps of a slot; looked for among them, each new one would cost what all of them do.

use std::collections::BTreeMap;

use reconciler_core::id::{LogicalNodeId, OperationId, StepId};

/// The current steps that this writer wrote; of others the journal is asked.
#[derive(Debug, Default)]
pub(super) struct Current(BTreeMap<OperationId, BTreeMap<LogicalNodeId, StepId>>);

impl Current {
    /// The current step of `slot`, where it is known.
    pub(super) fn of(&self, operation: OperationId, slot: &LogicalNodeId) -> Option<StepId> {
        self.0.get(&operation)?.get(slot).copied()
    }

    /// Notes that `step` is the current one from now on.
    pub(super) fn note(&mut self, operation: OperationId, slot: &LogicalNodeId, step: StepId) {
        self.0.entry(operation).or_default().insert(slot.clone(), step);
    }

    /// Forgets an operation that takes no more steps, or of which it is not certain what was kept.
    pub(super) fn forget(&mut self, operation: OperationId) {
        self.0.remove(&operation);
    }
}
