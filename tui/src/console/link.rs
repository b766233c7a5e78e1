//! The cable between the console and a driver: snapshots come, requests go, replies come back.
//!
//! Snapshots are latest-wins, so a slow console never delays a pass; replies are never dropped.

use std::{collections::BTreeMap, sync::Arc};

use driver::view::{
    Edit, ExplainView, PlanView, RecoveryOperationView, Refusal, ReleaseView, RunView,
};
use reconciler_core::{
    id::{Generation, GroupId, LogicalNodeId, PlanHash},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc, watch};

/// The console's end of the cable.
#[derive(Debug)]
pub struct ConsoleLink {
    /// The newest state of the link.
    pub snapshots: watch::Receiver<LinkState>,
    /// What the console asks.
    pub requests: mpsc::UnboundedSender<Request>,
    /// What is answered.
    pub replies: mpsc::UnboundedReceiver<Reply>,
    /// Tells whoever tries to come to the driver to do so now.
    pub again: Arc<Notify>,
}

/// How the link to the driver stands.
#[derive(Clone, Debug)]
pub enum LinkState {
    /// Nothing was heard yet.
    Connecting,
    /// The newest snapshot.
    Live(Arc<RunView>),
    /// The link stands, and nothing is heard over it since then: the driver may be stuck.
    Lagging(Timestamp),
    /// The driver cannot be reached; the last snapshot stays on screen.
    Lost(Lost),
}

/// A link that does not stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Since when.
    pub since: Timestamp,
    /// Why, in one line.
    pub why: String,
    /// True if the driver is there, and cannot be understood: it is of another version.
    #[serde(default)]
    pub incompatible: bool,
    /// When it is tried again.
    #[serde(default)]
    pub retry: Option<Retry>,
}

impl Lost {
    /// A link that is lost since then.
    pub fn new(since: Timestamp, why: impl Into<String>) -> Self {
        Self { since, why: why.into(), incompatible: false, retry: None }
    }
}

/// A try to come to the driver again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The how manieth, from 1.
    pub nth: u32,
    /// When.
    pub at: Timestamp,
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
        /// What was typed, where guardrails want it.
        typed: Option<String>,
    },
    /// Look anew at what is held; with the hash that such a look showed, end its holds.
    Release {
        /// The slot or group.
        subject: String,
        /// What was shown and confirmed.
        confirm: Option<PlanHash>,
    },
    /// The open operations.
    Operations,
    /// All that is said of a node.
    Explain(LogicalNodeId),
    /// Write these counts into the desired-state file.
    WriteBack(BTreeMap<GroupId, u32>),
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Ask::Plan`].
    Plan(u64, Result<Box<PlanView>, Refusal>),
    /// To [`Ask::Apply`]: the generation that now is desired.
    Applied(u64, Result<Generation, Refusal>),
    /// To [`Ask::Release`]: what it would end, or ended.
    Release(u64, Result<Box<ReleaseView>, Refusal>),
    /// To [`Ask::Operations`].
    Operations(u64, Result<Vec<RecoveryOperationView>, Refusal>),
    /// To [`Ask::Explain`].
    Explained(u64, Result<Box<ExplainView>, Refusal>),
    /// To [`Ask::WriteBack`]: the file that was written.
    Written(u64, Result<String, Refusal>),
}
