//! What may lie over the panes, one at a time, as small state machines.

use driver::view::{Edit, ExplainView, NodeView, RecoveryOperationView, RecoveryVerb, Refusal};
use reconciler_core::id::{GroupId, LogicalNodeId, OperationId, PassNumber};

use super::{confirm::Prompt, moment::Moment, release::ReleaseStage};

/// A view over the panes.
#[derive(Clone, Debug)]
pub(crate) enum Popup {
    /// The keys.
    Help {
        /// The first line that is shown.
        top: usize,
    },
    /// Everything about one slot.
    Detail {
        /// Which.
        slot: LogicalNodeId,
        /// What the driver says of it.
        told: Box<Told>,
        /// True if its lines of the fleet text are shown instead.
        raw: bool,
        /// The first line that is shown.
        top: usize,
    },
    /// A plan on its way.
    Plan {
        /// How far it is.
        stage: Box<PlanStage>,
        /// The first line that is shown.
        top: usize,
    },
    /// The way out of a hold.
    Release {
        /// Of what.
        subject: String,
        /// How far it is.
        stage: Box<ReleaseStage>,
        /// The first line that is shown.
        top: usize,
    },
    /// What is open and could be recovered.
    Operations(Box<Operations>),
    /// One pass: what it moved, and what happened in it.
    Pass {
        /// Which.
        pass: PassNumber,
        /// The first line that is shown.
        top: usize,
    },
    /// Shall live counts be written into the file?
    WriteBack,
    /// May the console end?
    Quit,
}

/// What the driver says of a slot in full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The request whose answer is awaited.
    pub(crate) asked: Option<u64>,
    /// The node as it was when it was asked for last.
    pub(crate) of: Option<NodeView>,
    /// The newest answer.
    pub(crate) answer: Option<Result<Box<ExplainView>, Refusal>>,
}

/// The open operations, once they have come.
#[derive(Clone, Debug)]
pub(crate) enum Operations {
    /// Asked for.
    Asking {
        /// The request.
        id: u64,
    },
    /// To choose from.
    Choice {
        /// What is open.
        list: Vec<RecoveryOperationView>,
        /// Which of the ways is chosen.
        at: usize,
    },
    /// They are not to be had.
    Refused(Refusal),
}

impl Operations {
    /// Every way on: each operation with each of its verbs.
    pub(crate) fn ways(&self) -> Vec<(OperationId, RecoveryVerb)> {
        match self {
            Self::Choice { list, .. } => {
                list.iter().flat_map(|one| one.modes.iter().map(|mode| (one.id, *mode))).collect()
            }
            Self::Asking { .. } | Self::Refused(_) => Vec::new(),
        }
    }
}

/// How far a plan is.
#[derive(Clone, Debug)]
pub(crate) enum PlanStage {
    /// Asked for.
    Asking {
        /// The request.
        id: u64,
        /// What was asked.
        edit: Edit,
        /// Since when.
        since: Moment,
    },
    /// Shown, to be confirmed.
    Prompt(Box<Prompt>),
    /// Confirmed and sent.
    Waiting {
        /// The request.
        id: u64,
        /// Since when.
        since: Moment,
    },
    /// What it was made from has moved; nothing was changed.
    Stale(Refusal),
    /// Not allowed; nothing was changed.
    Refused(Refusal),
    /// It did not work; nothing was changed.
    Failed(Refusal),
    /// The link broke while it was under way: nobody here knows.
    Unknown {
        /// The request, whose answer may still come.
        id: u64,
        /// Why.
        why: String,
    },
}

/// An apply without its answer yet.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// The request.
    pub(crate) id: u64,
    /// What was applied.
    pub(crate) edit: Edit,
}

/// A text that is being typed in the footer.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// The filter; `before` comes back on Esc.
    Filter {
        /// As typed so far.
        text: String,
        /// What stood before.
        before: String,
    },
    /// A command by its name.
    Command {
        /// As typed so far.
        text: String,
    },
    /// A count.
    Count {
        /// Of which group.
        group: GroupId,
        /// As typed so far.
        text: String,
    },
}

impl Popup {
    /// The number of its first line, if it scrolls.
    pub(crate) const fn top_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Help { top }
            | Self::Detail { top, .. }
            | Self::Plan { top, .. }
            | Self::Release { top, .. }
            | Self::Pass { top, .. } => Some(top),
            Self::Operations(_) | Self::WriteBack | Self::Quit => None,
        }
    }
}
