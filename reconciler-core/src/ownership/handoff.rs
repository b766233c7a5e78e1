//! Taking an operation from a controller that let its lease run out: exactly the one that was meant, or nothing (R144, R145).

use alloc::string::String;
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, de, ser};

use super::controller::{ControllerId, HolderLife, LeaseConflict, LeaseLength, OperationLease};
use crate::{
    id::{Fence, GroupId, IdError, OperationId, PlanHash, fails, text_serde},
    time::Timestamp,
};

/// What the operation is handed over for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HandoffTarget {
    /// To go on with it.
    Resume,
    /// To take it back.
    Rollback,
}

impl HandoffTarget {
    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Rollback => "rollback",
        }
    }
}

impl fmt::Display for HandoffTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for HandoffTarget {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text {
            "resume" => Ok(Self::Resume),
            "rollback" => Ok(Self::Rollback),
            _other => Err(fails("target", text, "it must be `resume` or `rollback`")),
        }
    }
}

text_serde!(HandoffTarget);

/// Which operation in whose hands is meant; every part must be as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// The operation.
    pub operation: OperationId,
    /// Its node group.
    pub group: GroupId,
    /// The plan that opened it.
    pub plan: PlanHash,
    /// The fence of the lease.
    pub fence: Fence,
    /// Who holds the lease.
    pub owner: ControllerId,
    /// When it ends.
    pub until: Timestamp,
}

/// A part of the claim that is not as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It is another operation.
    Operation,
    /// It is of another node group.
    Group,
    /// Another plan opened it.
    Plan,
    /// The lease has another fence.
    Fence,
    /// Somebody else holds it.
    Owner,
    /// It ends at another time.
    Until,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Operation => "operation",
            Self::Group => "node group",
            Self::Plan => "plan",
            Self::Fence => "fence",
            Self::Owner => "owner",
            Self::Until => "expiry",
        })
    }
}

/// Why an operation stays in the hands that it is in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandoffRefusal {
    /// Something moved since it was looked at.
    #[error("its {0} is not the one that was named")]
    Stale(Mismatch),
    /// Its lease is not over.
    #[error("its lease is not over: {0}")]
    Held(#[from] LeaseConflict),
    /// The new fence is not above the present one.
    #[error("fence {given} does not rise above {present}")]
    Fence {
        /// The one that was given.
        given: Fence,
        /// The present one.
        present: Fence,
    },
}

/// The lease after somebody reclaimed an operation whose lease ran out.
///
/// # Errors
/// Refuses a claim that is not exactly what stands, and a lease that is not over; then nothing may be changed.
pub fn reclaim(
    stands: (&Claimed, &OperationLease),
    asked: &Claimed,
    (owner, fence): (ControllerId, Fence),
    life: HolderLife,
    now: Timestamp,
) -> Result<OperationLease, HandoffRefusal> {
    take(stands, asked, (owner, fence, LeaseLength::default()), life, now)
}

/// The lease after an operation was handed to `owner`, whose lease has the length that was given.
///
/// # Errors
/// As [`reclaim`]; a holder that is known to have ended makes no difference here: a handoff waits for the expiry.
pub fn hand_off(
    stands: (&Claimed, &OperationLease),
    asked: &Claimed,
    to: (ControllerId, Fence, LeaseLength),
    now: Timestamp,
) -> Result<OperationLease, HandoffRefusal> {
    take(stands, asked, to, HolderLife::Unknown, now)
}

fn take(
    (stands, lease): (&Claimed, &OperationLease),
    asked: &Claimed,
    (owner, fence, length): (ControllerId, Fence, LeaseLength),
    life: HolderLife,
    now: Timestamp,
) -> Result<OperationLease, HandoffRefusal> {
    if let Some(part) = mismatch(stands, asked) {
        return Err(HandoffRefusal::Stale(part));
    }
    lease.may_be_taken(life, now)?;
    if fence <= lease.fence {
        return Err(HandoffRefusal::Fence { given: fence, present: lease.fence });
    }
    let handoffs = lease.handoffs.saturating_add(1);
    Ok(OperationLease { handoffs, ..OperationLease::begun(owner, fence, length, now) })
}

/// The first part in which the two differ.
fn mismatch(stands: &Claimed, asked: &Claimed) -> Option<Mismatch> {
    let Claimed { operation, group, plan, fence, owner, until } = stands;
    let parts = [
        (*operation == asked.operation, Mismatch::Operation),
        (*group == asked.group, Mismatch::Group),
        (*plan == asked.plan, Mismatch::Plan),
        (*fence == asked.fence, Mismatch::Fence),
        (*owner == asked.owner, Mismatch::Owner),
        (*until == asked.until, Mismatch::Until),
    ];
    parts.into_iter().find(|(same, _)| !same).map(|(_, part)| part)
}
