//! A driver, wherever it runs: in this process, or behind a socket. The faces know only this.

use std::sync::Arc;

use reconciler_core::id::{Generation, LogicalNodeId, PassNumber, PlanHash};

use crate::{
    api::{CallError, Client, Watch},
    handle::Handle,
    onlooker::Onlooker,
    source::Source,
    view::{Edit, ExplainView, OutputView, PlanView, ReleaseView, RunView},
};

/// A way to a driver.
#[derive(Clone, Debug)]
pub enum Link {
    /// It runs in this process.
    Embedded(Handle),
    /// It runs elsewhere.
    Attached(Client),
}

impl Link {
    /// The state of the run; with `after`, once a later pass did something, or after a while without news.
    ///
    /// # Errors
    /// Fails if the driver does not answer.
    pub async fn view(&self, after: Option<PassNumber>) -> Result<Arc<RunView>, CallError> {
        match self {
            Self::Embedded(handle) => {
                let mut published = handle.published();
                if let Some(after) = after {
                    // Without news the present state is the answer, as over the socket.
                    let news = published.wait_for(|p| p.pass() != after);
                    drop(tokio::time::timeout(std::time::Duration::from_secs(10), news).await);
                }
                let latest = published.borrow().clone();
                Ok(Arc::new(latest.view()))
            }
            Self::Attached(client) => client.snapshot(after).await.map(Arc::new),
        }
    }

    /// Looks at the run from now on.
    pub fn look(&self) -> Onlooker {
        match self {
            Self::Embedded(handle) => Onlooker::embedded(handle.published()),
            Self::Attached(client) => Onlooker::attached(Watch::new(client.clone())),
        }
    }

    /// Explains a slot, or every slot of a group.
    ///
    /// # Errors
    /// Fails if there is no such subject, or the driver does not answer.
    pub async fn explain(&self, subject: &str) -> Result<Vec<ExplainView>, CallError> {
        match self {
            Self::Embedded(handle) => Ok(handle.explain(subject)?),
            Self::Attached(client) => client.explain(subject).await,
        }
    }

    /// What the agent of `slot` told last of what its workload wrote.
    ///
    /// # Errors
    /// Fails if no agent of it is heard, or the driver does not answer.
    pub async fn output(&self, slot: &LogicalNodeId) -> Result<OutputView, CallError> {
        match self {
            Self::Embedded(handle) => Ok(handle.output(slot.clone()).await?),
            Self::Attached(client) => client.output(slot).await,
        }
    }

    /// What `edit` would do.
    ///
    /// # Errors
    /// Fails if the driver refuses or does not answer.
    pub async fn plan(&self, edit: Edit) -> Result<PlanView, CallError> {
        match self {
            Self::Embedded(handle) => Ok(handle.plan(edit).await?),
            Self::Attached(client) => client.plan(edit).await,
        }
    }

    /// Does what was shown; answers once the intent is durable.
    ///
    /// # Errors
    /// Fails if the driver refuses or does not answer.
    pub async fn apply(
        &self,
        edit: Edit,
        hash: PlanHash,
        source: Source,
    ) -> Result<Generation, CallError> {
        match self {
            Self::Embedded(handle) => Ok(handle.apply(edit, hash, source).await?),
            Self::Attached(client) => client.apply(edit, hash, source).await,
        }
    }

    /// Shows what a release would end, and ends it if `confirm` is right.
    ///
    /// # Errors
    /// Fails if the driver refuses or does not answer.
    pub async fn release(
        &self,
        subject: String,
        confirm: Option<PlanHash>,
    ) -> Result<ReleaseView, CallError> {
        match self {
            Self::Embedded(handle) => Ok(handle.release(subject, confirm).await?),
            Self::Attached(client) => client.release(subject, confirm).await,
        }
    }
}
