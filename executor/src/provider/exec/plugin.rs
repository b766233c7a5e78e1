//! Each call of the seam as one call of the program, and its answer as an outcome.
//!
//! It upholds: an effect's failure is definite only where the program says so, or never ran (C2); an observation
//! that is not wholly understood shows nothing (C1); a stale fence is refused before the program runs (D11).

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use reconciler_core::{
    desired::{BootSpec, JoinMode},
    effect::{
        Certainty, EffectFailure, FailureClass, HookRun, Listing, Look, NodeRequest, WorkloadState,
    },
    id::{AttemptId, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, SessionStage},
    redact::Redacted,
};
use serde_json::Value;

use super::{
    answer::{self, Answer},
    fence::FenceFile,
    fields::FieldError,
    program::{CallError, Program},
    request::{Call, Handed, HookCall, Request, spec_value},
    wrap::by_agent,
    young::Young,
};
use crate::{
    provider::template::{TemplateError, Values, filled},
    seam::{
        Capabilities, EffectContext, Exit, Leased, Provider, SessionObservation, SessionSink,
        StartRequest, Work,
    },
    secret::Missing,
};

/// Longest answer about one node.
const ANSWER_MAX: usize = 1024 * 1024;
/// Longest listing: a hundred thousand entries.
const LISTING_MAX: usize = 32 * 1024 * 1024;

/// A provider that is a program of the user's own.
#[derive(Debug)]
pub(super) struct ExecProvider {
    program: Program,
    fences: FenceFile,
    capabilities: Capabilities,
    timeout: Duration,
    young: Young,
    /// Where its nodes have the agent.
    agent: Option<String>,
}

impl ExecProvider {
    /// Makes one; `timeout` bounds each call.
    pub(super) fn new(
        program: Program,
        fences: FenceFile,
        capabilities: Capabilities,
        timeout: Duration,
    ) -> Self {
        let young = Young::new(capabilities.visibility);
        Self { program, fences, capabilities, timeout, young, agent: None }
    }

    /// The same whose nodes have the agent at `agent`.
    pub(super) fn with_agent(self, agent: Option<String>) -> Self {
        Self { agent, ..self }
    }

    /// Performs an effect; `extra` is the time that the call itself is told to take.
    async fn effect<T>(
        &self,
        ctx: &EffectContext,
        request: Request<'_>,
        extra: Duration,
        read: impl FnOnce(&Value) -> Result<T, FieldError>,
    ) -> Result<T, EffectFailure> {
        let _entered = self
            .fences
            .enter(ctx.fence, ctx.deadline)
            .await
            .map_err(|error| failed(Certainty::Definite, error.class(), &error))?;
        let left = ctx.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let why = "its time was up before it was begun";
            return Err(failed(Certainty::Definite, FailureClass::TimedOut, &why));
        }
        let limit = self.timeout.saturating_add(extra).min(left);
        match self.ask(&request, limit, ANSWER_MAX).await {
            Ok(Answer::Ok(ok)) => read(&ok).map_err(|error| {
                let why = format!("its answer is not understood: {error}");
                failed(Certainty::Ambiguous, FailureClass::Unavailable, &why)
            }),
            Ok(Answer::Error(failure)) => Err(failure),
            Err(error) => Err(error.into_failure(request.call)),
        }
    }

    /// Asks what changes nothing; any failure is the reason why nothing was seen.
    async fn observe<T>(
        &self,
        request: Request<'_>,
        most: usize,
        read: impl FnOnce(&Value) -> Result<T, FieldError>,
    ) -> Result<T, Redacted> {
        match self.ask(&request, self.timeout, most).await {
            Ok(Answer::Ok(ok)) => read(&ok)
                .map_err(|error| Redacted::new(&format!("its answer is not understood: {error}"))),
            Ok(Answer::Error(failure)) => Err(failure.message),
            Err(error) => Err(Redacted::new(&error.to_string())),
        }
    }

    /// What the program gets of a node's secrets; it was read once before, so a file is not waited for here.
    fn secrets(&self, boot: &BootSpec) -> Result<Handed, EffectFailure> {
        let missing = |missing: Vec<Missing>| {
            failed(Certainty::Definite, FailureClass::Auth, &Missing::told(&missing))
        };
        self.program.secrets().resolve(boot).map(Handed).map_err(missing)
    }

    async fn ask(
        &self,
        request: &Request<'_>,
        limit: Duration,
        most: usize,
    ) -> Result<Answer, CallError> {
        let broken = |why: String| CallError::Broken { class: FailureClass::Unavailable, why };
        let mut bytes = serde_json::to_vec(request)
            .map_err(|error| broken(format!("the request cannot be written: {error}")))?;
        bytes.push(b'\n');
        let answer = self.program.call(&bytes, limit, most).await?;
        Answer::read(&answer, &self.program).map_err(broken)
    }
}

