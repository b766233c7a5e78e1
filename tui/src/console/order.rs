//! In which order the fleet stands: by slot under its groups, or flat by what is asked.

use std::cmp::{Ordering, Reverse};

use driver::view::NodeView;

use super::stage;

/// What nodes are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SortKey {
    /// By slot, under the headings of the groups.
    #[default]
    Slot,
    /// By stage, in the order of a life.
    Stage,
    /// The youngest first: what moved last.
    Age,
    /// Held, failed and failing first.
    Trouble,
}

impl SortKey {
    /// Every key, in the order in which they are gone through.
    pub(crate) const ALL: [Self; 4] = [Self::Slot, Self::Stage, Self::Age, Self::Trouble];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Slot => "slot",
            Self::Stage => "stage",
            Self::Age => "age",
            Self::Trouble => "trouble",
        }
    }

    /// The one after it, around the end.
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Slot => Self::Stage,
            Self::Stage => Self::Age,
            Self::Age => Self::Trouble,
            Self::Trouble => Self::Slot,
        }
    }

    fn compare(self, a: &NodeView, b: &NodeView) -> Ordering {
        match self {
            Self::Slot => Ordering::Equal,
            Self::Stage => a.stage.cmp(&b.stage),
            Self::Age => Reverse(a.since).cmp(&Reverse(b.since)),
            Self::Trouble => Reverse(trouble(a)).cmp(&Reverse(trouble(b))),
        }
    }
}

/// How much is wrong with a node.
const fn trouble(node: &NodeView) -> (bool, bool, u32) {
    (node.hold.is_some(), matches!(stage::letter_of(node), 'F' | 'X'), node.failures)
}

/// An order and its direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// By what.
    pub(crate) key: SortKey,
    /// The other way round.
    pub(crate) reversed: bool,
}

impl Order {
    /// True if nodes stand under the headings of their groups, as the snapshot has them.
    pub(crate) fn is_grouped(self) -> bool {
        self == Self::default()
    }

    /// Which of two nodes comes first; nodes that are equal in what is asked stay in the order of their slots.
    pub(crate) fn compare(self, a: &NodeView, b: &NodeView) -> Ordering {
        let by = self.key.compare(a, b).then_with(|| a.slot.cmp(&b.slot));
        if self.reversed { by.reverse() } else { by }
    }

    /// How the title of the pane says it.
    pub(crate) fn title(self) -> String {
        let reversed = if self.reversed { ", reversed" } else { "" };
        format!("by {}{reversed}", self.key.name())
    }
}
