//! One effect from its permit to its report: fence, preflights, call, normalised outcome, look (D7, D8, D11).

use std::{sync::Arc, time::Duration};

use reconciler_core::{
    effect::{
        Action, ActionKind, Certainty, CommandKind, EffectFailure, EffectOutcome, EffectReport,
        EffectResult, FailureClass, Intent, Look, NodeManagerCommand,
    },
    observed::LeaseFacts,
    redact::Redacted,
};

use super::{
    deadline::{Finish, TIMEOUT_MAX, within},
    ground::Ground,
    look::{LOOK_TIMEOUT, seen},
    report::Report,
    shared::Shared,
};
use crate::seam::{EffectContext, Provider, SessionSink, StartRequest};

/// Performs `intent` and says what became of it.
pub(super) async fn perform(
    shared: &Arc<Shared>,
    ground: &Arc<Ground>,
    intent: Intent,
) -> EffectReport {
    let lease = intent.action.lease().cloned();
    let report = EffectReport {
        step: intent.step,
        slot: intent.slot.clone(),
        attempt: intent.attempt,
        command: intent.action.kind(),
        result: Ok(EffectOutcome::Closed),
        look: None,
    };
    let refusal = match fenced(shared, &intent).await {
        None => preflight(shared, ground, &intent).await,
        refusal => refusal,
    };
    let result = match refusal {
        Some(refusal) => return EffectReport { result: Err(refusal), ..report },
        None => normalised(report.command, effect(shared, ground, intent).await),
    };
    if let Err(EffectFailure { class: FailureClass::RateLimited { retry_after }, .. }) = &result {
        ground.bucket.pause(Duration::from_millis(retry_after.get()));
    }
    let look = if report.command == CommandKind::DestroyLease || wants_look(&result) {
        ground.bucket.charge();
        Some(look(shared, ground, &report, lease).await)
    } else {
        None
    };
    EffectReport { result, look, ..report }
}

/// Looks at one attempt; whatever goes wrong, nothing is claimed.
async fn look(
    shared: &Shared,
    ground: &Ground,
    report: &EffectReport,
    lease: Option<LeaseFacts>,
) -> Look {
    let (run, slot, attempt) = (shared.run, report.slot.clone(), report.attempt);
    let provider = Arc::clone(&ground.provider);
    let work = async move { provider.inspect(run, &slot, attempt, lease.as_ref()).await };
    seen(within(LOOK_TIMEOUT, work).await)
}

/// Why the fence forbids `intent`, read anew right before its effect (D11).
async fn fenced(shared: &Arc<Shared>, intent: &Intent) -> Option<EffectFailure> {
    let reader = Arc::clone(&shared.fence);
    let expected = intent.fence;
    match within(LOOK_TIMEOUT, async move { reader() }).await {
        Finish::Done(now) if now == expected => None,
        Finish::Done(now) => Some(definite(
            FailureClass::Fenced,
            &format!("the fence is {now}, the step was written under {expected}"),
        )),
        Finish::Crashed(_) | Finish::Late(_) | Finish::Stopped => {
            Some(definite(FailureClass::Unavailable, "the fence cannot be read"))
        }
    }
}

/// Why `intent` must not go out now; the first preflight that refuses says it.
async fn preflight(shared: &Shared, ground: &Ground, intent: &Intent) -> Option<EffectFailure> {
    for check in &shared.preflights {
        if let Err(refusal) = check.check(intent, ground.provider.as_ref()).await {
            tracing::debug!(slot = %intent.slot, check = check.name(), "an effect was not sent");
            return Some(refusal);
        }
    }
    None
}

async fn effect(shared: &Arc<Shared>, ground: &Arc<Ground>, intent: Intent) -> EffectResult {
    let timeout = Duration::from_millis(intent.timeout.get()).min(TIMEOUT_MAX);
    let sink = session_sink(shared, &intent);
    let ctx = EffectContext {
        run: shared.run,
        slot: intent.slot,
        attempt: intent.attempt,
        operation: intent.operation,
        step: intent.step,
        key: intent.key,
        fence: intent.fence,
        deadline: (tokio::time::Instant::now() + timeout).into_std(),
    };
    let provider = Arc::clone(&ground.provider);
    let work = async move { perform_action(provider.as_ref(), &ctx, intent.action, sink).await };
    match within(timeout, work).await {
        Finish::Done(result) => result,
        // The work goes on: cutting it off half way helps nobody. Its result is dropped with the handle.
        Finish::Late(_dropped) => Err(ambiguous(
            FailureClass::TimedOut,
            &format!("no answer within {} ms", timeout.as_millis()),
        )),
        Finish::Crashed(words) => {
            Err(definite(FailureClass::Crashed, &format!("the provider crashed: {words}")))
        }
        Finish::Stopped => Err(ambiguous(FailureClass::Unavailable, "the controller is stopping")),
    }
}

