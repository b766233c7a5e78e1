//! `DockerProvider`: each call of the seam, handed to the part that does it.

use std::{sync::Arc, time::Duration};

use reconciler_core::{
    effect::{EffectFailure, HookRun, Listing, Look, NodeRequest},
    id::{AttemptId, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, ProbeAnswer},
    redact::Redacted,
};

use super::{
    ground::Ground,
    hook, lease, look, probe,
    problem::Problem,
    session,
    state::started_of,
    tail::tail,
    wake::{self},
};
use crate::seam::{
    Capabilities, EffectContext, Exit, Fencing, Leased, ProbeAsk, Provider, SessionSink,
    StartRequest, Work,
};

/// How often an engine is listed without any other reason; its events tell the rest.
const LISTING_PERIOD: Duration = Duration::from_secs(30);
/// Rises when what the provider does with the same spec changes.
const VERSION: u32 = 1;

/// What every docker provider can do.
pub(super) const fn capabilities() -> Capabilities {
    Capabilities {
        kind: "docker",
        version: VERSION,
        fencing: Fencing::Advisory,
        // An engine lists what it has made as soon as it has said so.
        visibility: Duration::ZERO,
        listing_period: LISTING_PERIOD,
        rate: None,
        images: true,
        resources: true,
        hooks: true,
        probes: true,
        agents: true,
        secrets: true,
    }
}

/// Nodes as containers of one Docker Engine.
#[derive(Debug)]
pub(super) struct DockerProvider {
    ground: Arc<Ground>,
    capabilities: Capabilities,
}

impl DockerProvider {
    pub(super) fn new(ground: Ground) -> Self {
        Self { ground: Arc::new(ground), capabilities: capabilities() }
    }
}

impl Provider for DockerProvider {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>> {
        Box::pin(lease::create(&self.ground, ctx, request))
    }

    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        Box::pin(async move {
            let look = async {
                let id = lease.id.as_str();
                let found = self.ground.inspect(id, ctx.deadline).await?;
                let container = found.ok_or_else(|| Problem::NoLease(id.to_owned()))?;
                let mark = container.mark_of(ctx.run, &ctx.slot, ctx.attempt.uuid)?;
                Ok(Some(self.ground.endpoint(&mark.ports)))
            };
            let look: Result<_, Problem> = look.await;
            look.map_err(|problem| problem.failure())
        })
    }

    fn list_owned(&self, run: Uuid) -> Work<'_, Listing> {
        Box::pin(look::list(&self.ground, run))
    }

    fn inspect<'a>(
        &'a self,
        run: Uuid,
        slot: &'a LogicalNodeId,
        attempt: AttemptId,
        lease: Option<&'a LeaseFacts>,
    ) -> Work<'a, Look> {
        Box::pin(look::inspect(&self.ground, run, slot, attempt, lease))
    }

    fn destroy_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(lease::destroy(&self.ground, ctx, lease))
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        start: &'a StartRequest,
        sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        Box::pin(session::start(&self.ground, ctx, start, sink))
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
        grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(session::cancel(&self.ground, ctx, grace))
    }

    /// There is no session to close: a container needs nobody who watches its start.
    fn complete_bootstrap<'a>(
        &'a self,
        _ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn run_hook<'a>(
        &'a self,
        ctx: &'a EffectContext,
        run: &'a HookRun,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(hook::run(&self.ground, ctx, run))
    }

    fn probe<'a>(&'a self, ask: &'a ProbeAsk) -> Work<'a, ProbeAnswer> {
        Box::pin(probe::ask(&self.ground, ask))
    }

    fn last_lines<'a>(&'a self, lease: &'a LeaseFacts) -> Work<'a, Redacted> {
        Box::pin(tail(&self.ground, lease.id.as_str()))
    }

    fn watch(&self, lease: &LeaseFacts, workload: &Handle) -> Option<Work<'static, Exit>> {
        let started = started_of(workload)?.to_owned();
        let id = lease.id.as_str().to_owned();
        Some(Box::pin(wake::watch(&self.ground, id, started)))
    }

    fn close(&self) -> Work<'_, ()> {
        self.ground.wakes.close();
        Box::pin(std::future::ready(()))
    }
}
