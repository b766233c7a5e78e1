//! One slot's record: the present attempt, its stage, the axes beside the stage, and the attempt beside it.

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{
    agent::AgentFacts,
    health::Health,
    hooks::{HookFacts, HookMark},
    stage::NodeStage,
};
use crate::{
    desired::{GroupKind, HookPoint, LogicalNodeSpec, NodeSpec, Policy, revision},
    effect::{ActionKind, CommandKind, NodeRequest},
    hold::{Hold, HoldCode},
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, IdempotencyKey, LogicalNodeId, OperationId,
        RevisionDigest, SessionId, StepId, Uuid,
    },
    redact::Redacted,
    time::Timestamp,
};

/// An effect on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The operation that covers it.
    pub operation: OperationId,
    /// Its step.
    pub step: StepId,
    /// Which command or hook.
    pub command: ActionKind,
    /// The key that a repeat would carry.
    pub key: IdempotencyKey,
    /// The fence under which it went out.
    pub fence: Fence,
    /// When its outcome counts as unknown.
    pub deadline: Timestamp,
}

/// An effect whose outcome is not known: it is looked for and adopted, never repeated blind (D7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ambiguity {
    /// The operation that covered it.
    pub operation: OperationId,
    /// Its step.
    pub step: StepId,
    /// Which command or hook.
    pub command: ActionKind,
    /// Since when.
    pub since: Timestamp,
    /// The first of the looks that found nothing, if there was one.
    pub first_miss: Option<Timestamp>,
    /// How many looks told nothing; spaces them out.
    pub looks: u32,
    /// When to look next.
    pub look_at: Timestamp,
}

/// An effect that failed and may be tried again on the same attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// How often it failed in a row.
    pub tries: u32,
    /// When it may be tried again.
    pub at: Timestamp,
    /// What went wrong last, cleaned.
    pub message: Redacted,
}

/// How failures of the slot are followed up; carried from attempt to attempt (D5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    /// Consecutive failures without reaching `Dormant`.
    pub failures: u32,
    /// How many delays were given so far; the exponent of the next.
    pub delays: u32,
    /// Before this, nothing new is tried.
    pub not_before: Option<Timestamp>,
}

/// Why an attempt is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeleteReason {
    /// The slot is no longer wanted.
    Undesired,
    /// Another revision is wanted.
    Replaced,
    /// It failed.
    Failed,
    /// Its workload ended, and is to run again from the start.
    Rerun,
}

/// A deletion under way; never cancelled (D8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// Why.
    pub reason: DeleteReason,
    /// Since when.
    pub since: Timestamp,
}

/// Which of a slot's attempts is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The present one.
    Present,
    /// The one beside it.
    Second,
}

/// The other attempt of a slot: a candidate on its way up, or one that gave way and is on its way out (D10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// What is known of the attempt.
    pub record: NodeRecord,
    /// When a look by id last showed its workload running; a promotion needs a fresh one (R173).
    pub seen: Option<Timestamp>,
    /// When to look again, if the last look told nothing.
    pub look_at: Option<Timestamp>,
}

impl Second {
    /// An attempt of which nothing was seen yet.
    pub const fn new(record: NodeRecord) -> Self {
        Self { record, seen: None, look_at: None }
    }
}

