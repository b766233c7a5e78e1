//! A block of records, and which of them ask for nothing: a pass over a steady fleet reads blocks, not records.

use alloc::sync::Arc;

use super::record::NodeRecord;
use crate::{
    desired::{Brief, Policy, RunNodeGroupSpec},
    id::RevisionDigest,
};

/// What records implement and how they are treated.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    revision: RevisionDigest,
    policy: Arc<Policy>,
}

impl Kind {
    fn is(&self, revision: RevisionDigest, policy: &Arc<Policy>) -> bool {
        self.revision == revision && (Arc::ptr_eq(&self.policy, policy) || self.policy == *policy)
    }

    /// In brief, of `count` records.
    pub(super) fn brief(&self, count: usize) -> Brief {
        Brief::new(self.revision, &self.policy, count)
    }

    /// True if it is just what `wanted` says; of a group with power of its own each record is read to know.
    pub(super) fn is_as(&self, wanted: &RunNodeGroupSpec) -> bool {
        wanted.power.is_plain() && self.is(wanted.revision, &wanted.policy)
    }
}

/// The records of 64 indices in a row.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The records, by a bit each, that are settled and of `kind`. A record without its bit is read to know.
    settled: u64,
    /// What the records with a bit are.
    kind: Option<Kind>,
    cells: [Option<Arc<NodeRecord>>; Leaf::WIDTH],
}

impl Default for Leaf {
    fn default() -> Self {
        Self { settled: 0, kind: None, cells: [const { None }; Self::WIDTH] }
    }
}

impl Leaf {
    /// How many records it has at most: a bit each.
    pub(super) const WIDTH: usize = 64;

    /// The record at a place.
    pub(super) fn get(&self, at: usize) -> Option<&Arc<NodeRecord>> {
        self.cells.get(at)?.as_ref()
    }

    /// The records that are there.
    pub(super) fn records(&self) -> impl Iterator<Item = &Arc<NodeRecord>> {
        self.cells.iter().flatten()
    }

    /// The records that are there, from the last one.
    pub(super) fn records_down(&self) -> impl Iterator<Item = &Arc<NodeRecord>> {
        self.cells.iter().rev().flatten()
    }

    /// Every place with what is there.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Option<&Arc<NodeRecord>>> {
        self.cells.iter().map(Option::as_ref)
    }

    /// The records, by a bit each, that are settled just as `wanted` says.
    pub(crate) fn settled_as(&self, wanted: &RunNodeGroupSpec) -> u64 {
        if self.kind.as_ref().is_some_and(|kind| kind.is_as(wanted)) { self.settled } else { 0 }
    }

    /// How many records are settled and of `kind`.
    pub(super) fn settled_of(&self, kind: &Kind) -> usize {
        let same = self.kind.as_ref().is_some_and(|own| own.is(kind.revision, &kind.policy));
        if same { self.settled.count_ones() as usize } else { 0 }
    }

    /// What its settled records are, if it has any.
    pub(super) fn kind(&self) -> Option<&Kind> {
        self.kind.as_ref().filter(|_| self.settled != 0)
    }

    /// One behind the last place that has a record.
    pub(super) fn end(&self) -> usize {
        let last = self.cells.iter().rposition(Option::is_some);
        last.map_or(0, |at| at.saturating_add(1))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.iter().all(Option::is_none)
    }

    /// Puts a record in its place; true if there was none.
    pub(super) fn put(&mut self, at: usize, record: Arc<NodeRecord>) -> bool {
        let Some(cell) = self.cells.get_mut(at) else { return false };
        let is_new = cell.replace(record).is_none();
        self.note(at);
        is_new
    }

    /// Changes the record of a place.
    pub(super) fn change<T>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut NodeRecord) -> T,
    ) -> Option<T> {
        let changed = change(Arc::make_mut(self.cells.get_mut(at)?.as_mut()?));
        self.note(at);
        Some(changed)
    }

    /// Takes a record out.
    pub(super) fn take(&mut self, at: usize) -> Option<Arc<NodeRecord>> {
        let taken = self.cells.get_mut(at)?.take();
        self.note(at);
        taken
    }

    /// Brings the bit of a place up to date.
    fn note(&mut self, at: usize) {
        let bit = u32::try_from(at).ok().and_then(|at| 1_u64.checked_shl(at)).unwrap_or(0);
        self.settled &= !bit;
        let Some(record) = self.cells.get(at).and_then(Option::as_ref).filter(|r| r.settled) else {
            return;
        };
        let same = self.kind.as_ref().is_some_and(|own| own.is(record.revision, &record.policy));
        if !same && self.settled == 0 {
            let (revision, policy) = (record.revision, Arc::clone(&record.policy));
            self.kind = Some(Kind { revision, policy });
        }
        // While a block has nodes of two kinds, those of the newer one are read one by one.
        if same || self.settled == 0 {
            self.settled |= bit;
        }
    }
}
