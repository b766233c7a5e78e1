//! The records of one group in shared blocks: a snapshot is a handful of reference counts, a change copies
//! one path of the tree and nothing that grows with the group.

use alloc::{sync::Arc, vec::Vec};

use super::record::NodeRecord;

/// Slots of a leaf, and leaves of a branch.
const WIDTH: usize = 64;

type Leaf = [Option<Arc<NodeRecord>>; WIDTH];
type Branch = Vec<Option<Arc<Leaf>>>;

/// The records of a group by index.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    branches: Vec<Arc<Branch>>,
    len: usize,
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
        self.branches.get(p.branch)?.get(p.leaf)?.as_ref()?.get(p.at)?.as_ref()
    }

    /// Every record in order of its index.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeRecord>> {
        self.branches
            .iter()
            .flat_map(|branch| branch.iter().flatten())
            .flat_map(|leaf| leaf.iter().flatten())
    }

    /// Every record with its index, which is known without reading the record.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (u32, &Arc<NodeRecord>)> {
        let leaves = self.branches.iter().enumerate().flat_map(|(at, branch)| {
            let first = at.saturating_mul(WIDTH.saturating_mul(WIDTH));
            let leaves =
                branch.iter().enumerate().filter_map(|(n, leaf)| Some((n, leaf.as_ref()?)));
            leaves.map(move |(n, leaf)| (first.saturating_add(n.saturating_mul(WIDTH)), leaf))
        });
        leaves.flat_map(|(first, leaf)| {
            let cells = (first..).zip(leaf.iter());
            cells.filter_map(|(at, cell)| Some((u32::try_from(at).ok()?, cell.as_ref()?)))
        })
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
        let leaf = Arc::make_mut(leaf.get_or_insert_with(|| Arc::new([const { None }; WIDTH])));
        if let Some(cell) = leaf.get_mut(p.at) {
            self.len = self.len.saturating_add(usize::from(cell.is_none()));
            *cell = Some(record);
        }
    }

    /// The record of one index, to change it.
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut NodeRecord> {
        let p = place(index);
        // Checked first, so that a miss copies nothing.
        self.get(index)?;
        let branch = Arc::make_mut(self.branches.get_mut(p.branch)?);
        let leaf = Arc::make_mut(branch.get_mut(p.leaf)?.as_mut()?);
        leaf.get_mut(p.at)?.as_mut().map(Arc::make_mut)
    }

    /// Takes a record out, and the empty space behind it.
    pub(crate) fn take(&mut self, index: u32) -> Option<Arc<NodeRecord>> {
        let p = place(index);
        self.get(index)?;
        let branch = Arc::make_mut(self.branches.get_mut(p.branch)?);
        let slot = branch.get_mut(p.leaf)?;
        let leaf = Arc::make_mut(slot.as_mut()?);
        let taken = leaf.get_mut(p.at)?.take();
        if leaf.iter().all(Option::is_none) {
            *slot = None;
        }
        while branch.last().is_some_and(Option::is_none) {
            branch.pop();
        }
        while self.branches.last().is_some_and(|b| b.is_empty()) {
            self.branches.pop();
        }
        self.len = self.len.saturating_sub(1);
        taken
    }
}
