//! Sessions: verify commands, then the start of a node's container; its polite and its forced end.

use std::time::{Duration, Instant};

use bollard::query_parameters::StopContainerOptions;
use reconciler_core::{
    effect::{Certainty, EffectFailure},
    id::SessionId,
    observed::{Handle, SessionStage},
    redact::Redacted,
};

use super::{
    blueprint::Blueprint,
    body::Beside,
    errand::{kill, make, run_to_end},
    ground::{Container, Ground, Listed, admit},
    labels::{Mark, Role},
    lease::remove,
    problem::Problem,
    state::{Run, handle},
};
use crate::{
    seam::{EffectContext, SessionObservation, SessionSink, StartRequest},
    secret::Missing,
};

/// Left of an effect's time for the forced end and the report.
const MARGIN: Duration = Duration::from_secs(2);

/// Tells how far a session has come, each report with its number.
struct Teller {
    sink: SessionSink,
    seq: u64,
}

impl Teller {
    fn tell(&mut self, stage: SessionStage, line: Option<Redacted>) {
        self.seq += 1;
        (self.sink)(SessionObservation { seq: self.seq, stage, line });
    }
}

/// Runs the verify commands, then starts the workload.
pub(super) async fn start(
    ground: &Ground,
    ctx: &EffectContext,
    start: &StartRequest,
    sink: SessionSink,
) -> Result<Handle, EffectFailure> {
    let failed = |problem: Problem| problem.failure();
    let node = find(ground, ctx, start.lease.id.as_str()).await.map_err(failed)?;
    let mark = Ground::owned(ctx, &node).map_err(failed)?;
    ground.wakes.listen_to(&node.id);
    if let Some(started) = adopted(ground, ctx, start, &node) {
        ground.note_begun(ctx.attempt.uuid, ctx.key, &started);
        return Ok(handle(&started));
    }
    same_secrets(ground, start, &node).map_err(failed)?;
    let mut teller = Teller { sink, seq: 0 };
    if let Err(problem) = verify(ground, ctx, start, &mark, &mut teller).await {
        let failure = problem.failure();
        if failure.certainty == Certainty::Definite {
            teller.tell(SessionStage::BootCheckFailed, Some(failure.message.clone()));
        }
        return Err(failure);
    }
    teller.tell(SessionStage::SwactorStarting, None);
    let result = launch(ground, ctx, &node).await.map_err(failed);
    match &result {
        Ok(_) => teller.tell(SessionStage::WaitingForSwactorJoin, None),
        Err(failure) if failure.certainty == Certainty::Definite => {
            teller.tell(SessionStage::StartFailed, Some(failure.message.clone()));
        }
        // Whether it was started is for the look that follows to say.
        Err(_) => {}
    }
    result
}

async fn find(ground: &Ground, ctx: &EffectContext, id: &str) -> Result<Container, Problem> {
    let found = ground.inspect(id, ctx.deadline).await?;
    found.ok_or_else(|| Problem::NoLease(id.to_owned()))
}

/// When the workload was started that this very request asked for, if it was.
fn adopted(
    ground: &Ground,
    ctx: &EffectContext,
    start: &StartRequest,
    node: &Container,
) -> Option<String> {
    let started = node.run.started()?;
    let ours = match node.run {
        Run::Running { .. } => true,
        // The first session is the only one that can have started a container for the first time.
        Run::Ended { .. } => {
            start.session <= SessionId::new(1)
                || ground.has_begun(ctx.attempt.uuid, ctx.key, started)
        }
        Run::Never | Run::Unclear => false,
    };
    ours.then(|| started.to_owned())
}

/// A container keeps the environment that it was made with, so one whose secrets have changed since is no good.
fn same_secrets(ground: &Ground, start: &StartRequest, node: &Container) -> Result<(), Problem> {
    let secrets = ground.place.secrets.resolve(&start.request.spec.boot);
    let secrets = secrets.map_err(|missing| Problem::Secrets(Missing::told(&missing)))?;
    for (name, value) in &secrets {
        let line = format!("{name}={}", value.expose());
        if !node.env.contains(&line) {
            return Err(Problem::Workload(format!(
                "the secret in {name} has changed since its container was made; the next one gets the new value"
            )));
        }
    }
    Ok(())
}