/// What is known of one slot.
///
/// The order of the fields is that of memory: what a pass over a steady fleet reads of a record lies together,
/// so that it costs one line of the cache and not nine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct NodeRecord {
    /// How it is treated: as of the attempt's start, renewed when the shape is.
    pub policy: Arc<Policy>,
    /// True if the record itself asks for nothing; derived, so not stored.
    #[serde(skip)]
    pub(crate) settled: bool,
    /// The digest of `spec`.
    pub revision: RevisionDigest,
    /// The slot.
    pub slot: LogicalNodeId,
    /// Its present attempt.
    pub attempt: AttemptId,
    /// The generation in which the slot got its record; part of the identity of each of its attempts.
    #[serde(default)]
    pub born: Generation,
    /// What this attempt implements.
    pub spec: Arc<NodeSpec>,
    /// The version of that digest; a digest of another version is made anew from `spec` (C13).
    #[serde(default = "revision::first_version", skip_serializing_if = "revision::is_first")]
    pub revision_version: u32,
    /// How often its slot had been asked to begin anew when its workload was last to be started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub round: u32,
    /// Where it is in its life.
    pub stage: NodeStage,
    /// When it entered the stage.
    pub since: Timestamp,
    /// The number that the next bootstrap session gets.
    pub next_session: SessionId,
    /// The effect on its way, if any.
    pub pending: Option<Pending>,
    /// The effect whose outcome is unknown, if any.
    pub ambiguity: Option<Ambiguity>,
    /// The effect to try again, if one failed without failing the attempt.
    pub retry: Option<Retry>,
    /// The deletion under way, if any.
    pub deletion: Option<Deletion>,
    /// The hold, if any.
    pub hold: Option<Hold>,
    /// How failures are followed up.
    pub backoff: Backoff,
    /// When a complete listing first lacked its lease, if the last one did.
    pub missing_since: Option<Timestamp>,
    /// When a listing first said that its workload had ended and was not believed, because too many were said to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect_since: Option<Timestamp>,
    /// The slot's other attempt, while one revision gives way to another; it never has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<Second>>,
    /// The highest ordinal of an attempt that stood beside and is gone: no ordinal is used twice.
    #[serde(default)]
    pub spent: AttemptOrdinal,
    /// What the hooks of this attempt have done.
    #[serde(default, skip_serializing_if = "HookFacts::is_empty")]
    pub hooks: HookFacts,
    /// What the probes of its workload have shown, if any was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Box<Health>>,
    /// The agent that joined for its workload, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentFacts>>,
    /// The last lines of its workload, where they were asked for because its time to join is nearly over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Box<Redacted>>,
    /// When its slot was lately given a new node because the liveness probe failed, the oldest first (R176).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revived: Vec<Timestamp>,
    /// Where the due index has it; derived, so not stored.
    #[serde(skip)]
    pub(crate) due: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_zero(round: &u32) -> bool {
    *round == 0
}

impl NodeRecord {
    /// A fresh attempt.
    pub fn fresh(spec: LogicalNodeSpec, backoff: Backoff, now: Timestamp) -> Self {
        Self {
            slot: spec.slot,
            attempt: spec.attempt,
            born: spec.born,
            spec: spec.spec,
            policy: spec.policy,
            revision: spec.revision,
            revision_version: revision::VERSION,
            round: spec.round,
            stage: NodeStage::New,
            since: now,
            next_session: SessionId::new(1),
            pending: None,
            ambiguity: None,
            retry: None,
            deletion: None,
            hold: None,
            backoff,
            missing_since: None,
            suspect_since: None,
            second: None,
            spent: AttemptOrdinal::new(0),
            hooks: HookFacts::default(),
            health: None,
            agent: None,
            said: None,
            revived: Vec::new(),
            due: None,
            settled: false,
        }
    }

    /// True if the record itself asks for nothing: stable, and without anything open.
    pub(crate) fn is_settled(&self) -> bool {
        let stable = match self.stage {
            NodeStage::Dormant { completed, .. } => {
                completed.is_none() || self.policy.kind == GroupKind::Job
            }
            NodeStage::New
            | NodeStage::LeaseRequested
            | NodeStage::LeaseCreated { .. }
            | NodeStage::EndpointKnown { .. }
            | NodeStage::BootstrapRunning { .. }
            | NodeStage::SwactorJoined { .. }
            | NodeStage::HandedOff { .. }
            | NodeStage::Failed { .. }
            | NodeStage::Destroyed { .. } => false,
        };
        stable
            && self.deletion.is_none()
            && self.pending.is_none()
            && self.ambiguity.is_none()
            && self.hold.is_none()
            && self.second.is_none()
            && !self.is_unready()
            && self.gives_up().is_none()
    }

    /// The present attempt, then the one beside it.
    pub fn attempts(&self) -> impl Iterator<Item = &Self> {
        core::iter::once(self).chain(self.second.as_deref().map(|second| &second.record))
    }

    /// The attempt of one side, if it is there.
    pub fn side(&self, side: Side) -> Option<&Self> {
        match side {
            Side::Present => Some(self),
            Side::Second => self.second.as_deref().map(|second| &second.record),
        }
    }

    /// The slot's attempt of this identity, if it has it.
    pub fn of_attempt(&self, attempt: AttemptId) -> Option<&Self> {
        self.attempts().find(|one| one.attempt == attempt)
    }

