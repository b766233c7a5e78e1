//! The records of one group in shared blocks: a snapshot is a handful of reference counts, a change copies
//! one path of the tree and nothing that grows with the group.

use alloc::{sync::Arc, vec::Vec};

use super::{
    leaf::{Kind, Leaf},
    record::NodeRecord,
};
use crate::desired::{Brief, RunNodeGroupSpec};

/// Leaves of a branch.
const WIDTH: usize = Leaf::WIDTH;

type Branch = Vec<Option<Arc<Leaf>>>;

/// The records of a group by index.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    branches: Vec<Arc<Branch>>,
    len: usize,
    /// One behind the last index that has a record.
    end: usize,
    /// How many records are settled and of `kind`: if that is all of them, a pass need not look at any.
    settled: usize,
    kind: Option<Kind>,
}

struct Place {
    branch: usize,
    leaf: usize,
    at: usize,
}

const fn place(index: u32) -> Place {
    let index = index as usize;
    Place { branch: index / (WIDTH * WIDTH), leaf: (index / WIDTH) % WIDTH, at: index % WIDTH }
}

impl Fleet {
    /// How many indices a block has.
    pub(crate) const LEAF: u32 = 64;

    /// How many records there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True without any record.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The record of one index.
    pub fn get(&self, index: u32) -> Option<&Arc<NodeRecord>> {
        let p = place(index);
        self.branches.get(p.branch)?.get(p.leaf)?.as_ref()?.get(p.at)
    }