async fn verify(
    ground: &Ground,
    ctx: &EffectContext,
    start: &StartRequest,
    mark: &Mark,
    teller: &mut Teller,
) -> Result<(), Problem> {
    let (request, all) = (&start.request, &start.request.spec.boot.verify);
    if all.is_empty() {
        return Ok(());
    }
    let image = request.spec.shape.image.as_deref().unwrap_or_default();
    let image = ground.images.locked(&ground.engine, request.revision, image, ctx.deadline).await?;
    let blueprint =
        Blueprint { ground, request, fence: ctx.fence, ports: &mark.ports, image: &image };
    let limit = ctx.deadline.min(Instant::now() + start.timeout);
    for command in all {
        let program = command.argv.first().map(String::as_str).unwrap_or_default();
        teller.tell(SessionStage::BootChecking, Some(Redacted::new(program)));
        let body = blueprint.beside(&Beside { argv: &command.argv, hook: None, node: None })?;
        let id = make(ground, body, None, ctx.deadline).await?;
        let time = Duration::from_millis(command.timeout.get());
        let time = time.min(limit.saturating_duration_since(Instant::now()));
        let ended = run_to_end(ground, &id, time, ctx.deadline).await;
        remove(ground, ctx, &id).await?;
        if let Some(problem) = ended?.problem(&format!("verify command `{program}`")) {
            return Err(problem);
        }
    }
    Ok(())
}

/// Starts the container; what became of a start that failed is looked for at once.
async fn launch(ground: &Ground, ctx: &EffectContext, node: &Container) -> Result<Handle, Problem> {
    let id = node.id.as_str();
    let go = |client: bollard::Docker| async move { client.start_container(id, None).await };
    let went = ground.engine.ask(ctx.deadline, go).await;
    let after = match &went {
        Err(error) if error.is_absence() && error.words().contains("No such container") => None,
        Ok(()) | Err(_) => ground.inspect(id, ctx.deadline.max(Ground::soon())).await?,
    };
    let Some(after) = after else { return Err(Problem::NoLease(id.to_owned())) };
    match (after.run.started(), went) {
        (Some(started), _) if Some(started) != node.run.started() => {
            ground.note_begun(ctx.attempt.uuid, ctx.key, started);
            Ok(handle(started))
        }
        // The engine says that it failed, and that nothing was started: that is what it is.
        (_, Err(error)) if matches!(error, super::problem::EngineError::Refused { .. }) => {
            Err(Problem::Workload(format!("the container cannot be started: {}", error.words())))
        }
        (_, Err(error)) => Err(error.into()),
        (_, Ok(())) => Err(Problem::Doubt(
            "the engine says that it started the container, which does not run".to_owned(),
        )),
    }
}

/// Ends session and workload of `ctx`; succeeds if there is none.
pub(super) async fn cancel(
    ground: &Ground,
    ctx: &EffectContext,
    grace: Duration,
) -> Result<(), EffectFailure> {
    cancel_any(ground, ctx, grace).await.map_err(|problem| problem.half_done())
}

async fn cancel_any(ground: &Ground, ctx: &EffectContext, grace: Duration) -> Result<(), Problem> {
    let mut all = ground.of_attempt(ctx.run, ctx.attempt.uuid, ctx.deadline).await?;
    for one in &all {
        let foreign = |why| Problem::Foreign { name: one.name.clone(), why };
        let mark = Mark::read(&one.labels).map_err(foreign)?;
        if !mark.is_of(ctx.run, &ctx.slot, ctx.attempt.uuid) {
            return Err(foreign(format!("it is of slot {}", mark.slot)));
        }
        admit(ctx.fence, mark.fence)?;
    }
    // What an earlier driver left running beside the node ends first, and is given no grace.
    all.sort_by_key(|one| one.is(Role::Node));
    for one in all.iter().filter(|one| one.runs) {
        if one.is(Role::Node) {
            let hush = ground.wakes.hush(&one.id);
            stop(ground, ctx, one, grace).await?;
            hush.keep();
        } else {
            kill(ground, &one.id, ctx.deadline).await?;
        }
    }
    Ok(())
}

/// Stops a container: asks it to end, and ends it after the grace.
async fn stop(
    ground: &Ground,
    ctx: &EffectContext,
    one: &Listed,
    grace: Duration,
) -> Result<(), Problem> {
    let id = one.id.as_str();
    if one.paused {
        // One that is paused would not notice that it is asked to end.
        let resume = |client: bollard::Docker| async move { client.unpause_container(id).await };
        match ground.engine.ask(ctx.deadline, resume).await {
            Err(error) if !error.is_conflict() && !error.is_absence() => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    let left = ctx.deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN);
    let options = StopContainerOptions { signal: None, t: Some(whole_seconds(grace.min(left))) };
    let stop =
        |client: bollard::Docker| async move { client.stop_container(id, Some(options)).await };
    match ground.engine.ask(ctx.deadline, stop).await {
        Err(error) if !error.is_absence() => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The engine counts in seconds: a part of one is a whole one, and no grace is none.
fn whole_seconds(grace: Duration) -> i32 {
    let up = u64::from(grace.subsec_nanos() > 0);
    i32::try_from(grace.as_secs().saturating_add(up)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_is_never_shortened() {
        let rows = [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (10_000, 10)];
        for (millis, seconds) in rows {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds, "{millis}");
        }
    }
}
