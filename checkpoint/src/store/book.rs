//! What attempts own, in memory: for the plain store, which keeps the same law as the journal.

use std::collections::BTreeMap;

use reconciler_core::{
    id::{LogicalNodeId, ProviderName, Uuid},
    ownership::{ControllerId, Demand, Identity, Ownership},
};

use super::seam::StoreError;
use crate::ownership::Property;

/// Who writes here: nobody but this process.
pub(super) fn controller() -> ControllerId {
    ControllerId::of_process(0, "memory")
}

/// The rows by attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Book(BTreeMap<Uuid, Ownership>);

impl Book {
    /// Every row, in the order of slots and attempts.
    pub(super) fn all(&self) -> Vec<Ownership> {
        let mut rows: Vec<_> = self.0.values().cloned().collect();
        rows.sort_by_key(|row| (row.identity.slot.clone(), row.identity.attempt.ordinal));
        rows
    }
}

impl Property for Book {
    type Fault = StoreError;

    fn of_slot(&mut self, slot: &LogicalNodeId) -> Result<Vec<Ownership>, StoreError> {
        Ok(self.0.values().filter(|row| row.identity.slot == *slot).cloned().collect())
    }

    fn taken(&mut self, provider: &ProviderName) -> Result<Demand, StoreError> {
        let there = self.0.values().filter(|row| row.identity.provider == *provider);
        Ok(there.fold(Demand::default(), |all, row| all.and(row.demand)))
    }

    fn put(&mut self, row: &Ownership, _is_new: bool) -> Result<(), StoreError> {
        self.0.insert(row.identity.attempt.uuid, row.clone());
        Ok(())
    }

    fn drop(&mut self, identity: &Identity) -> Result<(), StoreError> {
        self.0.remove(&identity.attempt.uuid);
        Ok(())
    }
}
