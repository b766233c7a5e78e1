//! What faces see of the journal: pages of events, operations and their steps.

use reconciler_core::{
    id::{Fence, GroupId, LogicalNodeId, OperationId, PlanHash, ProviderName, StepId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::run::EventView;

/// A page of events, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsView {
    /// The events.
    pub events: Vec<EventView>,
    /// From where the next page goes on; to be given back as it is.
    pub cursor: String,
    /// True if more are there already.
    pub more: bool,
    /// Why events are missing before the first one, if any are.
    pub gap: Option<String>,
}

/// An operation: what a confirmed plan does to one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationView {
    /// Its number.
    pub operation: OperationId,
    /// The group.
    pub group: GroupId,
    /// The hash of the plan that opened it.
    pub plan: PlanHash,
    /// The fence under which it was opened.
    pub fence: Fence,
    /// `active`, `succeeded`, `failed`, `interrupted` or `compensated`.
    pub status: String,
    /// Where it stands: the mark that decides what a recovery does with it.
    pub checkpoint: String,
    /// The operation that took its place, if one did.
    pub superseded_by: Option<OperationId>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// Its newest steps, the newest first; only where one operation was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<OperationStepView>>,
}

/// One step of an operation: one effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationStepView {
    /// Its number.
    pub step: StepId,
    /// The slot.
    pub slot: LogicalNodeId,
    /// Which incarnation of the slot.
    pub attempt: u64,
    /// Who performs it.
    pub provider: ProviderName,
    /// The command or hook.
    pub action: String,
    /// Where it stands.
    pub checkpoint: String,
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
    /// When it was over.
    pub finished_at: Option<Timestamp>,
}
