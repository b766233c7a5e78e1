//! Which rows the fleet table has, after folding and filtering; indices into the snapshot, nothing copied.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use driver::view::{GroupView, NodeView, RunView};
use reconciler_core::{
    id::{GroupId, LogicalNodeId},
    time::{Millis, Timestamp},
};

use super::{
    filter::{self, Filter},
    order::Order,
};

/// One row of the fleet table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// The heading of the group at this place of the snapshot.
    Group(usize),
    /// The node at this place of the snapshot.
    Node(usize),
}

/// What a row is of, whatever its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowId {
    /// A group.
    Group(GroupId),
    /// A slot.
    Node(LogicalNodeId),
}

impl RowId {
    /// The group that it belongs to.
    pub const fn group(&self) -> &GroupId {
        match self {
            Self::Group(group) => group,
            Self::Node(slot) => &slot.group,
        }
    }
}

/// The rows of the fleet table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    list: Vec<Row>,
    matching: usize,
}

/// What decides which rows there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve<'a> {
    /// The filter.
    pub(crate) filter: &'a Filter,
    /// Only what is wrong.
    pub(crate) problems: bool,
    /// The groups that show their heading alone.
    pub(crate) folded: &'a BTreeSet<GroupId>,
    /// In which order.
    pub(crate) order: Order,
    /// The headings alone.
    pub(crate) headings: bool,
    /// The time of which ages are told.
    pub(crate) now: Timestamp,
}

impl Sieve<'_> {
    fn lets(&self, node: &NodeView) -> bool {
        (!self.problems || filter::is_problem(node)) && self.filter.lets(node, self.now)
    }

    fn hides(&self, group: &GroupId) -> bool {
        self.headings || self.folded.contains(group)
    }

    fn is_open(&self) -> bool {
        !self.problems && self.filter.is_empty()
    }
}

impl Rows {
    /// Lists the rows of a snapshot.
    pub(crate) fn new(view: &RunView, sieve: Sieve<'_>) -> Self {
        if !sieve.order.is_grouped() && !sieve.headings {
            return Self::flat(view, sieve);
        }
        let mut rows = Self::default();
        let mut stretches = stretches(&view.nodes);
        for (at, group) in view.groups.iter().enumerate() {
            let own = stretches.remove(&group.group).unwrap_or_default();
            let heading = rows.list.len();
            rows.list.push(Row::Group(at));
            let shown = rows.add(view, own, sieve, sieve.hides(&group.group));
            if shown == 0 && !sieve.is_open() {
                rows.list.truncate(heading);
            }
        }
        for own in stretches.into_values() {
            rows.add(view, own, sieve, sieve.headings);
        }
        rows
    }

    /// The nodes alone, in an order of their own.
    fn flat(view: &RunView, sieve: Sieve<'_>) -> Self {
        let nodes = view.nodes.iter().enumerate();
        let mut chosen: Vec<(usize, &NodeView)> =
            nodes.filter(|(_, node)| sieve.lets(node)).collect();
        chosen.sort_by(|(_, a), (_, b)| sieve.order.compare(a, b));
        let list: Vec<Row> = chosen.into_iter().map(|(at, _)| Row::Node(at)).collect();
        Self { matching: list.len(), list }
    }

    fn add(
        &mut self,
        view: &RunView,
        stretch: Range<usize>,
        sieve: Sieve<'_>,
        folded: bool,
    ) -> usize {
        let before = self.matching;
        for at in stretch {
            if view.nodes.get(at).is_some_and(|node| sieve.lets(node)) {
                self.matching = self.matching.saturating_add(1);
                if !folded {
                    self.list.push(Row::Node(at));
                }
            }
        }
        self.matching.saturating_sub(before)
    }

    /// How long until time alone changes which rows there are.
    pub(crate) fn until_changes(view: &RunView, sieve: Sieve<'_>) -> Option<Millis> {
        if !sieve.filter.counts_ages() {
            return None;
        }
        view.nodes.iter().filter_map(|node| sieve.filter.until_changes(node, sieve.now)).min()
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// How many nodes pass the filter, shown or folded away.
    pub(crate) const fn matching(&self) -> usize {
        self.matching
    }

    /// At most `count` rows from `top` on.
    pub(crate) fn window(&self, top: usize, count: usize) -> &[Row] {
        let end = top.saturating_add(count).min(self.list.len());
        self.list.get(top.min(end)..end).unwrap_or_default()
    }

    /// What the row at a place is of.
    pub(crate) fn id(&self, view: &RunView, at: usize) -> Option<RowId> {
        match self.list.get(at)? {
            Row::Group(group) => view.groups.get(*group).map(|g| RowId::Group(g.group.clone())),
            Row::Node(node) => view.nodes.get(*node).map(|n| RowId::Node(n.slot.clone())),
        }
    }

    /// Where the row of `id` stands.
    pub(crate) fn find(&self, view: &RunView, id: &RowId) -> Option<usize> {
        self.list.iter().position(|row| match (row, id) {
            (Row::Group(at), RowId::Group(group)) => is_group(view.groups.get(*at), group),
            (Row::Node(at), RowId::Node(slot)) => is_slot(view.nodes.get(*at), slot),
            (Row::Group(_), RowId::Node(_)) | (Row::Node(_), RowId::Group(_)) => false,
        })
    }
}

fn is_group(view: Option<&GroupView>, group: &GroupId) -> bool {
    view.is_some_and(|view| view.group == *group)
}

fn is_slot(view: Option<&NodeView>, slot: &LogicalNodeId) -> bool {
    view.is_some_and(|view| view.slot.index == slot.index && view.slot.group == slot.group)
}

/// The stretch of nodes of each group; nodes come in the order of their slots.
fn stretches(nodes: &[NodeView]) -> BTreeMap<GroupId, Range<usize>> {
    let mut out = BTreeMap::new();
    let mut start = 0_usize;
    for run in nodes.chunk_by(|a, b| a.slot.group == b.slot.group) {
        let end = start.saturating_add(run.len());
        if let Some(first) = run.first() {
            out.insert(first.slot.group.clone(), start..end);
        }
        start = end;
    }
    out
}
