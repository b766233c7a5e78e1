//! The groups of a run in shared blocks: a snapshot is a handful of reference counts, a change copies one block
//! of them, however many groups there are.

use alloc::{sync::Arc, vec::Vec};

use super::group::GroupState;
use crate::id::GroupId;

/// Groups of a block.
const WIDTH: usize = 32;

/// Every group by its name, in the order of names.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// The names in order; changes only when a group comes to be known.
    names: Arc<Vec<GroupId>>,
    /// The states at the places of their names.
    blocks: Vec<Arc<Vec<Arc<GroupState>>>>,
    /// The place of the group that was changed last: slots come group by group, so the next one asked for is
    /// mostly this one.
    latest: usize,
}

impl Groups {
    /// The groups in order of their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&GroupId, &Arc<GroupState>)> {
        self.names.iter().zip(self.blocks.iter().flat_map(|block| block.iter()))
    }

    /// One group.
    pub(super) fn get(&self, group: &GroupId) -> Option<&Arc<GroupState>> {
        let place = self.place(group).ok()?;
        self.blocks.get(place / WIDTH)?.get(place % WIDTH)
    }

    /// One group, to change it.
    pub(super) fn get_mut(&mut self, group: &GroupId) -> Option<&mut GroupState> {
        let place = self.place(group).ok()?;
        self.latest = place;
        let block = Arc::make_mut(self.blocks.get_mut(place / WIDTH)?);
        block.get_mut(place % WIDTH).map(Arc::make_mut)
    }

    /// The place of a group, or the one that it would have.
    fn place(&self, group: &GroupId) -> Result<usize, usize> {
        if self.names.get(self.latest).is_some_and(|name| name == group) {
            return Ok(self.latest);
        }
        self.names.binary_search(group)
    }

    /// Makes a group known, if it is not.
    pub(super) fn know(&mut self, group: &GroupId) {
        let Err(place) = self.place(group) else { return };
        if place == self.names.len() {
            if place.is_multiple_of(WIDTH) {
                self.blocks.push(Arc::default());
            }
            if let Some(last) = self.blocks.last_mut() {
                Arc::make_mut(last).push(Arc::default());
            }
        } else {
            let mut all: Vec<_> = self.blocks.iter().flat_map(|b| b.iter().cloned()).collect();
            all.insert(place, Arc::default());
            self.blocks = all.chunks(WIDTH).map(|block| Arc::new(block.to_vec())).collect();
        }
        Arc::make_mut(&mut self.names).insert(place, group.clone());
    }
}
