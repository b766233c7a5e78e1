//! What can be folded: facts, the transitions that a pass decides, and what a fold did with them.

use alloc::{boxed::Box, sync::Arc};

use crate::{
    desired::{LogicalNodeSpec, Probe, ProbeKind},
    effect::{EffectReport, ExitStatus, Listing, Look},
    hold::Hold,
    id::{AttemptId, Fence, GroupId, LogicalNodeId, ProviderName, SessionId},
    observed::{AgentNews, DeleteReason, Handle, Pending, ProbeAnswer, SessionStage},
    reconcile::RolloutChange,
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// A change of the record that a pass decided; no provider is involved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// A wanted slot without a record gets one.
    Insert(Box<LogicalNodeSpec>),
    /// The attempt is to go.
    BeginDelete(DeleteReason),
    /// Nothing of it is left.
    MarkDestroyed,
    /// A fresh attempt follows.
    Restart(Box<LogicalNodeSpec>),
    /// The workload ran for the settle time: it joined.
    Settle,
    /// The node was ready for the stable interval.
    Rest,
    /// An effect ran out of time: its outcome is unknown.
    Expire,
    /// A stage ran out of time: the attempt failed.
    TimeOut,
    /// Its startup or liveness probe fails: the attempt failed, if its budget and the state of its group allow (R176).
    GiveUp(ProbeKind),
    /// The group is treated differently from now on.
    Retune(Box<LogicalNodeSpec>),
    /// The record makes no sense.
    Hold(Hold),
    /// The record of an unwanted slot goes.
    Reap,
    /// A candidate of another revision begins beside the present attempt.
    Candidate(Box<LogicalNodeSpec>),
    /// The candidate takes the present attempt's place, which begins to go.
    Promote,
    /// The same for the attempt beside the present one.
    Beside(Box<Transition>),
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A pass decided a transition.
    Decided {
        /// The slot.
        slot: LogicalNodeId,
        /// What was decided.
        transition: Transition,
    },
    /// A step's intent is on its way to disk; its effect follows.
    Dispatched {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The effect.
        pending: Pending,
    },
    /// An effect ended.
    Reported(EffectReport),
    /// A bootstrap session reported its progress.
    Session {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The session.
        session: SessionId,
        /// The report's number.
        seq: u64,
        /// How far it has come.
        stage: SessionStage,
    },
    /// What the workload of a session wrote last, as its time to join is nearly over.
    Said {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The session.
        session: SessionId,
        /// Its last lines.
        tail: Redacted,
    },
    /// A workload ended.
    Exited {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// Which of the attempt's workloads.
        workload: Handle,
        /// How.
        status: ExitStatus,
        /// Its last lines.
        tail: Redacted,
    },
    /// The agent of a workload joined, is not heard of, or is back.
    Agent {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The session of its workload.
        session: SessionId,
        /// Which of these.
        news: AgentNews,
    },
    /// A workload was asked by one of its probes.
    Probed {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// The session of the workload that was asked.
        session: SessionId,
        /// Which probe.
        kind: ProbeKind,
        /// What it was when it was asked; an answer to another one says nothing.
        probe: Arc<Probe>,
        /// What came of it.
        answer: ProbeAnswer,
    },
    /// One attempt was looked at by its id.
    Looked {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
        /// What was seen.
        look: Look,
        /// How long a new thing may stay invisible at this provider.
        visibility: Millis,
    },
    /// A provider was listed.
    Listed {
        /// Which.
        provider: ProviderName,
        /// What it holds.
        listing: Listing,
        /// When the listing was asked for.
        asked_at: Timestamp,
        /// How far two complete listings must be apart to prove an absence.
        grace: Millis,
        /// The fence of this driver.
        fence: Fence,
    },
    /// A driver took over: whatever was on its way has an unknown outcome now.
    Resumed,
    /// A pass decided what becomes of a group's update.
    Rollout {
        /// The group.
        group: GroupId,
        /// What.
        change: RolloutChange,
    },
    /// An operator paused a group's update (`true`), or lets it go on.
    Paused(GroupId, bool),
    /// An operator released a slot's hold.
    ReleasedSlot(LogicalNodeId),
    /// An operator released a group's hold: what was last seen is to be believed.
    ReleasedGroup(GroupId),
}

/// What a fold did with a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stale or illegal fact is worth counting"]
pub enum Verdict {
    /// It changed what is known.
    Applied,
    /// It told nothing new.
    Unchanged,
    /// It speaks of an attempt, step or session that is over.
    Stale,
    /// It cannot be true of the record as it stands; nothing was changed.
    Illegal,
}
