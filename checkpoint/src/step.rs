//! Steps: one effect each, written before it is sent and again when its result is known.

use reconciler_core::{
    checkpoint::{CheckpointError, Direction, StepCheckpoint, StepMark},
    effect::{ActionKind, CommandKind, FailureKind, Intent},
    id::{
        AttemptId, AttemptOrdinal, Fence, IdempotencyKey, LogicalNodeId, OperationId, ProviderName,
        StepId,
    },
    plan::inverse,
    redact::Redacted,
    saga::WrittenStep,
    time::Timestamp,
};
use rusqlite::{Row, types::Type};

use crate::codec::{direction, misread, number, parsed, time_if_any, uuid};

/// What became of a step that was written earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepWrite {
    /// Which one.
    pub step: StepId,
    /// Where a step forward stands now; of a step back the journal makes the mark that says the same.
    pub mark: StepMark,
    /// What its failure was; nothing where no call of it failed, and then what is noted already stays unless it
    /// succeeded.
    pub failure: Option<FailureKind>,
    /// What was said, cleaned.
    pub result: Redacted,
    /// When it was over; nothing while it is still in doubt.
    pub finished_at: Option<Timestamp>,
}

impl StepWrite {
    /// True if the step did what it was for: then it has no failure, whatever was told of it before.
    pub(crate) fn succeeded(&self) -> bool {
        matches!(self.mark, StepMark::Verified | StepMark::VerifiedAfterResume)
    }
}

/// A step as it stands in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Its number.
    pub step: StepId,
    /// The operation that covers it.
    pub operation: OperationId,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt.
    pub attempt: AttemptId,
    /// Who performs it.
    pub provider: ProviderName,
    /// Which command or hook.
    pub command: ActionKind,
    /// The key that a repeat of the same request carries.
    pub key: IdempotencyKey,
    /// The fence under which it was written.
    pub fence: Fence,
    /// Which way it goes.
    pub direction: Direction,
    /// What undoes it, written with its intent; nothing if nothing does.
    pub inverse: Option<CommandKind>,
    /// Where it stands; an error is a reason to hold, never to guess (R120).
    pub checkpoint: Result<StepCheckpoint, CheckpointError>,
    /// What its failure was, `CLASS/CERTAINTY`; it decides nothing, and what nobody can read is nothing.
    pub failure: Option<Box<str>>,
    /// What was said of its result.
    pub result: Redacted,
    /// When its intent was written.
    pub started_at: Timestamp,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
}

impl StepRow {
    pub(crate) const COLUMNS: &str = "id, operation, slot, ordinal, attempt, provider, kind, \
                                      idem, fence, direction, inverse, checkpoint, failure, \
                                      result, started_at, finished_at";

    /// It as far as taking it back asks.
    pub const fn written(&self) -> WrittenStep {
        WrittenStep { step: self.step, action: self.command, inverse: self.inverse }
    }

    /// What its failure was, if one is noted that this program knows.
    pub fn failed(&self) -> Option<FailureKind> {
        self.failure.as_deref()?.parse().ok()
    }

    /// The row of an intent that is being written.
    pub(crate) fn pending(intent: &Intent, direction: Direction, at: Timestamp) -> Self {
        let checkpoint = StepCheckpoint::new(intent.slot.clone(), direction.pending());
        Self {
            step: intent.step,
            operation: intent.operation,
            slot: intent.slot.clone(),
            attempt: intent.attempt,
            provider: intent.provider.clone(),
            command: intent.action.kind(),
            key: intent.key,
            fence: intent.fence,
            direction,
            inverse: inverse(intent.action.kind()),
            checkpoint: Ok(checkpoint),
            failure: None,
            result: Redacted::default(),
            started_at: at,
            finished_at: None,
        }
    }

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let ordinal = AttemptOrdinal::new(number(row, "ordinal")?);
        Ok(Self {
            step: StepId::new(number(row, "id")?),
            operation: OperationId::new(number(row, "operation")?),
            slot: parsed(row, "slot")?,
            attempt: AttemptId { ordinal, uuid: uuid(row, "attempt")? },
            provider: parsed(row, "provider")?,
            command: kind(row)?,
            key: parsed(row, "idem")?,
            fence: Fence::new(number(row, "fence")?),
            direction: direction(row)?,
            inverse: written_inverse(row)?,
            checkpoint: row.get_ref("checkpoint")?.as_str()?.parse(),
            failure: failure(row)?,
            result: Redacted::from(row.get::<_, String>("result")?),
            started_at: Timestamp::from_millis(number(row, "started_at")?),
            finished_at: time_if_any(row, "finished_at")?,
        })
    }
}

/// What a step does.
pub(crate) fn kind(row: &Row<'_>) -> rusqlite::Result<ActionKind> {
    let text = row.get_ref("kind")?.as_str()?;
    let unknown = || misread(Type::Text, format!("`{text}` is neither a command nor a hook"));
    ActionKind::from_name(text).ok_or_else(unknown)
}

fn failure(row: &Row<'_>) -> rusqlite::Result<Option<Box<str>>> {
    let text = row.get_ref("failure")?.as_str_or_null();
    Ok(text.ok().flatten().map(Box::from))
}

fn written_inverse(row: &Row<'_>) -> rusqlite::Result<Option<CommandKind>> {
    let Some(name) = row.get_ref("inverse")?.as_str_or_null()? else { return Ok(None) };
    let unknown = || misread(Type::Text, format!("`{name}` is no command"));
    CommandKind::from_name(name).map(Some).ok_or_else(unknown)
}
