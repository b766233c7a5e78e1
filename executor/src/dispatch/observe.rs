//! The observing side: listings, looks by id, and watches on workloads. None of it changes anything.
//!
//! What a listing or a look does when its turn has come stands in `look`.

use std::{
    collections::BTreeSet,
    sync::{Arc, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use reconciler_core::{
    effect::{Listing, Look},
    id::{AttemptId, Fence, LogicalNodeId, ProviderName, SessionId, Uuid},
    observed::{Handle, LeaseFacts},
    redact::Redacted,
};

use super::{job::Job, report::Report, run::Dispatcher, shared::Shared};

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

    /// Looks at what was written last in a session; answers with `Report::Said` where that is anything.
    pub fn last_lines(
        &self,
        of: (LogicalNodeId, AttemptId, SessionId),
        provider: &ProviderName,
        lease: LeaseFacts,
    ) {
        let (shared, (slot, attempt, session)) = (&self.shared, of);
        if let Some(ground) = shared.grounds.get(provider).filter(|_| !shared.is_closed()) {
            shared.queue(ground, Job::LastLines { slot, attempt, session, lease });
        }
    }

    /// Lets every provider drop what it keeps for people of a slot that is gone for good, unless a newer controller
    /// than that of `fence` has the run.
    pub fn forget(&self, slot: &LogicalNodeId, fence: Fence) {
        let present = (self.shared.fence)();
        if present != fence {
            tracing::warn!(%slot, %fence, %present, "a newer controller has the run; nothing is dropped");
            return;
        }
        for ground in self.shared.grounds.values() {
            ground.provider.forget(slot, fence);
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
        let mark = (attempt.uuid, workload.clone());
        if self.shared.is_closed() || !self.shared.watched().insert(mark.clone()) {
            return;
        }
        let provider = Arc::clone(&ground.provider);
        let watched = Watched { shared: Arc::clone(&self.shared), mark };
        tokio::spawn(async move {
            let Some(end) = provider.watch(&lease, &workload) else { return };
            let exit = end.await;
            // From here on it may be watched anew: whoever hears of the end may ask for that.
            let shared = watched.over();
            (shared.report)(Report::Exited { slot, attempt, workload, exit });
        });
    }
}

/// A workload that is watched; dropped, it is watched no more.
struct Watched {
    shared: Arc<Shared>,
    mark: (Uuid, Handle),
}

impl Watched {
    /// Ends the watch; what comes of it is still to be reported.
    fn over(self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.shared.watched().remove(&self.mark);
        if std::thread::panicking() {
            tracing::warn!("a watch broke off; looks go on");
        }
    }
}

impl Shared {
    fn report_later(self: &Arc<Self>, report: Report) {
        let shared = Arc::clone(self);
        tokio::spawn(async move { (shared.report)(report) });
    }

    fn watched(&self) -> MutexGuard<'_, BTreeSet<(Uuid, Handle)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
