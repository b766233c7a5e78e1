//! The provider seam over processes of this machine: hands each call to a thread that may block.
//!
//! Spawning suspends its thread until the program is executed, and every other call touches the file system or
//! waits, so none runs on the reactor. A call that was begun goes on to its end whether or not anybody still
//! waits for it, which keeps its effect whole.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use reconciler_core::{
    effect::{EffectFailure, HookRun, Listing, Look, NodeRequest},
    id::{AttemptId, Fence, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, ProbeAnswer},
    redact::Redacted,
};

use tokio::sync::oneshot;

use super::{
    files::Process, ground::Ground, hook, kept, lease, logs, look, probe, problem::Problem,
    session, stop, watch::watch,
};
use crate::seam::{
    Capabilities, EffectContext, Exit, Fencing, Leased, ProbeAsk, Provider, ProviderPlace,
    SessionSink, StartRequest, Work,
};

/// Exits come by themselves; a listing only finds what nobody told.
const LISTING_PERIOD: Duration = Duration::from_mins(1);

/// Nodes as processes of this machine, each in a session of its own that survives the driver.
#[derive(Debug)]
pub struct ProcessProvider {
    capabilities: Capabilities,
    ground: Arc<Ground>,
}

/// What every process provider can do.
pub(super) const fn capabilities() -> Capabilities {
    Capabilities {
        kind: "process",
        version: 1,
        fencing: Fencing::Enforced,
        visibility: Duration::ZERO,
        listing_period: LISTING_PERIOD,
        rate: None,
        images: false,
        resources: false,
        hooks: true,
        probes: true,
        agents: true,
        secrets: true,
    }
}

impl ProcessProvider {
    /// Makes a provider; nothing is written before the first lease.
    pub fn new(place: ProviderPlace, log_max_bytes: u64) -> Self {
        let ground = Arc::new(Ground::new(place, log_max_bytes));
        Self { capabilities: capabilities(), ground }
    }

    /// Every output file of a slot, the oldest attempt first; needs no running provider.
    pub fn log_paths(state_dir: &Path, slot: &LogicalNodeId) -> Vec<PathBuf> {
        logs::log_paths(state_dir, slot)
    }

    /// An effect that may wait for something: for a workload to end, or for a command.
    fn effect<'a, T: Send + 'static>(
        &self,
        job: impl FnOnce(&Ground) -> Result<T, EffectFailure> + Send + 'static,
    ) -> Work<'a, Result<T, EffectFailure>> {
        let answer = beside(&self.ground, job);
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(Problem::Crashed.ambiguous())) })
    }

    /// An effect that only works: more of them at once than the machine can do would get in each other's way.
    fn brief<'a, T: Send + 'static>(
        &self,
        job: impl FnOnce(&Ground) -> Result<T, EffectFailure> + Send + 'static,
    ) -> Work<'a, Result<T, EffectFailure>> {
        let ground = Arc::clone(&self.ground);
        Box::pin(async move {
            let _turn = ground.turns.acquire().await;
            let answer = beside(&ground, job);
            answer.await.unwrap_or_else(|_| Err(Problem::Crashed.ambiguous()))
        })
    }
}

/// Does `job` on a thread that may block.
fn beside<T: Send + 'static>(
    ground: &Arc<Ground>,
    job: impl FnOnce(&Ground) -> T + Send + 'static,
) -> oneshot::Receiver<T> {
    let ground = Arc::clone(ground);
    let (sender, answer) = oneshot::channel();
    drop(tokio::task::spawn_blocking(move || {
        // Whoever does not wait any more needs no answer.
        drop(sender.send(job(&ground)));
    }));
    answer
}

