//! The moments at which slots fall due, the earliest first. When a record is due is decided in `due.rs`.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::{
    id::{GroupId, LogicalNodeId},
    time::Timestamp,
};

/// Slots by the moment at which they fall due.
///
/// Of a group many fall due at once: under their moment and name they are numbers, which are found at a fraction of
/// what comparing slots costs.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar(BTreeMap<(Timestamp, GroupId), BTreeSet<u32>>);

impl Calendar {
    /// The earliest moment.
    pub(super) fn first(&self) -> Option<Timestamp> {
        self.0.first_key_value().map(|((at, _), _)| *at)
    }

    /// Notes that a slot falls due.
    pub(super) fn insert(&mut self, at: Timestamp, slot: &LogicalNodeId) {
        self.0.entry((at, slot.group.clone())).or_default().insert(slot.index);
    }

    /// Takes a slot out again.
    pub(super) fn remove(&mut self, at: Timestamp, slot: &LogicalNodeId) {
        let key = (at, slot.group.clone());
        let Some(indices) = self.0.get_mut(&key) else { return };
        indices.remove(&slot.index);
        if indices.is_empty() {
            self.0.remove(&key);
        }
    }

    /// Takes out the earliest slots of one group, if they are due at `now`.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(GroupId, BTreeSet<u32>)> {
        let first = self.0.first_entry().filter(|first| first.key().0 <= now)?;
        let ((_, group), indices) = first.remove_entry();
        Some((group, indices))
    }
}
