//! The seam between the driver and whatever keeps its journal: submit and poll.
//!
//! Submitting never waits for the disk, and polling never waits at all, so that a simulator can complete commits
//! in an order of its own. What is submitted up to a flush can share one sync. Answers come in the order of submission.

use std::{io, sync::Arc};

use reconciler_core::{
    desired::ShapeError,
    durable::Durable,
    effect::Intent,
    id::{Fence, LogicalNodeId, OperationId, PlanHash, ProviderName, StepId},
    ownership::{OwnershipError, Resource},
    time::Timestamp,
};

use crate::{
    event::{EventWrite, PassRow},
    operation::OperationWrite,
    record::{GroupWrite, RecordWrite, RolloutWrite, ShapeRow, UsedPlan},
    step::StepWrite,
};

/// A store of commits.
pub trait Store: Send {
    /// Takes a commit. It is kept by the next [`flush`](Self::flush), or sooner; the answer comes from
    /// [`poll`](Self::poll) under the ticket.
    ///
    /// Waits only while more is queued than the store has room for.
    fn submit(&mut self, commit: Commit) -> Ticket;

    /// Begins to keep what was submitted; polling does so too. A store that writes when it is polled has nothing to
    /// begin.
    fn flush(&mut self) {}

    /// The next answer, if one is there. Answers come in the order of submission, each once.
    fn poll(&mut self) -> Option<Committed>;

    /// True if a plan with this hash was confirmed before.
    fn is_used(&self, hash: &PlanHash) -> bool;

    /// What it has done since it was opened; nothing of a store that keeps nothing.
    fn stats(&self) -> StoreStats {
        StoreStats::default()
    }
}

/// What a store has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Syncs of the write-ahead log and of the file; none where nothing is kept.
    pub syncs: u64,
    /// Commits that were kept.
    pub commits: u64,
    /// Rows that they touched.
    pub rows: u64,
}

/// The number of a submitted commit; rises by one with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What became of a commit.
#[derive(Debug)]
pub struct Committed {
    /// Which one.
    pub ticket: Ticket,
    /// Its intents, now on disk and in the order given; or why nothing of it was kept.
    pub result: Result<Vec<Durable<Intent>>, StoreError>,
}

/// Everything that one pass wants written: all of it, or nothing.
///
/// The parts are applied in the order of the fields. An operation may be opened, get steps and be closed in one
/// commit; closing comes last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// When the pass ran: the time of everything here that has none of its own.
    pub at: Timestamp,
    /// The pass itself.
    pub pass: Option<PassRow>,
    /// A new shape, or the present one with a new file digest.
    pub shape: Option<ShapeRow>,
    /// The plan that is confirmed.
    pub used_plan: Option<UsedPlan>,
    /// Operations that are opened and closed.
    pub operations: Vec<OperationWrite>,
    /// Results of earlier steps.
    pub steps: Vec<StepWrite>,
    /// Effects that are to happen next; each becomes a step that is pending.
    pub intents: Vec<Intent>,
    /// Records that changed.
    pub records: Vec<RecordWrite>,
    /// Group holds that changed.
    pub groups: Vec<GroupWrite>,
    /// Updates that began, moved or ended.
    pub rollouts: Vec<RolloutWrite>,
    /// What there is to tell.
    pub events: Vec<EventWrite>,
}

impl Commit {
    /// True if there is nothing to write; such a commit is answered, and costs no sync.
    pub fn is_empty(&self) -> bool {
        let Self {
            at: _,
            pass,
            shape,
            used_plan,
            operations,
            steps,
            intents,
            records,
            groups,
            rollouts,
            events,
        } = self;
        pass.is_none()
            && shape.is_none()
            && used_plan.is_none()
            && operations.is_empty()
            && steps.is_empty()
            && intents.is_empty()
            && records.is_empty()
            && groups.is_empty()
            && rollouts.is_empty()
            && events.is_empty()
    }
}

/// A lease that would take more than its provider has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{slot} asks {provider} for {} {}, and {used} of {capacity} are taken", .asked, .resource.as_str())]
pub struct Shortfall {
    /// The slot.
    pub slot: LogicalNodeId,
    /// The provider.
    pub provider: ProviderName,
    /// Of what.
    pub resource: Resource,
    /// How much is asked for.
    pub asked: u64,
    /// How much is taken.
    pub used: u64,
    /// How much there is.
    pub capacity: u64,
}

/// Why a commit was not kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Another driver took the run; this one must stop (C16).
    #[error("another driver took the run: this one has fence {mine}, the journal has {present}")]
    Fenced {
        /// The fence of this store.
        mine: Fence,
        /// The fence in the journal.
        present: Fence,
    },
    /// The plan was confirmed before.
    #[error("plan {} was used before", .0.short())]
    PlanUsed(PlanHash),
    /// The shape may not follow the present one.
    #[error("the shape may not follow the present one")]
    Shape(#[source] ShapeError),
    /// An intent carries another fence than this store's.
    #[error("the intent of step {step} carries fence {found}, this store has {mine}")]
    IntentFence {
        /// The step.
        step: StepId,
        /// Its fence.
        found: Fence,
        /// The store's.
        mine: Fence,
    },
    /// The number of an operation is taken.
    #[error("operation {0} exists already")]
    OperationUsed(OperationId),
    /// The operation does not exist or is closed; closed ones never change.
    #[error("operation {0} is not open")]
    OperationNotOpen(OperationId),
    /// The number of a step is taken.
    #[error("step {0} exists already")]
    StepUsed(StepId),
    /// There is no such step.
    #[error("step {0} does not exist")]
    StepUnknown(StepId),
    /// What an intent or a record says of what its attempt owns may not be.
    #[error(transparent)]
    Ownership(Box<OwnershipError>),
    /// The evidence on which a lease was admitted is too old.
    #[error("the admission of {0} is over")]
    AdmissionOver(LogicalNodeId),
    /// What a lease takes is not free any more.
    #[error(transparent)]
    NoCapacity(Box<Shortfall>),
    /// Somebody else has the lock of the operation.
    #[error("operation {0} is locked by another process")]
    OperationLocked(OperationId),
    /// The lock of an operation cannot be used.
    #[error("the lock of an operation cannot be used")]
    Lock(#[source] Arc<io::Error>),
    /// A value could not be written as JSON.
    #[error("{what} cannot be written")]
    Encode {
        /// Which value.
        what: String,
        /// Why.
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// The disk or the journal's own bound is full.
    #[error("there is no room to write")]
    Full(#[source] Arc<rusqlite::Error>),
    /// The database failed.
    #[error("the journal cannot be written")]
    Database(#[source] Arc<rusqlite::Error>),
    /// The writer ended without an answer.
    #[error("the journal's writer is gone")]
    WriterGone,
}

impl StoreError {
    /// True if only this commit was refused and the store goes on; after any other error it takes nothing more.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::PlanUsed(_)
            | Self::Shape(_)
            | Self::IntentFence { .. }
            | Self::OperationUsed(_)
            | Self::OperationNotOpen(_)
            | Self::StepUsed(_)
            | Self::StepUnknown(_)
            | Self::Ownership(_)
            | Self::AdmissionOver(_)
            | Self::NoCapacity(_)
            | Self::Encode { .. } => true,
            Self::Fenced { .. }
            | Self::OperationLocked(_)
            | Self::Lock(_)
            | Self::Full(_)
            | Self::Database(_)
            | Self::WriterGone => false,
        }
    }
}
