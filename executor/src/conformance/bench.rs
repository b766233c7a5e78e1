//! The bench that the checks work on: nodes to try, calls with a bound, looks until something shows.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use reconciler_core::{
    desired::{BootSpec, JoinMode, NodeSpec},
    effect::{
        ActionKind, CommandKind, EffectFailure, Listing, Look, NodeRequest, OwnedLease,
        idempotency_key,
    },
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, LogicalNodeId, OperationId, RevisionDigest,
        SessionId, StepId, Uuid,
    },
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
};

use super::{
    options::BatteryOptions,
    report::{Verdict, failed},
};
use crate::seam::{EffectContext, Leased, Provider, SessionObservation, SessionSink, StartRequest};

/// Time between two looks while something is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// One attempt that the battery tries things on.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) slot: LogicalNodeId,
    pub(super) attempt: AttemptId,
    pub(super) request: NodeRequest,
}

/// The provider under trial and how to call it.
pub(super) struct Bench {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) options: BatteryOptions,
    steps: AtomicU64,
    heard: Arc<Mutex<Vec<SessionObservation>>>,
}

impl Bench {
    pub(super) fn new(provider: Arc<dyn Provider>, options: BatteryOptions) -> Self {
        Self { provider, options, steps: AtomicU64::new(0), heard: Arc::default() }
    }

    /// The attempt `index` of the trial group, with `command` as its workload.
    pub(super) fn node(&self, index: u32, command: &[String]) -> Node {
        let slot = LogicalNodeId::new(self.options.group.clone(), index);
        let attempt =
            AttemptId::derive(self.options.run, &slot, Generation::new(1), AttemptOrdinal::new(1));
        let spec = NodeSpec {
            role: "conformance".to_owned(),
            provider: self.options.provider.clone(),
            shape: self.options.shape.clone(),
            boot: BootSpec { command: command.to_vec(), ..BootSpec::default() },
            join: JoinMode::None,
        };
        let revision: RevisionDigest = spec.revision();
        let request = NodeRequest {
            run: self.options.run,
            slot: slot.clone(),
            attempt,
            revision,
            spec: Arc::new(spec),
        };
        Node { slot, attempt, request }
    }

    /// What accompanies a call; the same command for the same node has the same key.
    pub(super) fn context(
        &self,
        node: &Node,
        kind: impl Into<ActionKind>,
        fence: Fence,
    ) -> EffectContext {
        let step = self.steps.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        EffectContext {
            run: self.options.run,
            slot: node.slot.clone(),
            attempt: node.attempt,
            operation: OperationId::new(1),
            step: StepId::new(step),
            key: idempotency_key(node.attempt.uuid, kind, "conformance"),
            fence,
            deadline: Instant::now() + self.options.bound,
        }
    }

    /// A lease as the battery would know it of a node that was never created.
    pub(super) fn unknown_lease(&self) -> LeaseFacts {
        LeaseFacts {
            id: LeaseId::new("conformance-unknown"),
            fence: self.options.fence,
            handle: Handle::default(),
        }
    }

    pub(super) async fn create(
        &self,
        node: &Node,
        fence: Fence,
    ) -> Verdict<Result<Leased, EffectFailure>> {
        let ctx = self.context(node, CommandKind::CreateLease, fence);
        self.bounded("create_lease", self.provider.create_lease(&ctx, &node.request)).await
    }

    pub(super) async fn start(
        &self,
        node: &Node,
        lease: &LeaseFacts,
        endpoint: &Endpoint,
    ) -> Verdict<Handle> {
        self.start_session(node, lease, endpoint, SessionId::new(1)).await
    }

