//! What the loop holds between two wakes. What it does with it stands elsewhere: `run` drives, `observing` looks,
//! `answering` answers the faces, `following` reads the file.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use checkpoint::store::{Commit, Store, Ticket};
use executor::dispatch::Dispatcher;
use reconciler_core::{
    id::{AttemptId, LogicalNodeId},
    time::Timestamp,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use crate::{
    agents::Agents,
    answers::Answers,
    clock::Clock,
    follow::Follow,
    inbox::{Ask, StopReason, Wake},
    journaling::Untold,
    last_lines::Joining,
    listings::Listings,
    prober::Prober,
    publish::Published,
    state::State,
    view::DriverView,
    waiting::Waiting,
};

/// What came up since the last pass, beside the facts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    /// The followed file is to be read.
    pub(crate) file: bool,
    /// A listing came in.
    pub(crate) listed: bool,
    /// The last pass decided something that has a next step.
    pub(crate) next_step: bool,
}

/// The driver at work.
pub(crate) struct Loop {
    pub(crate) state: State,
    pub(crate) store: Box<dyn Store>,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) inbox: mpsc::UnboundedReceiver<Wake>,
    /// The way into the inbox, for what is done beside the loop.
    pub(crate) wake: mpsc::UnboundedSender<Wake>,
    pub(crate) publisher: watch::Sender<Arc<Published>>,
    pub(crate) clock: Clock,
    pub(crate) driver: DriverView,
    pub(crate) follow: Option<Follow>,
    pub(crate) listings: Listings,
    pub(crate) answers: Answers,
    /// Least time between two passes, so that a person can watch the steps.
    pub(crate) pace: Duration,
    /// What came in and is not folded yet.
    pub(crate) facts: Waiting,
    /// The agents that are heard.
    pub(crate) agents: Agents,
    /// When workloads are asked by their probes.
    pub(crate) prober: Prober,
    /// When workloads that are to join are asked what they wrote.
    pub(crate) joining: Joining,
    /// Attempts that are being looked at.
    pub(crate) looking: BTreeSet<(LogicalNodeId, AttemptId)>,
    /// Asks that wait for the first observation.
    pub(crate) early: Vec<Ask>,
    /// Commits that were submitted and not answered.
    pub(crate) open_commits: usize,
    pub(crate) barrier: Option<Ticket>,
    /// Events whose commits were not answered, or that the log does not have yet.
    pub(crate) untold: Untold,
    /// True if a pass ran that nobody was shown yet.
    pub(crate) unpublished: bool,
    pub(crate) trigger: &'static str,
    /// What came up since the last pass, beside the facts.
    pub(crate) news: News,
    /// True once every workload that was found is watched.
    pub(crate) watches: bool,
    pub(crate) next_pass: Instant,
    pub(crate) audit_at: Instant,
    pub(crate) stop: Option<StopReason>,
}

impl Loop {
    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Hands a commit to the journal.
    pub(crate) fn submit(&mut self, commit: Commit) -> Ticket {
        self.open_commits += 1;
        let ticket = self.store.submit(commit);
        self.untold.wait(ticket, std::mem::take(&mut self.state.told));
        ticket
    }
}
