//! Operations: a confirmed plan's part for one node group, from opening to its end.
//!
//! Where an open operation stands is derived by the journal in the transaction that writes its steps; nobody
//! can set it to anything else. A closed operation never changes again.

use reconciler_core::{
    checkpoint::{CheckpointError, Direction, OperationCheckpoint, OperationMarks},
    id::{Fence, GroupId, OperationId, PlanHash},
    saga::Compensation,
    time::Timestamp,
};
use rusqlite::{Row, types::Type};

use crate::{
    codec::{direction, misread, number, parsed, parsed_if_any, time_if_any},
    step::StepRow,
    sum,
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
    /// All that it did was taken back, and what served before serves again.
    Compensated,
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
    pub const ALL: [Self; 5] = [
        Self::Active,
        Self::Closed(Outcome::Succeeded),
        Self::Closed(Outcome::Failed),
        Self::Closed(Outcome::Interrupted),
        Self::Closed(Outcome::Compensated),
    ];

    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Closed(Outcome::Succeeded) => "succeeded",
            Self::Closed(Outcome::Failed) => "failed",
            Self::Closed(Outcome::Interrupted) => "interrupted",
            Self::Closed(Outcome::Compensated) => "compensated",
        }
    }
}

impl Outcome {
    /// The checkpoint that a closed operation shows; nothing where what its steps had brought it to stays, as the
    /// reason.
    #[must_use]
    pub const fn checkpoint(self) -> Option<OperationCheckpoint> {
        match self {
            Self::Succeeded => Some(OperationCheckpoint::Verified),
            Self::Compensated => Some(OperationCheckpoint::Compensated),
            Self::Failed | Self::Interrupted => None,
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
        /// What it is taken back to; nothing for one that has no way back, as a repair.
        compensation: Option<Compensation>,
    },
    /// From now on it goes back, and so does every step that it gets.
    TurnBack {
        /// Which one.
        id: OperationId,
        /// The plan of the way back.
        plan: PlanHash,
    },
    /// What served before was looked at after the way back.
    Restored {
        /// Which one.
        id: OperationId,
        /// Whether it serves.
        proven: bool,
    },
    /// Whatever is open of a group is broken off where it stands, also what nobody can read.
    Abandon {
        /// The group.
        group: GroupId,
    },
    /// One operation is broken off where it stands, also one that nobody can read.
    Break {
        /// Which one.
        id: OperationId,
    },
    /// It goes the way that it goes, whatever it was handed over for.
    GoOn {
        /// Which one.
        id: OperationId,
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
    /// Which way it goes.
    pub direction: Direction,
    /// The plan under which it was turned back, if it was.
    pub rollback_plan: Option<PlanHash>,
    /// What it is taken back to, if there is a way back.
    pub compensation: Option<Compensation>,
    /// Whether what served before was seen to serve again, once that was looked at.
    pub restored: Option<bool>,
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
                                      superseded_by, goals, direction, rollback_plan, \
                                      compensation, restored, sum, opened_at, updated_at, closed_at";

    /// What it says of itself beside its steps.
    pub(crate) const fn marks(&self) -> OperationMarks {
        OperationMarks { restored: self.restored }
    }

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let superseded_by: Option<i64> = row.get("superseded_by")?;
        let status = row.get_ref("status")?.as_str()?;
        let status = OperationStatus::ALL
            .into_iter()
            .find(|known| known.as_str() == status)
            .ok_or_else(|| misread(Type::Text, "the status is not known"))?;
        Ok(Self {
            id: OperationId::new(number(row, "id")?),
            group: parsed(row, "node_group")?,
            plan: parsed(row, "plan")?,
            fence: Fence::new(number(row, "fence")?),
            status,
            checkpoint: row.get_ref("checkpoint")?.as_str()?.parse(),
            superseded_by: superseded_by.map(|id| OperationId::new(id.cast_unsigned())),
            goals: row.get("goals")?,
            direction: direction(row)?,
            rollback_plan: parsed_if_any(row, "rollback_plan")?,
            compensation: compensation(row)?,
            restored: row.get("restored")?,
            opened_at: Timestamp::from_millis(number(row, "opened_at")?),
            updated_at: Timestamp::from_millis(number(row, "updated_at")?),
            closed_at: time_if_any(row, "closed_at")?,
        })
    }
}

/// What an operation is taken back to, with the sum over it.
pub(crate) fn compensation(row: &Row<'_>) -> rusqlite::Result<Option<Compensation>> {
    let Some(json) = row.get_ref("compensation")?.as_blob_or_null()? else { return Ok(None) };
    let id = row.get_ref("id")?.as_i64()?;
    sum::check(row, &[&id.to_le_bytes(), json])?;
    serde_json::from_slice(json).map(Some).map_err(|error| misread(Type::Blob, error))
}
