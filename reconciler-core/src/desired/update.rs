//! How the nodes of a group give way to another revision: all at once, or a few at a time within a budget.

use serde::{Deserialize, Serialize};

use crate::{canonical::Canon, limits, time::Millis};

/// In which order old nodes go and new ones come.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateMode {
    /// Every old node is gone before the first new one is made: downtime, and never two revisions at once.
    Recreate,
    /// A few at a time: no more are missing, and no more exist, than the budget says.
    #[default]
    Rolling,
}

/// A number of nodes, or a share of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// So many.
    Nodes(u32),
    /// So many of each hundred.
    Percent(u32),
}

/// What happens to an update that makes no progress in time.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The group goes back to the revision that served before (D4).
    #[default]
    Rollback,
    /// The group is held as it stands, until a person decides.
    Hold,
}

/// How a group's nodes give way to another revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdatePolicy {
    /// In which order.
    pub mode: UpdateMode,
    /// How many may exist beyond the count; a share is rounded up.
    pub max_surge: Amount,
    /// How many may be missing from the count; a share is rounded down.
    pub max_unavailable: Amount,
    /// How long an update may go without one more node of the new revision being ready.
    pub progress_deadline: Millis,
    /// How long a new node must be ready before the next old one may go for it.
    pub observation: Millis,
    /// What happens after the deadline.
    pub on_failure: OnFailure,
}

impl Default for UpdatePolicy {
    /// One at a time and never two attempts of a slot: what a node owns (a port, a directory) may bear no twin.
    fn default() -> Self {
        Self {
            mode: UpdateMode::Rolling,
            max_surge: Amount::Nodes(0),
            max_unavailable: Amount::Nodes(1),
            progress_deadline: limits::PROGRESS_DEADLINE,
            observation: Millis::ZERO,
            on_failure: OnFailure::Rollback,
        }
    }
}

impl Amount {
    /// True if it is nothing, whatever the group's size.
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Nodes(0) | Self::Percent(0))
    }

    fn of(self, count: u32, round_up: bool) -> u32 {
        let percent = match self {
            Self::Nodes(nodes) => return nodes,
            Self::Percent(percent) => percent,
        };
        let share = u64::from(count).saturating_mul(percent.into());
        let share = if round_up { share.saturating_add(99) / 100 } else { share / 100 };
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    fn canon(self) -> Canon {
        match self {
            Self::Nodes(nodes) => Canon::object([("nodes", Canon::num(nodes.into()))]),
            Self::Percent(percent) => Canon::object([("percent", Canon::num(percent.into()))]),
        }
    }
}

impl UpdatePolicy {
    /// How many of `count` may exist beyond it; none where every old node goes first.
    pub fn surge(&self, count: u32) -> u32 {
        match self.mode {
            UpdateMode::Recreate => 0,
            UpdateMode::Rolling => self.max_surge.of(count, true).min(count),
        }
    }

    /// How many of `count` may be missing.
    ///
    /// Where both shares come to nothing, one may be: an update that may neither add nor take would never end.
    pub fn unavailable(&self, count: u32) -> u32 {
        match self.mode {
            UpdateMode::Recreate => count,
            UpdateMode::Rolling => {
                let least = u32::from(self.surge(count) == 0);
                self.max_unavailable.of(count, false).max(least).min(count)
            }
        }
    }

    /// The policy as a canonical value.
    pub(super) fn canon(&self) -> Canon {
        let mode = match self.mode {
            UpdateMode::Recreate => "recreate",
            UpdateMode::Rolling => "rolling",
        };
        let on_failure = match self.on_failure {
            OnFailure::Rollback => "rollback",
            OnFailure::Hold => "hold",
        };
        Canon::object([
            ("mode", Canon::text(mode)),
            ("max-surge", self.max_surge.canon()),
            ("max-unavailable", self.max_unavailable.canon()),
            ("progress-deadline-ms", Canon::num(self.progress_deadline.get())),
            ("observation-ms", Canon::num(self.observation.get())),
            ("on-failure", Canon::text(on_failure)),
        ])
    }
}