    /// Every record in order of its index.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeRecord>> {
        self.branches
            .iter()
            .flat_map(|branch| branch.iter().flatten())
            .flat_map(|leaf| leaf.records())
    }

    /// Every block of records with its first index.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (u32, &Leaf)> {
        self.branches.iter().enumerate().flat_map(|(at, branch)| {
            let first = at.saturating_mul(WIDTH.saturating_mul(WIDTH));
            branch.iter().enumerate().filter_map(move |(n, leaf)| {
                let first = first.saturating_add(n.saturating_mul(WIDTH));
                Some((u32::try_from(first).ok()?, leaf.as_deref()?))
            })
        })
    }

    /// True if every wanted index has a record, no other has, and all are settled just as `wanted` says.
    pub(crate) fn is_settled_as(&self, wanted: &RunNodeGroupSpec) -> bool {
        let count = wanted.count as usize;
        let dense = self.len == count && self.end == count;
        dense && self.settled == count && self.kind.as_ref().is_some_and(|kind| kind.is_as(wanted))
    }

    /// In brief what all of its records are, if they are the first ones and all settled just the same.
    pub(super) fn brief(&self) -> Option<Brief> {
        let whole = self.len == self.end && self.settled == self.len;
        self.kind.as_ref().filter(|_| whole).map(|kind| kind.brief(self.len))
    }

    fn find_end(&self) -> usize {
        let last = |branch: &Arc<Branch>| Some((branch.len(), branch.last()?.as_ref()?.end()));
        let Some((leaves, end)) = self.branches.last().and_then(last) else { return 0 };
        let before = self.branches.len().saturating_sub(1).saturating_mul(WIDTH);
        let leaves = before.saturating_add(leaves.saturating_sub(1));
        leaves.saturating_mul(WIDTH).saturating_add(end)
    }

    /// Every record from the highest index down.
    pub(crate) fn iter_down(&self) -> impl Iterator<Item = &Arc<NodeRecord>> {
        let branches = self.branches.iter().rev();
        let leaves = branches.flat_map(|branch| branch.iter().rev().flatten());
        leaves.flat_map(|leaf| leaf.records_down())
    }

    /// Every record from one index on; costs what stands there.
    pub fn iter_from(&self, index: u32) -> impl Iterator<Item = &Arc<NodeRecord>> {
        let p = place(index);
        let branches = self.branches.iter().enumerate().skip(p.branch);
        let leaves = branches.flat_map(move |(at, branch)| {
            let from = if at == p.branch { p.leaf } else { 0 };
            branch.iter().skip(from).flatten()
        });
        leaves.flat_map(|leaf| leaf.records()).filter(move |r| r.slot.index >= index)
    }

    /// Puts a record in its place.
    pub(crate) fn put(&mut self, index: u32, record: Arc<NodeRecord>) {
        let p = place(index);
        while self.branches.len() <= p.branch {
            self.branches.push(Arc::default());
        }
        let Some(branch) = self.branches.get_mut(p.branch).map(Arc::make_mut) else { return };
        while branch.len() <= p.leaf {
            branch.push(None);
        }
        let Some(leaf) = branch.get_mut(p.leaf) else { return };
        let leaf = Arc::make_mut(leaf.get_or_insert_default());
        let before = settled_of(leaf, self.kind.as_ref());
        self.len = self.len.saturating_add(usize::from(leaf.put(p.at, record)));
        self.end = self.end.max((index as usize).saturating_add(1));
        let after = settled_of(leaf, self.kind.as_ref());
        let kind = new_kind(leaf, self.settled.saturating_sub(before).saturating_add(after));
        self.count(before, after, kind);
    }

    /// Changes the record of one index.
    pub(crate) fn change<T>(
        &mut self,
        index: u32,
        change: impl FnOnce(&mut NodeRecord) -> T,
    ) -> Option<T> {
        let p = place(index);
        // Checked first, so that a miss copies nothing.
        self.get(index)?;
        let branch = Arc::make_mut(self.branches.get_mut(p.branch)?);
        let leaf = Arc::make_mut(branch.get_mut(p.leaf)?.as_mut()?);
        let before = settled_of(leaf, self.kind.as_ref());
        let changed = leaf.change(p.at, change);
        let after = settled_of(leaf, self.kind.as_ref());
        let kind = new_kind(leaf, self.settled.saturating_sub(before).saturating_add(after));
        self.count(before, after, kind);
        changed
    }

    /// Takes a record out, and the empty space behind it.
    pub(crate) fn take(&mut self, index: u32) -> Option<Arc<NodeRecord>> {
        let p = place(index);
        self.get(index)?;
        let branch = Arc::make_mut(self.branches.get_mut(p.branch)?);
        let slot = branch.get_mut(p.leaf)?;
        let leaf = Arc::make_mut(slot.as_mut()?);
        let before = settled_of(leaf, self.kind.as_ref());
        let taken = leaf.take(p.at);
        let after = settled_of(leaf, self.kind.as_ref());
        let kind = new_kind(leaf, self.settled.saturating_sub(before).saturating_add(after));
        if leaf.is_empty() {
            *slot = None;
        }
        while branch.last().is_some_and(Option::is_none) {
            branch.pop();
        }
        while self.branches.last().is_some_and(|b| b.is_empty()) {
            self.branches.pop();
        }
        self.len = self.len.saturating_sub(1);
        if self.end == (index as usize).saturating_add(1) {
            self.end = self.find_end();
        }
        self.count(before, after, kind);
        taken
    }

    /// Keeps the count of the settled records after a block went from `before` to `after` of them.
    fn count(&mut self, before: usize, after: usize, kind: Option<Kind>) {
        self.settled = self.settled.saturating_sub(before).saturating_add(after);
        if let Some(kind) = kind {
            self.settled = self.leaves().map(|(_, leaf)| leaf.settled_of(&kind)).sum();
            self.kind = Some(kind);
        }
    }
}

/// What counts from now on, if none is `left` of what counted so far.
fn new_kind(leaf: &Leaf, left: usize) -> Option<Kind> {
    if left == 0 { leaf.kind().cloned() } else { None }
}

fn settled_of(leaf: &Leaf, kind: Option<&Kind>) -> usize {
    kind.map_or(0, |kind| leaf.settled_of(kind))
}