async fn perform_action(
    provider: &dyn Provider,
    ctx: &EffectContext,
    action: Action,
    sink: SessionSink,
) -> EffectResult {
    match action {
        Action::Command(command) => call(provider, ctx, command, sink).await,
        Action::Hook(run) => {
            provider.run_hook(ctx, &run).await?;
            Ok(EffectOutcome::Hooked(run.point))
        }
    }
}

async fn call(
    provider: &dyn Provider,
    ctx: &EffectContext,
    command: NodeManagerCommand,
    sink: SessionSink,
) -> EffectResult {
    match command {
        NodeManagerCommand::CreateLease(request) => {
            let leased = provider.create_lease(ctx, &request).await?;
            Ok(EffectOutcome::Leased { lease: leased.lease, endpoint: leased.endpoint })
        }
        NodeManagerCommand::LookupEndpoint(lease) => {
            Ok(EffectOutcome::Endpoint(provider.lookup_endpoint(ctx, &lease).await?))
        }
        NodeManagerCommand::StartBootstrap { request, lease, endpoint, session, timeout } => {
            let timeout = Duration::from_millis(timeout.get());
            let start = StartRequest { request, lease, endpoint, session, timeout };
            let workload = provider.start_bootstrap(ctx, &start, sink).await?;
            Ok(EffectOutcome::Started { workload })
        }
        NodeManagerCommand::BootstrapConvergenceObserved { lease, workload, session: _ } => {
            provider.complete_bootstrap(ctx, &lease, &workload).await?;
            Ok(EffectOutcome::Closed)
        }
        NodeManagerCommand::CancelBootstrap { lease, workload, grace, session: _ } => {
            let grace = Duration::from_millis(grace.get());
            provider.cancel_bootstrap(ctx, &lease, &workload, grace).await?;
            Ok(EffectOutcome::Cancelled)
        }
        NodeManagerCommand::DestroyLease(lease) => {
            provider.destroy_lease(ctx, &lease).await?;
            Ok(EffectOutcome::Released)
        }
    }
}

/// Ending what is not there succeeds (D8, R69).
fn normalised(kind: ActionKind, result: EffectResult) -> EffectResult {
    let ActionKind::Command(command) = kind else { return result };
    let Err(EffectFailure { class: FailureClass::NotFound, .. }) = result else { return result };
    match command {
        CommandKind::DestroyLease => Ok(EffectOutcome::Released),
        CommandKind::CancelBootstrap => Ok(EffectOutcome::Cancelled),
        CommandKind::BootstrapConvergenceObserved => Ok(EffectOutcome::Closed),
        CommandKind::CreateLease | CommandKind::LookupEndpoint | CommandKind::StartBootstrap => {
            result
        }
    }
}

/// After doubt, and after a crash that may have left something behind.
fn wants_look(result: &EffectResult) -> bool {
    result.as_ref().is_err_and(|failure| {
        failure.certainty == Certainty::Ambiguous || failure.class == FailureClass::Crashed
    })
}

fn session_sink(shared: &Arc<Shared>, intent: &Intent) -> SessionSink {
    let Action::Command(NodeManagerCommand::StartBootstrap { session, .. }) = &intent.action else {
        return Arc::new(|_| {});
    };
    let (report, slot) = (Arc::clone(&shared.report), intent.slot.clone());
    let (attempt, session) = (intent.attempt, *session);
    Arc::new(move |observation| {
        report(Report::Session { slot: slot.clone(), attempt, session, observation });
    })
}

/// A failure that surely had no effect.
pub(super) fn definite(class: FailureClass, message: &str) -> EffectFailure {
    EffectFailure { certainty: Certainty::Definite, class, message: Redacted::new(message) }
}

/// A failure that may have had its effect.
pub(super) fn ambiguous(class: FailureClass, message: &str) -> EffectFailure {
    EffectFailure { certainty: Certainty::Ambiguous, class, message: Redacted::new(message) }
}