impl CallError {
    /// A question that could not be asked is doubt: a node must not fail for it.
    fn into_failure(self, call: Call) -> EffectFailure {
        let (certainty, class) = match &self {
            Self::NotRun { .. } if call == Call::LookupEndpoint => {
                (Certainty::Ambiguous, FailureClass::Unavailable)
            }
            Self::NotRun { class, .. } => (Certainty::Definite, *class),
            Self::Broken { class, .. } => (Certainty::Ambiguous, *class),
        };
        failed(certainty, class, &self)
    }
}

fn failed(certainty: Certainty, class: FailureClass, why: &dyn Display) -> EffectFailure {
    EffectFailure { certainty, class, message: Redacted::new(&why.to_string()) }
}

impl Provider for ExecProvider {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>> {
        Box::pin(async move {
            let call = Request {
                spec: Some(spec_value(&request.spec)),
                ..Request::effect(Call::CreateLease, ctx)
            };
            let known = self.young.holds(ctx.attempt.uuid);
            self.young.note(ctx.attempt.uuid);
            let read = |ok: &Value| answer::leased(ok, ctx.fence);
            let result = self.effect(ctx, call, Duration::ZERO, read).await;
            let definite = |failure: &EffectFailure| failure.certainty == Certainty::Definite;
            if result.as_ref().is_err_and(definite) && !known {
                self.young.forget(ctx.attempt.uuid);
            } else {
                self.young.note(ctx.attempt.uuid);
            }
            result
        })
    }

    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        Box::pin(async move {
            let call = Request { lease: Some(lease), ..Request::effect(Call::LookupEndpoint, ctx) };
            self.effect(ctx, call, Duration::ZERO, answer::looked_up).await
        })
    }

    fn list_owned(&self, run: Uuid) -> Work<'_, Listing> {
        Box::pin(async move {
            let call = Request::of_run(Call::ListOwned, run);
            let read = |ok: &Value| answer::listed(ok, &self.program);
            self.observe(call, LISTING_MAX, read).await.unwrap_or_else(Listing::Unknown)
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
            let call = Request { lease, ..Request::look(Call::Inspect, run, slot, attempt) };
            let read = |ok: &Value| answer::inspected(ok, lease, &self.program);
            match self.observe(call, ANSWER_MAX, read).await {
                Ok(Look::Absent) if self.young.holds(attempt.uuid) => Look::Unknown {
                    why: Redacted::new("not seen, but asked for too lately to be sure"),
                },
                Ok(look) => look,
                Err(why) => Look::Unknown { why },
            }
        })
    }

    fn destroy_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(async move {
            let call = Request { lease: Some(lease), ..Request::effect(Call::DestroyLease, ctx) };
            let result = self.effect(ctx, call, Duration::ZERO, |_| Ok(())).await;
            if result.is_ok() {
                self.young.forget(ctx.attempt.uuid);
            }
            absent_is_done(result)
        })
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        start: &'a StartRequest,
        sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        Box::pin(async move {
            let StartRequest { request, endpoint, .. } = start;
            let (attempt, boot) = (request.attempt.uuid, &request.spec.boot);
            let values = Values::new(&request.slot, attempt, boot, &endpoint.ports);
            let spec = filled(&request.spec, &values)
                .map_err(|error| failed(Certainty::Definite, FailureClass::Invalid, &error))?;
            let mut secrets = self.secrets(&request.spec.boot)?;
            let spec = match (spec.join, &self.agent) {
                (JoinMode::None | JoinMode::Probe, _) => spec,
                (JoinMode::Agent, agent) => {
                    let granted = agent.as_ref().zip(self.program.secrets().grants());
                    let (agent, grants) = granted.ok_or_else(|| {
                        let why = "the driver does not listen to agents, or its nodes have none";
                        failed(Certainty::Definite, FailureClass::Unavailable, &why)
                    })?;
                    let told = grants.env(&ctx.slot, attempt, ctx.fence, (boot, &endpoint.ports));
                    by_agent(agent, told, spec, &mut secrets)
                }
            };
            sink(SessionObservation { seq: 1, stage: SessionStage::SwactorStarting, line: None });
            let call = Request {
                spec: Some(spec_value(&spec)),
                lease: Some(&start.lease),
                endpoint: Some(&start.endpoint),
                session: Some(start.session),
                timeout_ms: u64::try_from(start.timeout.as_millis()).ok(),
                secrets,
                ..Request::effect(Call::StartBootstrap, ctx)
            };
            let result = self.effect(ctx, call, start.timeout, answer::started).await;
            let (stage, line) = match &result {
                Ok(_) => (SessionStage::WaitingForSwactorJoin, None),
                Err(failure) if failure.certainty == Certainty::Definite => {
                    (SessionStage::StartFailed, Some(failure.message.clone()))
                }
                // Whether it was started is for the look that follows to say.
                Err(_) => return result,
            };
            sink(SessionObservation { seq: 2, stage, line });
            result
        })
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        workload: &'a Handle,
        grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(async move {
            let call = Request {
                lease: Some(lease),
                workload: Some(workload),
                grace_ms: u64::try_from(grace.as_millis()).ok(),
                ..Request::effect(Call::CancelBootstrap, ctx)
            };
            absent_is_done(self.effect(ctx, call, grace, |_| Ok(())).await)
        })
    }

    fn complete_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(async move {
            // Nobody tells when a workload ends, so it is asked for before it counts as joined: what was started
            // may have ended already, or was never there (C5). How it ended is for the look that follows to say.
            let look = self.inspect(ctx.run, &ctx.slot, ctx.attempt, Some(lease)).await;
            if shows_no_workload(&look) {
                let class = FailureClass::Workload;
                return Err(failed(
                    Certainty::Ambiguous,
                    class,
                    &"the workload does not run any more",
                ));
            }
            let call = Request {
                lease: Some(lease),
                workload: Some(workload),
                ..Request::effect(Call::CompleteBootstrap, ctx)
            };
            absent_is_done(self.effect(ctx, call, Duration::ZERO, |_| Ok(())).await)
        })
    }

    fn run_hook<'a>(
        &'a self,
        ctx: &'a EffectContext,
        run: &'a HookRun,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(async move {
            let (attempt, boot) = (run.request.attempt.uuid, &run.request.spec.boot);
            let values = Values::new(&run.request.slot, attempt, boot, &run.endpoint.ports);
            let refuse = |error| failed(Certainty::Definite, FailureClass::Invalid, &error);
            let spec = filled(&run.request.spec, &values).map_err(refuse)?;
            let argv = run.hook.argv.iter().map(|text| values.fill(text));
            let argv = argv.collect::<Result<_, TemplateError>>().map_err(refuse)?;
            let secrets = self.secrets(boot)?;
            let timeout = Duration::from_millis(run.hook.timeout.get());
            let call = Request {
                spec: Some(spec_value(&spec)),
                lease: Some(&run.lease),
                endpoint: Some(&run.endpoint),
                session: Some(run.session),
                timeout_ms: Some(run.hook.timeout.get()),
                secrets,
                hook: Some(HookCall { hook: run.point.as_str(), argv }),
                ..Request::effect(Call::RunHook, ctx)
            };
            self.effect(ctx, call, timeout, |_| Ok(())).await
        })
    }

    fn watch(&self, _lease: &LeaseFacts, _workload: &Handle) -> Option<Work<'static, Exit>> {
        None
    }
}

/// True if the program said that the attempt has no workload that runs.
const fn shows_no_workload(look: &Look) -> bool {
    match look {
        Look::Present { workload, .. } => {
            matches!(workload, WorkloadState::Exited { .. } | WorkloadState::Absent)
        }
        Look::Absent => true,
        Look::Unknown { .. } => false,
    }
}

/// Ending what is not there succeeds, if the program is sure that it is not there (R69).
fn absent_is_done(result: Result<(), EffectFailure>) -> Result<(), EffectFailure> {
    match result {
        Err(EffectFailure {
            certainty: Certainty::Definite,
            class: FailureClass::NotFound,
            ..
        }) => Ok(()),
        other => other,
    }
}