    /// What a provider is to know of the attempt, which is of the run `run`.
    pub fn request(&self, run: Uuid) -> NodeRequest {
        let Self { slot, attempt, revision, spec, .. } = self;
        let (slot, spec) = (slot.clone(), Arc::clone(spec));
        NodeRequest { run, slot, attempt: *attempt, revision: *revision, spec }
    }

    /// The ordinal of the slot's next attempt.
    pub fn next_ordinal(&self) -> AttemptOrdinal {
        let used = self.attempts().map(|one| one.attempt.ordinal).max();
        used.unwrap_or(self.spent).max(self.spent).next()
    }

    /// True if it serves: it joined, its readiness probe passes if it has one, and it is not being deleted.
    pub fn is_ready(&self) -> bool {
        self.stage.is_ready() && self.deletion.is_none() && !self.is_unready()
    }

    /// True if an effect is on its way, or one's outcome is not known.
    pub const fn is_open(&self) -> bool {
        self.pending.is_some() || self.ambiguity.is_some()
    }

    /// True if its workload was started, and runs or ended well.
    pub const fn is_started(&self) -> bool {
        let failed = matches!(self.stage, NodeStage::Failed { .. });
        let there = self.stage.has_workload() || self.stage.is_completed();
        there && !failed && self.deletion.is_none()
    }

    /// True if it is a job's, and its workload ended well.
    pub const fn is_completed(&self) -> bool {
        self.stage.is_completed() && self.deletion.is_none()
    }

    /// True if it is of a job whose workload serves and has not ended.
    pub fn is_working(&self) -> bool {
        self.policy.kind == GroupKind::Job && self.is_ready() && !self.is_completed()
    }

    /// True if a workload of it may run: one was started, or may have been.
    pub fn may_run(&self) -> bool {
        self.stage.has_workload() || self.is_under_way(CommandKind::StartBootstrap)
    }

    /// What is on its way, or of unknown outcome.
    pub fn under_way(&self) -> Option<ActionKind> {
        let pending = self.pending.as_ref().map(|pending| pending.command);
        pending.or_else(|| self.ambiguity.as_ref().map(|open| open.command))
    }

    /// True if an effect of that kind is on its way, or its outcome is unknown.
    pub fn is_under_way(&self, kind: impl Into<ActionKind>) -> bool {
        let kind = kind.into();
        self.pending.as_ref().is_some_and(|pending| pending.command == kind)
            || self.ambiguity.as_ref().is_some_and(|open| open.command == kind)
    }

    /// True while its workload is being ended: what a pre-stop hook makes it do is no failure, nor is its end.
    pub fn is_stopping(&self) -> bool {
        let told = HookPoint::PreStop;
        let passed = self.hook_mark(told).is_some_and(|mark| self.hooks.passed == Some(mark));
        passed
            || self.is_under_way(ActionKind::Hook(told))
            || self.is_under_way(CommandKind::CancelBootstrap)
    }

    /// Which run of the hook of `point` is meant in the present stage, if one is possible.
    pub fn hook_mark(&self, point: HookPoint) -> Option<HookMark> {
        let session = match point {
            HookPoint::PreStart => Some(self.next_session),
            HookPoint::PostStart | HookPoint::PreStop => self.stage.session(),
            HookPoint::PostStop => self.hooks.stopped,
        };
        session.map(|session| HookMark { session, point })
    }

    /// True while the attempt may still come to serve.
    pub const fn is_live(&self) -> bool {
        let failed = matches!(self.stage, NodeStage::Failed { .. });
        self.deletion.is_none() && !failed && !self.is_destroyed()
    }

    /// True if nothing of the attempt is left.
    pub const fn is_destroyed(&self) -> bool {
        matches!(self.stage, NodeStage::Destroyed { .. })
    }

    /// True if it is held because it failed too often, or in a way that a retry cannot mend.
    pub fn is_stuck(&self) -> bool {
        let code = self.hold.as_ref().map(|hold| hold.code);
        matches!(code, Some(HoldCode::CrashLoop | HoldCode::Refused))
    }

    /// True if a provider may hold something for it.
    pub fn may_own(&self) -> bool {
        self.stage.lease().is_some()
            || matches!(self.stage, NodeStage::LeaseRequested)
            || self.ambiguity.as_ref().is_some_and(|a| a.command == CommandKind::CreateLease)
    }
}
