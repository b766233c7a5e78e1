//! The groups of a run in shared blocks: a snapshot is a handful of reference counts, a change copies one block
//! of them, however many groups there are.

use alloc::{sync::Arc, vec::Vec};

use super::group::GroupState;
use crate::{desired::Brief, id::GroupId};

/// Groups of a block.
const WIDTH: usize = 32;

/// Some groups in the order of their names.
#[derive(Clone, Debug, Default)]
struct Block {
    states: Vec<Arc<GroupState>>,
    /// What the records of each are in brief; nothing where that is not known, and then they are read.
    briefs: Vec<Option<Brief>>,
}

impl Block {
    fn push(&mut self, state: Arc<GroupState>) {
        self.briefs.push(state.fleet.brief());
        self.states.push(state);
    }
}

impl FromIterator<Arc<GroupState>> for Block {
    fn from_iter<T: IntoIterator<Item = Arc<GroupState>>>(states: T) -> Self {
        let mut block = Self::default();
        states.into_iter().for_each(|state| block.push(state));
        block
    }
}

/// Every group by its name, in the order of names.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// The names in order; changes only when a group comes to be known.
    names: Arc<Vec<GroupId>>,
    /// The states at the places of their names.
    blocks: Vec<Arc<Block>>,
    /// The place of the group that was changed last: slots come group by group, so the next one asked for is
    /// mostly this one.
    latest: usize,
}

impl Groups {
    /// The groups in order of their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&GroupId, &Arc<GroupState>)> {
        self.names.iter().zip(self.blocks.iter().flat_map(|block| block.states.iter()))
    }

    /// Every group's name with what its records are in brief, in order.
    pub(super) fn briefs(&self) -> impl Iterator<Item = (&GroupId, &Option<Brief>)> {
        self.names.iter().zip(self.blocks.iter().flat_map(|block| block.briefs.iter()))
    }

    /// One group.
    pub(super) fn get(&self, group: &GroupId) -> Option<&Arc<GroupState>> {
        let place = self.place(group).ok()?;
        self.blocks.get(place / WIDTH)?.states.get(place % WIDTH)
    }

    /// One group, to change what stands beside its records.
    pub(super) fn get_mut(&mut self, group: &GroupId) -> Option<&mut GroupState> {
        let (state, brief) = self.place_mut(group)?;
        // Whoever changes a record all the same only makes a pass read it.
        *brief = None;
        Some(state)
    }

    /// Changes the records of one group.
    pub(super) fn change<T>(
        &mut self,
        group: &GroupId,
        change: impl FnOnce(&mut GroupState) -> T,
    ) -> Option<T> {
        let (state, brief) = self.place_mut(group)?;
        let done = change(state);
        *brief = state.fleet.brief();
        Some(done)
    }

    fn place_mut(&mut self, group: &GroupId) -> Option<(&mut GroupState, &mut Option<Brief>)> {
        let place = self.place(group).ok()?;
        self.latest = place;
        let block = Arc::make_mut(self.blocks.get_mut(place / WIDTH)?);
        let state = block.states.get_mut(place % WIDTH).map(Arc::make_mut)?;
        Some((state, block.briefs.get_mut(place % WIDTH)?))
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
            let mut all: Vec<_> = self.iter().map(|(_, state)| Arc::clone(state)).collect();
            all.insert(place, Arc::default());
            let block = |states: &[Arc<GroupState>]| Arc::new(states.iter().cloned().collect());
            self.blocks = all.chunks(WIDTH).map(block).collect();
        }
        Arc::make_mut(&mut self.names).insert(place, group.clone());
    }
}
