//! The groups of a shape by their names, and beside them, in one row, what a pass over a steady fleet asks of each.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use core::ops::Deref;

use serde::{Deserialize, Serialize, de, ser};

use super::{Policy, RunNodeGroupSpec};
use crate::id::{GroupId, RevisionDigest};

/// What the nodes of a group are and how they are treated, as far as it says whether all of them are so.
///
/// Rows of these are read from the first to the last, which costs a fraction of looking into each group. Of a policy
/// its place in memory is kept: two that live at one place at one time are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brief {
    revision: RevisionDigest,
    policy: usize,
    count: usize,
}

impl Brief {
    /// What `count` nodes are. Whoever keeps it keeps `policy` as well.
    pub(crate) fn new(revision: RevisionDigest, policy: &Arc<Policy>, count: usize) -> Self {
        Self { revision, policy: Arc::as_ptr(policy).addr(), count }
    }

    /// The same of a declared group; of one with power of its own each record is read to know.
    fn of(group: &RunNodeGroupSpec) -> Option<Self> {
        let plain = group.power.is_plain();
        plain.then(|| Self::new(group.revision, &group.policy, group.count as usize))
    }
}

/// The groups of a shape.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    by_name: BTreeMap<GroupId, Arc<RunNodeGroupSpec>>,
    briefs: Vec<(GroupId, Option<Brief>)>,
}

impl Groups {
    /// No group.
    pub(super) const fn none() -> Self {
        Self { by_name: BTreeMap::new(), briefs: Vec::new() }
    }

    /// Every group's name with what it wants in brief, in order.
    pub(super) fn briefs(&self) -> &[(GroupId, Option<Brief>)] {
        &self.briefs
    }

    /// The groups after `change`.
    pub(super) fn changed(
        &self,
        change: impl FnOnce(&mut BTreeMap<GroupId, Arc<RunNodeGroupSpec>>),
    ) -> Self {
        let mut by_name = self.by_name.clone();
        change(&mut by_name);
        by_name.into()
    }
}

impl From<BTreeMap<GroupId, Arc<RunNodeGroupSpec>>> for Groups {
    fn from(by_name: BTreeMap<GroupId, Arc<RunNodeGroupSpec>>) -> Self {
        let briefs = by_name.iter().map(|(name, group)| (name.clone(), Brief::of(group))).collect();
        Self { by_name, briefs }
    }
}

impl Deref for Groups {
    type Target = BTreeMap<GroupId, Arc<RunNodeGroupSpec>>;

    fn deref(&self) -> &Self::Target {
        &self.by_name
    }
}

impl PartialEq for Groups {
    fn eq(&self, other: &Self) -> bool {
        self.by_name == other.by_name
    }
}

impl Eq for Groups {}

impl Serialize for Groups {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.by_name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Groups {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(Self::from)
    }
}