impl Provider for ProcessProvider {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>> {
        let (ctx, request) = (ctx.clone(), request.clone());
        self.brief(move |ground| lease::create(ground, &ctx, &request))
    }

    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        let ctx = ctx.clone();
        self.brief(move |ground| {
            let (dir, owner) = ground.owned(&ctx).map_err(|problem| problem.definite())?;
            match owner {
                Some(owner) => Ok(Some(owner.endpoint())),
                None => Err(Problem::NoLease(dir.path().to_owned()).definite()),
            }
        })
    }

    fn list_owned(&self, run: Uuid) -> Work<'_, Listing> {
        let answer = beside(&self.ground, move |ground| look::list(ground, run));
        Box::pin(async move { answer.await.unwrap_or_else(|_| Listing::Unknown(crashed())) })
    }

    fn inspect<'a>(
        &'a self,
        run: Uuid,
        slot: &'a LogicalNodeId,
        attempt: AttemptId,
        lease: Option<&'a LeaseFacts>,
    ) -> Work<'a, Look> {
        // What this process itself saw go needs no look at the disk.
        if self.ground.has_released(attempt.uuid) {
            return Box::pin(std::future::ready(Look::Absent));
        }
        let (slot, leased) = (slot.clone(), lease.is_some());
        let job = move |ground: &Ground| look::inspect(ground, run, &slot, attempt, leased);
        let answer = beside(&self.ground, job);
        Box::pin(async move { answer.await.unwrap_or_else(|_| Look::Unknown { why: crashed() }) })
    }

    fn destroy_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let ctx = ctx.clone();
        self.effect(move |ground| lease::destroy(ground, &ctx))
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        start: &'a StartRequest,
        sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        let (ctx, start) = (ctx.clone(), start.clone());
        let verifies = !start.request.spec.boot.verify.is_empty();
        let job = move |ground: &Ground| session::start(ground, &ctx, &start, &sink);
        if verifies { self.effect(job) } else { self.brief(job) }
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        workload: &'a Handle,
        grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let (ctx, known) = (ctx.clone(), Process::from_handle(workload));
        self.effect(move |ground| stop::cancel(ground, &ctx, known.as_ref(), grace))
    }

    fn complete_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let ctx = ctx.clone();
        self.brief(move |ground| session::complete(ground, &ctx))
    }

    fn run_hook<'a>(
        &'a self,
        ctx: &'a EffectContext,
        run: &'a HookRun,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let (ctx, run) = (ctx.clone(), run.clone());
        self.effect(move |ground| hook::run(ground, &ctx, &run))
    }

    fn probe<'a>(&'a self, ask: &'a ProbeAsk) -> Work<'a, ProbeAnswer> {
        let ask = ask.clone();
        let answer = beside(&self.ground, move |ground| probe::ask(ground, &ask));
        Box::pin(async move { answer.await.unwrap_or_else(|_| ProbeAnswer::Unknown(crashed())) })
    }

    fn forget(&self, slot: &LogicalNodeId, fence: Fence) {
        let admitted = self.ground.fence.admit(fence, false);
        if let Err(problem) = admitted.and_then(|()| kept::forget(&self.ground, slot)) {
            tracing::warn!(problem = %problem.told(), "cannot remove the output of a failed attempt");
        }
    }

    fn last_lines<'a>(&'a self, lease: &'a LeaseFacts) -> Work<'a, Redacted> {
        let lease = lease.id.clone();
        let answer = beside(&self.ground, move |ground| {
            let dir = ground.leased(lease.as_str());
            dir.map(|dir| logs::tail(&dir, &ground.place.secrets)).unwrap_or_default()
        });
        Box::pin(async move { answer.await.unwrap_or_default() })
    }

    fn close(&self) -> Work<'_, ()> {
        let swept = beside(&self.ground, |ground| ground.sweeper.sweep());
        // What a panic left is cleared by the next listing.
        Box::pin(async move { swept.await.unwrap_or_default() })
    }

    fn watch(&self, lease: &LeaseFacts, workload: &Handle) -> Option<Work<'static, Exit>> {
        let watched = watch(&self.ground, lease, workload)?;
        Some(Box::pin(watched))
    }
}

fn crashed() -> Redacted {
    Problem::Crashed.told()
}
