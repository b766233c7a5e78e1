//! The two finalizers of a deletion, in their order: first what depends on the lease, then the lease itself (R146, R148).

use serde::{Deserialize, Serialize};

use crate::{hold::HoldCode, observed::NodeRecord, time::Timestamp};

/// What has to be seen gone before an attempt's ownership ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finalizer {
    /// Sessions and workloads on the lease.
    DependentResources,
    /// The lease itself.
    RuntimeAbsence,
}

impl Finalizer {
    /// Both, in the order in which they are released.
    pub const ALL: [Self; 2] = [Self::DependentResources, Self::RuntimeAbsence];

    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DependentResources => "dependent.resources",
            Self::RuntimeAbsence => "runtime.absence",
        }
    }
}

/// Where one finalizer stands.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum FinalizerState {
    /// Nothing is being deleted.
    #[default]
    Active,
    /// The deletion is intended and durable; its end was not seen yet.
    Releasing,
    /// It was seen gone.
    Released,
    /// Whose it is, is in doubt: it is left alone until a person looked.
    Quarantined,
}

impl FinalizerState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Active, Self::Releasing, Self::Released, Self::Quarantined];

    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Releasing => "releasing",
            Self::Released => "released",
            Self::Quarantined => "quarantined",
        }
    }
}

/// Both finalizers of one attempt. The second is never released before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finalizers {
    dependents: FinalizerState,
    absence: FinalizerState,
}

/// What a record says of what its attempt owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It owns what it owns, and nothing is being deleted.
    Active,
    /// It is being deleted, and a workload may run on its lease.
    Ending {
        /// Since when.
        since: Timestamp,
    },
    /// It is being deleted, and nothing runs on its lease any more.
    Idle {
        /// Since when.
        since: Timestamp,
    },
    /// Its absence was seen: nothing of it is left.
    Absent,
    /// It cannot be told whose it is.
    Doubtful,
}

/// What `record`, one attempt, says of what it owns.
///
/// A record comes to own nothing only in the fold, which demands proof of absence by identity (D6).
pub fn standing(record: &NodeRecord) -> Standing {
    let code = record.hold.as_ref().map(|hold| hold.code);
    if matches!(code, Some(HoldCode::NewerFence | HoldCode::DuplicateIdentity)) {
        return Standing::Doubtful;
    }
    // A lease that was never asked for, one whose request is known to have done nothing, and one that was seen gone.
    if !record.may_own() && !record.is_open() {
        return Standing::Absent;
    }
    match record.deletion {
        None => Standing::Active,
        Some(deletion) if record.may_run() => Standing::Ending { since: deletion.since },
        Some(deletion) => Standing::Idle { since: deletion.since },
    }
}

/// True if `record`, one attempt, holds what it takes of its provider.
pub fn holds(record: &NodeRecord) -> bool {
    standing(record) != Standing::Absent
}

impl Finalizers {
    /// Both as they were written; nothing where the second stands before the first.
    pub fn of_parts(dependents: FinalizerState, absence: FinalizerState) -> Option<Self> {
        use FinalizerState::{Active, Quarantined, Released, Releasing};
        let legal = matches!(
            (dependents, absence),
            (Active, Active)
                | (Releasing | Released, Releasing)
                | (Released, Released)
                | (Quarantined, Quarantined)
        );
        legal.then_some(Self { dependents, absence })
    }

    /// Where `finalizer` stands.
    pub const fn of(&self, finalizer: Finalizer) -> FinalizerState {
        match finalizer {
            Finalizer::DependentResources => self.dependents,
            Finalizer::RuntimeAbsence => self.absence,
        }
    }

    /// True once both were seen gone.
    pub const fn are_released(&self) -> bool {
        matches!(self.absence, FinalizerState::Released)
    }

    /// True once the lease may be given back: the deletion is intended, and nothing depends on the lease.
    pub const fn allow_destroy(&self) -> bool {
        matches!(self.dependents, FinalizerState::Released)
            && matches!(self.absence, FinalizerState::Releasing)
    }

    /// Both after `standing` was seen. A deletion that was begun is never taken back (D8), and what was seen gone
    /// does not come back: an identity is used once.
    #[must_use]
    pub const fn after(self, standing: Standing) -> Self {
        use FinalizerState::{Quarantined, Released, Releasing};
        match standing {
            Standing::Active => match self.dependents {
                Quarantined => {
                    Self { dependents: FinalizerState::Active, absence: FinalizerState::Active }
                }
                FinalizerState::Active | Releasing | Released => self,
            },
            Standing::Ending { .. } => match self.absence {
                Released => self,
                FinalizerState::Active | Releasing | Quarantined => {
                    Self { dependents: Releasing, absence: Releasing }
                }
            },
            Standing::Idle { .. } => match self.absence {
                Released => self,
                FinalizerState::Active | Releasing | Quarantined => {
                    Self { dependents: Released, absence: Releasing }
                }
            },
            Standing::Absent => Self { dependents: Released, absence: Released },
            Standing::Doubtful => Self { dependents: Quarantined, absence: Quarantined },
        }
    }
}
