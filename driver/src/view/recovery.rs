//! Operations as they are shown to who recovers them.

use std::collections::BTreeMap;

use reconciler_core::{
    id::{Fence, GroupId, LogicalNodeId, OperationId, PlanHash, ProviderName, StepId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::RecoveryVerb;

/// What is open and recoverable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryView {
    /// The version of this form.
    pub schema: u32,
    /// Who owns the run, or did last; nothing if nobody ever did.
    pub owner: Option<OwnerView>,
    /// The open operations, in the order of their numbers.
    pub operations: Vec<RecoveryOperationView>,
    /// Rows of open operations that cannot be read, one line each.
    pub unreadable: Vec<String>,
    /// The open operations that cannot be read, in the order of their numbers.
    #[serde(default)]
    pub unread: Vec<UnreadOperationView>,
}

/// An operation that cannot be read, as it stands in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadOperationView {
    /// Its number.
    pub id: OperationId,
    /// Its node group as it stands there, which may be none.
    pub group: String,
    /// What of it or of its steps cannot be read, and why, one line each.
    pub problems: Vec<String>,
    /// Its columns by name, as they stand there, cleaned.
    pub columns: BTreeMap<String, String>,
    /// What can be done with it.
    pub modes: Vec<RecoveryVerb>,
}

/// An operation as it is shown: one that is gone by, or one that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ShownOperationView {
    /// It can be read.
    Read(Box<RecoveryOperationView>),
    /// It cannot.
    Unread(Box<UnreadOperationView>),
}

/// Who owns a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerView {
    /// Its process.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// Its fence.
    pub fence: Fence,
    /// Since when.
    pub since: Timestamp,
    /// True if it drives now; its ownership ends with its process.
    pub drives: bool,
}

/// A checkpoint as it stands in the journal, with what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointView {
    /// The text as it stands.
    pub text: String,
    /// Its class; nothing for one that is not known.
    pub class: Option<String>,
    /// Its lane.
    pub lane: String,
    /// Why it cannot be gone by.
    pub problem: Option<String>,
}

/// One operation, as `recovery` shows it.
///
/// [`OperationView`](super::OperationView) of the control API stays beside it: both forms promise only to grow, and
/// what they share under one name is not of one type (`checkpoint` is a text there and an object here).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryOperationView {
    /// Its number.
    pub id: OperationId,
    /// Its node group.
    pub group: GroupId,
    /// `active`, or how it ended.
    pub status: String,
    /// The plan that it carries out.
    pub plan: PlanHash,
    /// The plan that turned it back, if one did.
    pub rollback_plan: Option<PlanHash>,
    /// The fence under which it was opened.
    pub fence: Fence,
    /// What it covers.
    pub goals: String,
    /// `forward` or `rollback`.
    pub direction: String,
    /// Where it stands.
    pub checkpoint: CheckpointView,
    /// What it would be taken back to; nothing for one without a way back.
    pub back_to: Option<String>,
    /// Whether what served before was seen to serve again, once that was looked at.
    pub restored: Option<bool>,
    /// The operation that took its place, if one did.
    pub superseded_by: Option<OperationId>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// What holds its group or slots of it, one line each.
    pub holds: Vec<String>,
    /// What can be done with it.
    pub modes: Vec<RecoveryVerb>,
    /// Steps of it that cannot be read, and why, one line each.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Its steps, in the order of their numbers.
    pub steps: Vec<RecoveryStepView>,
}

/// One step of an operation, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryStepView {
    /// Its number.
    pub id: StepId,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The ordinal of the attempt.
    pub attempt: u64,
    /// Which try of the same request it is, from 1.
    pub nth: u32,
    /// `forward` or `rollback`.
    pub direction: String,
    /// What it does.
    pub action: String,
    /// What undoes it; nothing if nothing does.
    pub inverse: Option<String>,
    /// Who performs it.
    pub provider: ProviderName,
    /// The fence under which it was written.
    pub fence: Fence,
    /// Where it stands.
    pub checkpoint: CheckpointView,
    /// What its failure was, as `CLASS/CERTAINTY`; nothing where no call of it failed, or it succeeded in the end.
    #[serde(default)]
    pub failure: Option<String>,
    /// Whether the same is asked again after that failure: `never`, `safe-after-observation` or
    /// `resume-from-checkpoint`.
    #[serde(default)]
    pub retry: Option<String>,
    /// What brings its operation on after it: `none` but the retry, `reobserve`, `resume` or `compensate`.
    #[serde(default)]
    pub recovery: Option<String>,
    /// What was said of its result, cleaned.
    pub result: String,
    /// When its intent was written.
    pub started_at: Timestamp,
    /// When it was over; nothing while it is in doubt.
    pub finished_at: Option<Timestamp>,
}
