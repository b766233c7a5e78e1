//! A provider that follows a script, counts what reaches it, and a dispatcher around it.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use executor::{
    dispatch::{Dispatcher, Report, Settings},
    seam::{
        Capabilities, EffectContext, Exit, Fencing, Leased, Provider, Rate, SessionObservation,
        SessionSink, StartRequest, Work,
    },
    secret::Secrets,
};
use reconciler_core::{
    desired::{BootSpec, DesiredNodeShape, JoinMode, NodeSpec},
    durable::Durable,
    effect::{
        EffectFailure, EffectReport, ExitStatus, Intent, Listing, Look, NodeManagerCommand,
        NodeRequest, idempotency_key,
    },
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, LogicalNodeId, OperationId, ProviderName,
        RevisionDigest, SessionId, StepId, Uuid,
    },
    observed::{Endpoint, Handle, LeaseFacts, LeaseId, SessionStage},
    redact::Redacted,
    time::{Millis, Timestamp},
};
use tokio::sync::mpsc;

pub(crate) const RUN: Uuid = Uuid::from_bytes([7; 16]);
pub(crate) const FENCE: Fence = Fence::new(3);

/// What the next effects do.
#[derive(Clone)]
pub(crate) enum Behaviour {
    Succeed,
    Fail(EffectFailure),
    Take(Duration),
    Panic,
}

/// A scripted provider.
pub(crate) struct Fake {
    capabilities: Capabilities,
    behaviour: Mutex<Behaviour>,
    pub(crate) effects: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    pub(crate) listings: AtomicUsize,
    under_way: AtomicUsize,
    pub(crate) most_under_way: AtomicUsize,
    pub(crate) order: Mutex<Vec<LogicalNodeId>>,
}

impl Fake {
    pub(crate) fn new(behaviour: Behaviour, rate: Option<Rate>) -> Arc<Self> {
        Arc::new(Self {
            capabilities: Capabilities {
                kind: "fake",
                version: 1,
                fencing: Fencing::Advisory,
                visibility: Duration::from_secs(5),
                listing_period: Duration::from_secs(15),
                rate,
                images: false,
                resources: false,
                hooks: false,
                probes: false,
                agents: false,
                secrets: false,
            },
            behaviour: Mutex::new(behaviour),
            effects: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            listings: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            order: Mutex::default(),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().expect("nobody panicked with it") = behaviour;
    }

    async fn act(&self, slot: &LogicalNodeId) -> Result<(), EffectFailure> {
        self.effects.fetch_add(1, Ordering::SeqCst);
        self.order.lock().expect("nobody panicked with it").push(slot.clone());
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(now, Ordering::SeqCst);
        let behaviour = self.behaviour.lock().expect("nobody panicked with it").clone();
        let result = match behaviour {
            Behaviour::Succeed => Ok(()),
            Behaviour::Fail(failure) => Err(failure),
            Behaviour::Take(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Behaviour::Panic => panic!("the script says so"),
        };
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        self.finished.fetch_add(1, Ordering::SeqCst);
        result
    }
}

impl Provider for Fake {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>> {
        Box::pin(async move {
            self.act(&ctx.slot).await?;
            Ok(Leased { lease: lease(), endpoint: None })
        })
    }

    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        Box::pin(async move { self.act(&ctx.slot).await.map(|()| None) })
    }

    fn list_owned(&self, _run: Uuid) -> Work<'_, Listing> {
        Box::pin(async move {
            self.listings.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(50)).await;
            Listing::Complete(Vec::new())
        })
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
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(self.act(&ctx.slot))
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _start: &'a StartRequest,
        sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        Box::pin(async move {
            let stage = SessionStage::SwactorStarting;
            sink(SessionObservation { seq: 1, stage, line: None });
            self.act(&ctx.slot).await.map(|()| Handle::default())
        })
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
        _grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(self.act(&ctx.slot))
    }

    fn complete_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(self.act(&ctx.slot))
    }

    fn watch(&self, _lease: &LeaseFacts, _workload: &Handle) -> Option<Work<'static, Exit>> {
        Some(Box::pin(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Exit { status: ExitStatus::Code(0), tail: Redacted::default() }
        }))
    }
}

/// A dispatcher over one fake provider, with the fence in our hand and the reports in a queue.
pub(crate) struct Rig {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) reports: mpsc::UnboundedReceiver<Report>,
    pub(crate) fence: Arc<AtomicU64>,
}