    /// Starts the workload of one session; each session's request has a key of its own.
    pub(super) async fn start_session(
        &self,
        node: &Node,
        lease: &LeaseFacts,
        endpoint: &Endpoint,
        session: SessionId,
    ) -> Verdict<Handle> {
        let kind = CommandKind::StartBootstrap;
        let key = idempotency_key(node.attempt.uuid, kind, &format!("conformance {session}"));
        let ctx = EffectContext { key, ..self.context(node, kind, self.options.fence) };
        let start = StartRequest {
            request: node.request.clone(),
            lease: lease.clone(),
            endpoint: endpoint.clone(),
            session,
            timeout: self.options.bound,
        };
        let heard = Arc::clone(&self.heard);
        heard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let sink: SessionSink = Arc::new(move |report| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        });
        let call = self.provider.start_bootstrap(&ctx, &start, sink);
        must("start_bootstrap", self.bounded("start_bootstrap", call).await?)
    }

    /// The reports of the last session.
    pub(super) fn heard(&self) -> Vec<SessionObservation> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn cancel(
        &self,
        node: &Node,
        lease: &LeaseFacts,
        workload: &Handle,
        fence: Fence,
    ) -> Verdict<Result<(), EffectFailure>> {
        let ctx = self.context(node, CommandKind::CancelBootstrap, fence);
        let grace = self.options.grace;
        let call = self.provider.cancel_bootstrap(&ctx, lease, workload, grace);
        self.bounded("cancel_bootstrap", call).await
    }

    pub(super) async fn destroy(
        &self,
        node: &Node,
        lease: &LeaseFacts,
        fence: Fence,
    ) -> Verdict<Result<(), EffectFailure>> {
        let ctx = self.context(node, CommandKind::DestroyLease, fence);
        self.bounded("destroy_lease", self.provider.destroy_lease(&ctx, lease)).await
    }

    pub(super) async fn look(&self, node: &Node, lease: Option<&LeaseFacts>) -> Verdict<Look> {
        let call = self.provider.inspect(self.options.run, &node.slot, node.attempt, lease);
        self.bounded("inspect", call).await
    }

    /// Looks until `wanted` is seen; fails with what was seen last.
    pub(super) async fn see(
        &self,
        node: &Node,
        lease: Option<&LeaseFacts>,
        what: &str,
        wanted: impl Fn(&Look) -> bool,
    ) -> Verdict<Look> {
        let end = Instant::now() + self.options.bound;
        loop {
            let look = self.look(node, lease).await?;
            if wanted(&look) {
                return Ok(look);
            }
            if Instant::now() >= end {
                return failed(format!("inspect should show {what}; it showed {look:?}"));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Everything listed for the trial run; the provider must vouch for it.
    pub(super) async fn list(&self) -> Verdict<Vec<OwnedLease>> {
        let listing = self.provider.list_owned(self.options.run);
        match self.bounded("list_owned", listing).await? {
            Listing::Complete(leases) => Ok(leases),
            Listing::Partial(_, why) => {
                failed(format!("list_owned vouches only for a part of its list: {why}"))
            }
            Listing::Unknown(why) => failed(format!("list_owned could not list: {why}")),
        }
    }

    /// Lists until `wanted` holds; a new thing may lack as long as the provider says.
    pub(super) async fn list_until(
        &self,
        what: &str,
        wanted: impl Fn(&[OwnedLease]) -> bool,
    ) -> Verdict<Vec<OwnedLease>> {
        let patience = self.options.bound.max(self.provider.capabilities().visibility);
        let end = Instant::now() + patience;
        loop {
            let listed = self.list().await?;
            if wanted(&listed) {
                return Ok(listed);
            }
            if Instant::now() >= end {
                return failed(format!("list_owned should show {what}; it showed {listed:?}"));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits for a call, but no longer than the bound.
    pub(super) async fn bounded<T>(
        &self,
        what: &str,
        call: impl Future<Output = T> + Send,
    ) -> Verdict<T> {
        let bound = self.options.bound;
        match tokio::time::timeout(bound, call).await {
            Ok(value) => Ok(value),
            Err(_) => failed(format!("{what} gave no answer within {} s", bound.as_secs_f32())),
        }
    }
}

/// The value of a call that must succeed.
pub(super) fn must<T>(what: &str, result: Result<T, EffectFailure>) -> Verdict<T> {
    match result {
        Ok(value) => Ok(value),
        Err(failure) => failed(format!("{what} should succeed; it failed: {}", told(&failure))),
    }
}

/// A failure in words.
pub(super) fn told(failure: &EffectFailure) -> String {
    format!("{:?}, {:?}: {}", failure.class, failure.certainty, failure.message)
}

/// How many of `listed` are the given attempt's.
pub(super) fn count(listed: &[OwnedLease], attempt: Uuid) -> usize {
    listed.iter().filter(|lease| lease.attempt == attempt).count()
}
