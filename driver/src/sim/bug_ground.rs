//! The seeded bugs of providers: a wrapper that says other things than the provider within.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use executor::seam::{
    Capabilities, EffectContext, Exit, Leased, Provider, SessionSink, StartRequest, Work,
};
use reconciler_core::{
    effect::{Certainty, EffectFailure, ExitStatus, Listing, Look, NodeRequest},
    id::{AttemptId, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts},
    redact::Redacted,
};

use super::{bug::Bug, scene::Stage};

/// `inner`, with the seeded bug of the story if that is one of providers.
pub(crate) fn faulty(stage: &Stage, inner: Arc<dyn Provider>) -> Arc<dyn Provider> {
    match stage.with(|scene| scene.bug) {
        Some(
            bug @ (Bug::ListingIsProof
            | Bug::BlindIsAbsent
            | Bug::DoubtIsRefusal
            | Bug::DestroyBelieved
            | Bug::OrphansHidden
            | Bug::ExitInvented),
        ) => Arc::new(Faulty { inner, bug, seen: Mutex::default() }),
        _ => inner,
    }
}

/// A provider with a bug.
struct Faulty {
    inner: Arc<dyn Provider>,
    bug: Bug,
    seen: Mutex<Memory>,
}

/// What it remembers for its bug.
#[derive(Default)]
struct Memory {
    listed: Option<BTreeSet<Uuid>>,
    destroyed: BTreeSet<Uuid>,
}

impl Faulty {
    fn memory<T>(&self, use_it: impl FnOnce(&mut Memory) -> T) -> T {
        use_it(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn said<T>(&self, result: Result<T, EffectFailure>) -> Result<T, EffectFailure> {
        let sure = |failure| EffectFailure { certainty: Certainty::Definite, ..failure };
        if self.bug == Bug::DoubtIsRefusal { result.map_err(sure) } else { result }
    }
}

impl Provider for Faulty {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>> {
        Box::pin(async move { self.said(self.inner.create_lease(ctx, request).await) })
    }

    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        self.inner.lookup_endpoint(ctx, lease)
    }

    fn list_owned(&self, run: Uuid) -> Work<'_, Listing> {
        Box::pin(async move {
            let listing = self.inner.list_owned(run).await;
            let Listing::Complete(mut shown) = listing else { return listing };
            if self.bug == Bug::OrphansHidden {
                shown.retain(|lease| lease.lease.id.as_str().starts_with("lease-"));
            }
            let attempts = shown.iter().map(|lease| lease.attempt).collect();
            self.memory(|memory| memory.listed = Some(attempts));
            Listing::Complete(shown)
        })
    }

    fn inspect<'a>(
        &'a self,
        run: Uuid,
        slot: &'a LogicalNodeId,
        attempt: AttemptId,
        lease: Option<&'a LeaseFacts>,
    ) -> Work<'a, Look> {
        Box::pin(async move {
            let look = self.inner.inspect(run, slot, attempt, lease).await;
            let absent = self.memory(|memory| {
                let listed = memory.listed.as_ref();
                let unlisted = listed.is_some_and(|listed| !listed.contains(&attempt.uuid));
                let destroyed = memory.destroyed.contains(&attempt.uuid);
                let blind = matches!(look, Look::Unknown { .. });
                (self.bug == Bug::ListingIsProof && unlisted)
                    || (self.bug == Bug::DestroyBelieved && destroyed)
                    || (self.bug == Bug::BlindIsAbsent && blind)
            });
            if absent { Look::Absent } else { look }
        })
    }

    fn destroy_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        self.memory(|memory| memory.destroyed.insert(ctx.attempt.uuid));
        Box::pin(async move {
            let result = self.inner.destroy_lease(ctx, lease).await;
            if self.bug == Bug::DestroyBelieved { Ok(()) } else { self.said(result) }
        })
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        start: &'a StartRequest,
        sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        Box::pin(async move { self.said(self.inner.start_bootstrap(ctx, start, sink).await) })
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        workload: &'a Handle,
        grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        self.inner.cancel_bootstrap(ctx, lease, workload, grace)
    }

    fn complete_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        self.inner.complete_bootstrap(ctx, lease, workload)
    }

    fn watch(&self, lease: &LeaseFacts, workload: &Handle) -> Option<Work<'static, Exit>> {
        if self.bug != Bug::ExitInvented {
            return self.inner.watch(lease, workload);
        }
        Some(Box::pin(async {
            tokio::time::sleep(Duration::from_secs(40)).await;
            Exit { status: ExitStatus::Code(1), tail: Redacted::default() }
        }))
    }
}