impl Rig {
    pub(crate) fn over(provider: &Arc<Fake>, parallelism: usize) -> Self {
        let provider: Arc<dyn Provider> = Arc::<Fake>::clone(provider);
        Self::over_all(BTreeMap::from([(name("fake"), provider)]), parallelism)
    }

    pub(crate) fn over_all(
        providers: BTreeMap<ProviderName, Arc<dyn Provider>>,
        parallelism: usize,
    ) -> Self {
        let (tx, reports) = mpsc::unbounded_channel();
        let fence = Arc::new(AtomicU64::new(FENCE.get()));
        let read = Arc::clone(&fence);
        let dispatcher = Dispatcher::new(
            Settings {
                run: RUN,
                parallelism,
                secrets: Secrets::default(),
                metered: BTreeSet::new(),
                now: Arc::new(|| Timestamp::ZERO),
            },
            providers,
            Arc::new(move || Fence::new(read.load(Ordering::SeqCst))),
            Arc::new(move |report| tx.send(report).expect("the test listens")),
        );
        Self { dispatcher, reports, fence }
    }

    /// The next report, which must be that of an effect.
    pub(crate) async fn effect(&mut self) -> EffectReport {
        match self.next().await {
            Report::Effect(report) => report,
            other @ (Report::Session { .. }
            | Report::Listed { .. }
            | Report::Looked { .. }
            | Report::Probed { .. }
            | Report::Said { .. }
            | Report::Exited { .. }) => panic!("{other:?} is not the report of an effect"),
        }
    }

    pub(crate) async fn next(&mut self) -> Report {
        within(Duration::from_mins(10), self.reports.recv()).await.expect("a report")
    }

    /// True if no report comes, however long one waits.
    pub(crate) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_hours(1), self.reports.recv()).await.is_err()
    }
}

/// Waits for `work`, but not forever.
pub(crate) async fn within<T>(bound: Duration, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(bound, work).await.expect("within its bound")
}

pub(crate) fn name(text: &str) -> ProviderName {
    text.parse().expect("a good name")
}

pub(crate) fn slot(index: u32) -> LogicalNodeId {
    LogicalNodeId::new("web".parse().expect("a good name"), index)
}

pub(crate) fn attempt(slot: &LogicalNodeId) -> AttemptId {
    AttemptId::derive(RUN, slot, Generation::new(1), AttemptOrdinal::new(1))
}

pub(crate) fn lease() -> LeaseFacts {
    LeaseFacts { id: LeaseId::new("lease-1"), fence: FENCE, handle: Handle::default() }
}

pub(crate) fn request(slot: &LogicalNodeId) -> NodeRequest {
    NodeRequest {
        run: RUN,
        slot: slot.clone(),
        attempt: attempt(slot),
        revision: RevisionDigest::of(b"spec"),
        spec: Arc::new(NodeSpec {
            role: "worker".to_owned(),
            provider: name("fake"),
            shape: DesiredNodeShape::default(),
            boot: BootSpec { command: vec!["sleep".into(), "60".into()], ..BootSpec::default() },
            join: JoinMode::None,
        }),
    }
}

pub(crate) fn create(slot: &LogicalNodeId) -> NodeManagerCommand {
    NodeManagerCommand::CreateLease(request(slot))
}

pub(crate) fn start(slot: &LogicalNodeId) -> NodeManagerCommand {
    NodeManagerCommand::StartBootstrap {
        request: request(slot),
        lease: lease(),
        endpoint: Endpoint::default(),
        session: SessionId::new(1),
        timeout: Millis::from_secs(5),
    }
}

pub(crate) fn destroy() -> NodeManagerCommand {
    NodeManagerCommand::DestroyLease(lease())
}

/// An intent of step `step`, as the journal gives it out.
pub(crate) fn durable(
    step: u64,
    slot: &LogicalNodeId,
    command: NodeManagerCommand,
) -> Durable<Intent> {
    let (operation, step) = (OperationId::new(1), StepId::new(step));
    let attempt = attempt(slot);
    let intent = Intent {
        operation,
        step,
        fence: FENCE,
        slot: slot.clone(),
        attempt,
        provider: name("fake"),
        key: idempotency_key(attempt.uuid, command.kind(), ""),
        action: command.into(),
        timeout: Millis::from_secs(10),
        admission: None,
    };
    Durable::seal(intent, operation, step, FENCE)
}
