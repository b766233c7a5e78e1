//! A provider that answers at once, ends a workload when it is told to, and notes when it is called.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use executor::seam::{
    Capabilities, EffectContext, Exit, Fencing, Leased, Provider, SessionSink, StartRequest, Work,
};
use reconciler_core::{
    effect::{
        Certainty, EffectFailure, ExitStatus, FailureClass, Listing, Look, NodeRequest, OwnedLease,
    },
    id::{AttemptId, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
};
use tokio::sync::{mpsc, oneshot};

/// Makes everything up.
pub(crate) struct Instantly {
    capabilities: Capabilities,
    /// What a listing shows.
    owned: Vec<OwnedLease>,
    watched: Mutex<BTreeMap<LeaseId, oneshot::Sender<()>>>,
    /// So many leases are refused from now on.
    refusals: AtomicU32,
    /// When each slot got its lease last, by the wall clock.
    leased: Mutex<BTreeMap<LogicalNodeId, SystemTime>>,
    calls: mpsc::UnboundedSender<Instant>,
}

impl Instantly {
    /// Shows `owned` in its listings, and tells of each call that takes a lease or gives one back.
    pub(crate) fn new(owned: Vec<OwnedLease>) -> (Arc<Self>, mpsc::UnboundedReceiver<Instant>) {
        let (calls, told) = mpsc::unbounded_channel();
        let capabilities = Capabilities {
            kind: "instant",
            version: 1,
            fencing: Fencing::Advisory,
            visibility: Duration::ZERO,
            listing_period: Duration::from_hours(1),
            rate: None,
            images: false,
            resources: false,
            hooks: false,
            probes: false,
            agents: false,
            secrets: false,
        };
        let (watched, leased) = (Mutex::default(), Mutex::default());
        let refusals = AtomicU32::new(0);
        (Arc::new(Self { capabilities, owned, watched, refusals, leased, calls }), told)
    }

    /// Ends the workload of a lease; false if nobody watches it yet.
    pub(crate) fn end(&self, lease: &LeaseId) -> bool {
        self.watched().remove(lease).is_some_and(|waits| waits.send(()).is_ok())
    }

    /// Ends every workload that is watched.
    pub(crate) fn end_all(&self) {
        for waits in std::mem::take(&mut *self.watched()).into_values() {
            // One that nobody waits for any more has ended before.
            waits.send(()).unwrap_or_default();
        }
    }

    /// Refuses the next `n` leases, for certain.
    pub(crate) fn refuse(&self, n: u32) {
        self.refusals.store(n, Ordering::Relaxed);
    }

    /// When a slot got its lease last.
    pub(crate) fn leased_at(&self, slot: &LogicalNodeId) -> Option<SystemTime> {
        self.leased.lock().unwrap_or_else(PoisonError::into_inner).get(slot).copied()
    }

    fn refuses(&self) -> bool {
        let less = |n: u32| n.checked_sub(1);
        self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<LeaseId, oneshot::Sender<()>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn called(&self) {
        // After the measurement nobody listens.
        self.calls.send(Instant::now()).unwrap_or_default();
    }
}

/// The lease of an attempt.
pub(crate) fn lease_id(slot: &LogicalNodeId, attempt: AttemptId) -> LeaseId {
    LeaseId::new(&format!("{slot}.{}", attempt.ordinal))
}

impl Provider for Instantly {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>> {
        self.called();
        if self.refuses() {
            let failure = EffectFailure {
                certainty: Certainty::Definite,
                class: FailureClass::Unavailable,
                message: "refused".into(),
            };
            return Box::pin(async move { Err(failure) });
        }
        let mut leased = self.leased.lock().unwrap_or_else(PoisonError::into_inner);
        leased.insert(ctx.slot.clone(), SystemTime::now());
        drop(leased);
        let id = lease_id(&ctx.slot, ctx.attempt);
        let lease = LeaseFacts { id, fence: ctx.fence, handle: Handle::default() };
        Box::pin(async move { Ok(Leased { lease, endpoint: Some(Endpoint::default()) }) })
    }

    fn lookup_endpoint<'a>(
        &'a self,
        _ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        Box::pin(async { Ok(Some(Endpoint::default())) })
    }

    fn list_owned(&self, _run: Uuid) -> Work<'_, Listing> {
        Box::pin(async { Listing::Complete(self.owned.clone()) })
    }

    fn inspect<'a>(
        &'a self,
        _run: Uuid,
        _slot: &'a LogicalNodeId,
        _attempt: AttemptId,
        _lease: Option<&'a LeaseFacts>,
    ) -> Work<'a, Look> {
        Box::pin(async { Look::Absent })
    }

    fn destroy_lease<'a>(
        &'a self,
        _ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        self.called();
        Box::pin(async { Ok(()) })
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _start: &'a StartRequest,
        _sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        let facts = BTreeMap::from([("of".to_owned(), ctx.attempt.uuid.to_string())]);
        Box::pin(async { Ok(Handle::new(facts)) })
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        _ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
        _grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(async { Ok(()) })
    }

    fn complete_bootstrap<'a>(
        &'a self,
        _ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(async { Ok(()) })
    }

    fn watch(&self, lease: &LeaseFacts, _workload: &Handle) -> Option<Work<'static, Exit>> {
        let (end, ended) = oneshot::channel();
        self.watched().insert(lease.id.clone(), end);
        Some(Box::pin(async move {
            if ended.await.is_err() {
                // Another watch took its place.
                std::future::pending::<()>().await;
            }
            Exit { status: ExitStatus::Code(0), tail: "".into() }
        }))
    }
}
