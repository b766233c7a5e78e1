//! Steps: one effect each, written before it is sent and again when its result is known.

use reconciler_core::{
    checkpoint::{CheckpointError, StepCheckpoint, StepMark},
    effect::{ActionKind, Intent},
    id::{
        AttemptId, AttemptOrdinal, Fence, IdempotencyKey, LogicalNodeId, OperationId, ProviderName,
        StepId,
    },
    redact::Redacted,
    time::Timestamp,
};
use rusqlite::{Row, types::Type};

use crate::codec::{misread, number, parsed, time_if_any, uuid};

/// What became of a step that was written earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepWrite {
    /// Which one.
    pub step: StepId,
    /// Where it stands now.
    pub mark: StepMark,
    /// What was said, cleaned.
    pub result: Redacted,
    /// When it was over; nothing while it is still in doubt.
    pub finished_at: Option<Timestamp>,
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
    /// Where it stands; an error is a reason to hold, never to guess (R120).
    pub checkpoint: Result<StepCheckpoint, CheckpointError>,
    /// What was said of its result.
    pub result: Redacted,
    /// When its intent was written.
    pub started_at: Timestamp,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
}

impl StepRow {
    pub(crate) const COLUMNS: &str = "id, operation, slot, ordinal, attempt, provider, kind, \
                                      idem, fence, checkpoint, result, started_at, finished_at";

    /// The row of an intent that is being written.
    pub(crate) fn pending(intent: &Intent, at: Timestamp) -> Self {
        let checkpoint = StepCheckpoint::new(intent.slot.clone(), StepMark::EffectPending);
        Self {
            step: intent.step,
            operation: intent.operation,
            slot: intent.slot.clone(),
            attempt: intent.attempt,
            provider: intent.provider.clone(),
            command: intent.action.kind(),
            key: intent.key,
            fence: intent.fence,
            checkpoint: Ok(checkpoint),
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
            command: action_kind(row.get_ref("kind")?.as_str()?)?,
            key: parsed(row, "idem")?,
            fence: Fence::new(number(row, "fence")?),
            checkpoint: row.get_ref("checkpoint")?.as_str()?.parse(),
            result: Redacted::from(row.get::<_, String>("result")?),
            started_at: Timestamp::from_millis(number(row, "started_at")?),
            finished_at: time_if_any(row, "finished_at")?,
        })
    }
}

fn action_kind(text: &str) -> rusqlite::Result<ActionKind> {
    let unknown = || misread(Type::Text, format!("`{text}` is neither a command nor a hook"));
    ActionKind::from_name(text).ok_or_else(unknown)
}
