//! The observing side: listings, looks by id, and watches on workloads. None of it changes anything.

use std::{
    collections::BTreeSet,
    sync::{Arc, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use reconciler_core::{
    effect::{HandleFacts, Listing, Look},
    id::{AttemptId, LogicalNodeId, ProviderName, Uuid},
    observed::{Handle, LeaseFacts},
    redact::Redacted,
};

use super::{
    deadline::{Finish, within},
    ground::{Ground, Job},
    perform::{LOOK_TIMEOUT, seen},
    report::Report,
    run::{Dispatcher, Shared},
};
use crate::seam::{Exit, Provider};

/// How long one listing may take; a longer one tells of a past that is over.
const LISTING_TIMEOUT: Duration = Duration::from_mins(1);

impl Dispatcher {
    /// Lists a provider, unless a listing of it is waiting or under way already; answers with `Report::Listed`.
    pub fn observe_listing(&self, provider: &ProviderName) {
        let shared = &self.shared;
        if shared.is_closed() {
            return;
        }
        match shared.grounds.get(provider) {
            Some(ground) => {
                if !ground.listing.swap(true, Ordering::SeqCst) {
                    shared.queue(ground, Job::List);
                }
            }
            None => shared.report_later(Report::Listed {
                provider: provider.clone(),
                listing: Listing::Unknown(Redacted::new("there is no such provider")),
                visibility: Duration::ZERO,
            }),
        }
    }

    /// Looks at one attempt by its id; answers with `Report::Looked`.
    pub fn inspect(
        &self,
        slot: LogicalNodeId,
        attempt: AttemptId,
        provider: &ProviderName,
        lease: Option<LeaseFacts>,
    ) {
        let shared = &self.shared;
        if shared.is_closed() {
            return;
        }
        match shared.grounds.get(provider) {
            Some(ground) => shared.queue(ground, Job::Look { slot, attempt, lease }),
            None => shared.report_later(Report::Looked {
                provider: provider.clone(),
                slot,
                attempt,
                look: Look::Unknown { why: Redacted::new("there is no such provider") },
            }),
        }
    }

    /// Waits for the end of a workload, where its provider can notice it; answers with `Report::Exited`.
    ///
    /// A workload that is watched already is not watched twice.
    pub fn watch(
        &self,
        slot: LogicalNodeId,
        attempt: AttemptId,
        provider: &ProviderName,
        lease: LeaseFacts,
        workload: Handle,
    ) {
        let Some(ground) = self.shared.grounds.get(provider) else { return };
        let mark = (attempt.uuid, workload.facts().clone());
        if self.shared.is_closed() || !self.shared.watched().insert(mark.clone()) {
            return;
        }
        let (shared, provider) = (Arc::clone(&self.shared), Arc::clone(&ground.provider));
        tokio::spawn(async move {
            let wait = watched_end(provider, lease, workload.clone());
            let end = tokio::spawn(wait).await;
            shared.watched().remove(&mark);
            match end {
                Ok(Some(exit)) => {
                    (shared.report)(Report::Exited { slot, attempt, workload, exit });
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%slot, %error, "a watch broke off; looks go on"),
            }
        });
    }
}

async fn watched_end(
    provider: Arc<dyn Provider>,
    lease: LeaseFacts,
    workload: Handle,
) -> Option<Exit> {
    match provider.watch(&lease, &workload) {
        Some(work) => Some(work.await),
        None => None,
    }
}

impl Shared {
    fn report_later(self: &Arc<Self>, report: Report) {
        let shared = Arc::clone(self);
        tokio::spawn(async move { (shared.report)(report) });
    }

    fn watched(&self) -> MutexGuard<'_, BTreeSet<(Uuid, HandleFacts)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Performs a listing whose turn has come.
pub(super) async fn list(shared: &Shared, ground: &Ground) {
    let (run, provider) = (shared.run, Arc::clone(&ground.provider));
    let why = match within(LISTING_TIMEOUT, async move { provider.list_owned(run).await }).await {
        Finish::Done(listing) => Ok(listing),
        Finish::Late(work) => {
            work.abort();
            Err("the listing took too long".to_owned())
        }
        Finish::Crashed(words) => Err(format!("the listing crashed: {words}")),
        Finish::Stopped => Err("the controller is stopping".to_owned()),
    };
    let listing = why.unwrap_or_else(|why| Listing::Unknown(Redacted::new(&why)));
    let visibility = ground.provider.capabilities().visibility;
    ground.listing.store(false, Ordering::SeqCst);
    (shared.report)(Report::Listed { provider: ground.name.clone(), listing, visibility });
}

/// Performs a look whose turn has come.
pub(super) async fn look(
    shared: &Shared,
    ground: &Ground,
    slot: LogicalNodeId,
    attempt: AttemptId,
    lease: Option<LeaseFacts>,
) {
    let (run, provider, of) = (shared.run, Arc::clone(&ground.provider), slot.clone());
    let work = async move { provider.inspect(run, &of, attempt, lease.as_ref()).await };
    let look = seen(within(LOOK_TIMEOUT, work).await);
    (shared.report)(Report::Looked { provider: ground.name.clone(), slot, attempt, look });
}
