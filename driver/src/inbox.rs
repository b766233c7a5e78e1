//! Everything that can wake the driver, as one closed list.

use executor::dispatch::Report;
use reconciler_core::id::{Generation, LogicalNodeId, PlanHash};
use tokio::sync::oneshot;

use crate::{
    api::agents::Heard,
    source::Source,
    view::{Edit, OutputView, PlanView, Refusal, ReleaseView},
};

/// Why a driver is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// An interrupt from a terminal (exit code 130).
    Interrupted,
    /// A termination request (exit code 143).
    Terminated,
    /// Its work is done.
    Done,
}

/// Something that wakes the driver.
#[derive(Debug)]
pub(crate) enum Wake {
    /// The dispatcher observed something.
    Report(Report),
    /// Something was heard of an agent.
    Agent(Heard),
    /// The journal has answered a commit.
    Committed,
    /// The desired-state file may have changed.
    FileChanged,
    /// A face asks for something.
    Ask(Ask),
    /// The secrets of what is to be confirmed were asked for.
    Checked(Box<Checked>),
    /// The driver is to stop.
    Stop(StopReason),
}

/// What waited for its secrets, and whether they are at hand.
#[derive(Debug)]
pub(crate) struct Checked {
    /// What is to be confirmed.
    pub(crate) then: Then,
    /// What lacks, if something does.
    pub(crate) result: Result<(), Refusal>,
}

/// What is confirmed once its secrets are at hand.
#[derive(Debug)]
pub(crate) enum Then {
    /// What a face asked for.
    Apply {
        /// The edit.
        edit: Edit,
        /// The hash of the plan that was shown.
        hash: PlanHash,
        /// Who asks.
        source: Source,
        /// The generation that it leads to.
        answer: Answer<Generation>,
    },
    /// The content of the followed file.
    File(Edit),
}

/// Where an answer goes.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, Refusal>>;

/// What a face can ask for.
#[derive(Debug)]
pub(crate) enum Ask {
    /// What an edit would do.
    Plan(Edit, Answer<PlanView>),
    /// Do what was shown.
    Apply {
        /// The edit.
        edit: Edit,
        /// The hash of the plan that was shown.
        hash: PlanHash,
        /// Who asks.
        source: Source,
        /// The generation that it leads to.
        answer: Answer<Generation>,
    },
    /// What the agent of a slot told last of what its workload wrote.
    Output(LogicalNodeId, Answer<OutputView>),
    /// Whether the loop turns; answered once nothing waits for the journal.
    Ping(Answer<()>),
    /// End the holds of a slot or group, after a fresh look.
    Release {
        /// The slot or group.
        subject: String,
        /// The hash that the hold printed; nothing happens without it.
        confirm: Option<PlanHash>,
        /// What was found, and whether it was done.
        answer: Answer<ReleaseView>,
    },
}

impl Ask {
    /// Answers whoever asked with `refusal`.
    pub(crate) fn refuse(self, refusal: &Refusal) {
        // A face that went away does not want its answer any more.
        match self {
            Self::Plan(_, answer) => drop(answer.send(Err(refusal.clone()))),
            Self::Output(_, answer) => drop(answer.send(Err(refusal.clone()))),
            Self::Ping(answer) => drop(answer.send(Err(refusal.clone()))),
            Self::Apply { answer, .. } => drop(answer.send(Err(refusal.clone()))),
            Self::Release { answer, .. } => drop(answer.send(Err(refusal.clone()))),
        }
    }
}
