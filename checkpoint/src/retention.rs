//! How much history is kept, as one table, with the reason for each bound (C15, R192).
//!
//! What recovery needs has no row here and is never history: owner, records, holds, updates, the present shape, open
//! operations with their steps, and steps whose outcome is not known. What is history is bounded by the size of the
//! fleet, so that a journal stays in proportion to it: below 4 KiB a node from some hundred nodes on.

use reconciler_core::time::Millis;

/// A kind of row that is kept for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum History {
    /// Events.
    Events,
    /// Passes.
    Passes,
    /// Generations of the shape before the present one.
    Shapes,
    /// Plans that were confirmed.
    UsedPlans,
    /// Closed operations, which take their steps with them.
    Operations,
    /// Steps of closed operations that ended.
    Steps,
}

impl History {
    /// Every kind; operations before steps, since they take theirs along.
    pub const ALL: [Self; 6] =
        [Self::Events, Self::Passes, Self::Shapes, Self::UsedPlans, Self::Operations, Self::Steps];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Passes => "passes",
            Self::Shapes => "shapes",
            Self::UsedPlans => "used plans",
            Self::Operations => "operations",
            Self::Steps => "steps",
        }
    }

    /// Its bounds while a driver writes.
    pub const fn bound(self) -> Bound {
        match self {
            // A page of the console, and a few lines of each node's last trouble.
            Self::Events => Bound::new(280, 280, Some(30 * DAY)),
            // The console shows the last ones of each node; the rest is for whoever asks what a bad hour did.
            Self::Passes => Bound::new(256, 0, Some(30 * DAY)),
            // Each holds a whole shape. An update knows itself what it came from.
            Self::Shapes => Bound::new(32, 0, None),
            // Only the newest serial can be planned again: the serial is in the hash. The others are kept so that a
            // late confirmation is told that its plan was used, and not only that it is stale.
            Self::UsedPlans => Bound::new(256, 0, None),
            Self::Operations => Bound::new(48, 40, Some(90 * DAY)),
            // Each is told of as an event as well; this is the newest one of each node, or a few of a small fleet.
            Self::Steps => Bound::new(96, 100, Some(90 * DAY)),
        }
    }
}

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// How much of one kind is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// So many rows are kept in any fleet.
    pub least: u64,
    /// Or so many for a hundred records, if that is more.
    pub per_hundred: u64,
    /// Rows older than this go, down to [`Bound::always`]; none keeps them whatever their age.
    pub age: Option<Millis>,
}

impl Bound {
    const fn new(least: u64, per_hundred: u64, age: Option<u64>) -> Self {
        let age = match age {
            Some(ms) => Some(Millis::new(ms)),
            None => None,
        };
        Self { least, per_hundred, age }
    }

    /// Most rows that are kept with `nodes` records; the newest always is, since its number must not come twice.
    #[must_use]
    pub const fn most(self, nodes: u64) -> u64 {
        let scaled = self.per_hundred.saturating_mul(nodes) / 100;
        let most = if scaled > self.least { scaled } else { self.least };
        if most == 0 { 1 } else { most }
    }

    /// So many of the newest are kept however old they are, and whatever the clock says.
    #[must_use]
    pub const fn always(self) -> u64 {
        let some = self.least / 8;
        if some == 0 { 1 } else { some }
    }
}
