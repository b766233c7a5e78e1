//! Whether a confirmed plan opens an operation for a group that it touches (D3, R95, R130).
//!
//! Which steps need an operation, and writing it down, is the driver's.

use crate::{checkpoint::Direction, hold::HoldCode};

/// A group as a confirmed plan finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Which way its open operation goes, if it has one.
    pub open: Option<Direction>,
    /// True if the plan takes the group back, so that its operation was turned by this very plan.
    pub taken_back: bool,
    /// True if the plan declares the group otherwise than it was.
    pub anew: bool,
    /// What holds the group as a whole.
    pub hold: Option<HoldCode>,
    /// True if the plan leaves the group without nodes.
    pub goes: bool,
}

/// What follows for the operation of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// The one that is open covers the plan as well, and keeps its own way back.
    GoesOn,
    /// None is opened: what stands in the journal comes first, and nobody can read it.
    Withheld,
    /// The plan opens one; one that was open gives way to it.
    Opens,
}

impl Touched {
    /// Decides whether the plan opens an operation.
    ///
    /// What is under way goes on as it is, unless its group is declared anew; what goes back is declared anew by the
    /// very plan that turned it. An operation that nobody can read stays what the group waits for until a person ends
    /// it, or the group goes altogether.
    pub const fn cover(self) -> Cover {
        let turned = self.taken_back && matches!(self.open, Some(Direction::Rollback));
        if self.open.is_some() && (!self.anew || turned) {
            return Cover::GoesOn;
        }
        let unreadable = match self.hold {
            Some(code) => code.is_of_operation(),
            None => false,
        };
        if unreadable && !self.goes { Cover::Withheld } else { Cover::Opens }
    }
}
