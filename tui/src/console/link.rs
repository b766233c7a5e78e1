//! The cable between the console and a driver: snapshots come, requests go, replies come back.
//!
//! Snapshots are latest-wins, so a slow console never delays a pass; replies are never dropped.

use std::sync::Arc;

use driver::view::{Edit, PlanView, Refusal, RunView};
use reconciler_core::{
    id::{Generation, PlanHash},
    time::Timestamp,
};
use tokio::sync::{mpsc, watch};

/// The console's end of the cable.
#[derive(Debug)]
pub struct ConsoleLink {
    /// The newest state of the link.
    pub snapshots: watch::Receiver<LinkState>,
    /// What the console asks.
    pub requests: mpsc::UnboundedSender<Request>,
    /// What is answered.
    pub replies: mpsc::UnboundedReceiver<Reply>,
}

/// How the link to the driver stands.
#[derive(Clone, Debug)]
pub enum LinkState {
    /// Nothing was heard yet.
    Connecting,
    /// The newest snapshot.
    Live(Arc<RunView>),
    /// The driver cannot be reached; the last snapshot stays on screen.
    Lost {
        /// Since when.
        since: Timestamp,
        /// Why, in one line.
        why: String,
    },
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Comes back in the reply.
    pub id: u64,
    /// What is asked.
    pub ask: Ask,
}

/// What the console asks of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Show what an edit would do; changes nothing.
    Plan(Edit),
    /// Do it, if its plan still has this hash.
    Apply {
        /// The edit that was planned.
        edit: Edit,
        /// The hash that was shown and confirmed.
        hash: PlanHash,
    },
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To [`Ask::Plan`].
    Plan(u64, Result<Box<PlanView>, Refusal>),
    /// To [`Ask::Apply`]: the generation that now is desired.
    Applied(u64, Result<Generation, Refusal>),
}
