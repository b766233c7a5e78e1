//! The driver as seen by a face in the same process: ask, and watch.

use std::sync::Arc;

use reconciler_core::id::{Generation, LogicalNodeId, PlanHash};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    inbox::{Answer, Ask, StopReason, Wake},
    publish::Published,
    source::Source,
    view::{Edit, ExplainView, OutputView, PlanView, Refusal, RefusalKind, ReleaseView},
};

/// A driver that runs in this process. Cheap to clone; dropping it stops nothing.
#[derive(Clone, Debug)]
pub struct Handle {
    inbox: mpsc::UnboundedSender<Wake>,
    published: watch::Receiver<Arc<Published>>,
}

impl Handle {
    pub(crate) fn new(
        inbox: mpsc::UnboundedSender<Wake>,
        published: watch::Receiver<Arc<Published>>,
    ) -> Self {
        Self { inbox, published }
    }

    /// The latest snapshot, and a way to wait for the next.
    pub fn published(&self) -> watch::Receiver<Arc<Published>> {
        self.published.clone()
    }

    /// What `edit` would do. Observes nothing anew and changes nothing.
    ///
    /// # Errors
    /// Refuses an edit that makes no sense, and any while the driver stops.
    pub async fn plan(&self, edit: Edit) -> Result<PlanView, Refusal> {
        self.ask(|answer| Ask::Plan(edit, answer)).await
    }

    /// Explains a slot, or every slot of a group, from the latest snapshot.
    ///
    /// # Errors
    /// Refuses a subject that is neither.
    pub fn explain(&self, subject: &str) -> Result<Vec<ExplainView>, Refusal> {
        let latest = self.published.borrow().clone();
        latest.explain(subject)
    }

    /// Does what the plan with `hash` showed; answers once the intent is durable, not once it is done.
    ///
    /// # Errors
    /// Refuses a hash that is stale or used, in which case nothing was changed.
    pub async fn apply(
        &self,
        edit: Edit,
        hash: PlanHash,
        source: Source,
    ) -> Result<Generation, Refusal> {
        self.ask(|answer| Ask::Apply { edit, hash, source, answer }).await
    }

    /// Looks anew at a held slot or group, and ends its holds if `confirm` is the hash that they print.
    ///
    /// # Errors
    /// Refuses a subject that is not held, and a hash that is not the hold's.
    pub async fn release(
        &self,
        subject: String,
        confirm: Option<PlanHash>,
    ) -> Result<ReleaseView, Refusal> {
        self.ask(|answer| Ask::Release { subject, confirm, answer }).await
    }

    /// What the agent of `slot` told last of what its workload wrote.
    ///
    /// # Errors
    /// Refuses a slot of which no agent is heard.
    pub async fn output(&self, slot: LogicalNodeId) -> Result<OutputView, Refusal> {
        self.ask(|answer| Ask::Output(slot, answer)).await
    }

    /// Comes back once the loop has turned and nothing of it waits for the journal; for a watchdog.
    ///
    /// # Errors
    /// Fails if the driver has stopped.
    pub async fn ping(&self) -> Result<(), Refusal> {
        self.ask(Ask::Ping).await
    }

    /// Asks the driver to stop at its next safe point; what runs goes on running.
    pub fn stop(&self, reason: StopReason) {
        // A driver that is gone has stopped.
        drop(self.inbox.send(Wake::Stop(reason)));
    }

    async fn ask<T>(&self, ask: impl FnOnce(Answer<T>) -> Ask) -> Result<T, Refusal> {
        let (answer, reply) = oneshot::channel();
        let gone = || Refusal {
            kind: RefusalKind::Unavailable,
            message: "the driver has stopped".to_owned(),
            moved: Vec::new(),
            hint: None,
        };
        self.inbox.send(Wake::Ask(ask(answer))).map_err(|_closed| gone())?;
        reply.await.map_err(|_dropped| gone())?
    }
}
