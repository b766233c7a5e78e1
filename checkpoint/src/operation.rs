//! Operations: a confirmed plan's part for one node group, from opening to its end.
//!
//! Where an open operation stands is derived by the journal in the transaction that writes its steps; nobody
//! can set it to anything else. A closed operation never changes again.

use reconciler_core::{
    checkpoint::{CheckpointError, OperationCheckpoint},
    id::{Fence, GroupId, OperationId, PlanHash},
    time::Timestamp,
};
use rusqlite::Row;

use crate::{
    codec::{misread, number, parsed, time_if_any},
    step::StepRow,
};

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Everything that it covered is done.
    Succeeded,
    /// It cannot be done.
    Failed,
    /// It was broken off, as by a newer shape.
    Interrupted,
}

/// Whether an operation is open, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationStatus {
    /// Open.
    Active,
    /// Closed.
    Closed(Outcome),
}

impl OperationStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [
        Self::Active,
        Self::Closed(Outcome::Succeeded),
        Self::Closed(Outcome::Failed),
        Self::Closed(Outcome::Interrupted),
    ];

    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Closed(Outcome::Succeeded) => "succeeded",
            Self::Closed(Outcome::Failed) => "failed",
            Self::Closed(Outcome::Interrupted) => "interrupted",
        }
    }
}

impl Outcome {
    /// The checkpoint that a closed operation shows, given where its steps had brought it.
    ///
    /// A failed one keeps what its steps say: that is the reason.
    #[must_use]
    pub fn checkpoint(self, derived: OperationCheckpoint) -> OperationCheckpoint {
        match self {
            Self::Succeeded => OperationCheckpoint::Verified,
            Self::Failed => derived,
            Self::Interrupted => OperationCheckpoint::Interrupted,
        }
    }
}

/// What happens to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationWrite {
    /// It is opened.
    Open {
        /// Its number, not used before.
        id: OperationId,
        /// The node group.
        group: GroupId,
        /// The plan that was confirmed.
        plan: PlanHash,
        /// What it covers, as the driver wrote it; opaque here (R93).
        goals: String,
    },
    /// It is over.
    Close {
        /// Which one.
        id: OperationId,
        /// How it ended.
        outcome: Outcome,
        /// The operation that took its place, if one did.
        superseded_by: Option<OperationId>,
    },
}

/// An operation as it stands in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRow {
    /// Its number.
    pub id: OperationId,
    /// The node group.
    pub group: GroupId,
    /// The plan that was confirmed.
    pub plan: PlanHash,
    /// The fence under which it was opened.
    pub fence: Fence,
    /// Whether it is open.
    pub status: OperationStatus,
    /// Where it stands; an error is a reason to hold, never to guess (R120).
    pub checkpoint: Result<OperationCheckpoint, CheckpointError>,
    /// The operation that took its place, if one did.
    pub superseded_by: Option<OperationId>,
    /// What it covers, as the driver wrote it.
    pub goals: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
}

/// An open operation with its steps, as recovery needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOperation {
    /// The operation.
    pub row: OperationRow,
    /// Its steps in the order of their numbers.
    pub steps: Vec<StepRow>,
}

impl OperationRow {
    pub(crate) const COLUMNS: &str = "id, node_group, plan, fence, status, checkpoint, \
                                      superseded_by, goals, opened_at, updated_at, closed_at";

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let superseded_by: Option<i64> = row.get("superseded_by")?;
        let status = row.get_ref("status")?.as_str()?;
        let status = OperationStatus::ALL
            .into_iter()
            .find(|known| known.as_str() == status)
            .ok_or_else(|| misread(rusqlite::types::Type::Text, "the status is not known"))?;
        Ok(Self {
            id: OperationId::new(number(row, "id")?),
            group: parsed(row, "node_group")?,
            plan: parsed(row, "plan")?,
            fence: Fence::new(number(row, "fence")?),
            status,
            checkpoint: row.get_ref("checkpoint")?.as_str()?.parse(),
            superseded_by: superseded_by.map(|id| OperationId::new(id.cast_unsigned())),
            goals: row.get("goals")?,
            opened_at: Timestamp::from_millis(number(row, "opened_at")?),
            updated_at: Timestamp::from_millis(number(row, "updated_at")?),
            closed_at: time_if_any(row, "closed_at")?,
        })
    }
}
