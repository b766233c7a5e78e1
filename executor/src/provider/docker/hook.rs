//! Hooks: run once for each key in a container of their own, and recognised by it afterwards.
//!
//! The container is named after the request, so a second one for it cannot be made; how it ended stays there to be
//! read until another hook of the same point begins, or the lease is given back.

use std::time::{Duration, Instant};

use reconciler_core::effect::{EffectFailure, ExitStatus, HookRun, HookSight, HookState};

use super::{
    blueprint::Blueprint,
    body::Beside,
    errand::{make, run_to_end},
    ground::{Ground, Listed},
    labels::{self, Mark, Role, hook_name},
    lease::remove,
    problem::{EngineError, Problem},
    state::Run,
    tail::tail,
    wake::with_why,
};
use crate::seam::EffectContext;

/// Runs the hook of `ctx` to its end, unless it completed before.
pub(super) async fn run(
    ground: &Ground,
    ctx: &EffectContext,
    hook: &HookRun,
) -> Result<(), EffectFailure> {
    let failed = |problem: Problem| problem.failure();
    let node = ground.inspect(hook.lease.id.as_str(), ctx.deadline).await;
    let Some(node) = node.map_err(|error| failed(error.into()))? else {
        return Err(failed(Problem::NoLease(hook.lease.id.to_string())));
    };
    let mark = Ground::owned(ctx, &node).map_err(failed)?;
    if done_before(ground, ctx, hook).await.map_err(failed)? {
        return Ok(());
    }
    let (revision, spec) = (hook.request.revision, &hook.request.spec);
    let image = spec.shape.image.as_deref().unwrap_or_default();
    let image = ground.images.locked(&ground.engine, revision, image, ctx.deadline).await;
    let image = image.map_err(failed)?;
    let blueprint = Blueprint {
        ground,
        request: &hook.request,
        fence: ctx.fence,
        ports: &mark.ports,
        image: &image,
    };
    let runs = matches!(node.run, Run::Running { .. });
    let beside = Beside {
        argv: &hook.hook.argv,
        hook: Some((hook.point, ctx.key)),
        node: runs.then_some(node.id.as_str()),
    };
    let body = blueprint.beside(&beside).map_err(failed)?;
    let name = hook_name(&ctx.slot, ctx.attempt.uuid, ctx.key);
    let id = make(ground, body, Some(name), ctx.deadline).await.map_err(failed)?;
    let time = Duration::from_millis(hook.hook.timeout.get());
    let ended = run_to_end(ground, &id, time, ctx.deadline).await.map_err(failed)?;
    let what = format!("the {} hook", hook.point.as_str());
    ended.problem(&what).map_or(Ok(()), |problem| Err(failed(problem)))
}

/// True if the request completed before; what is left of others of the same point is taken away.
async fn done_before(
    ground: &Ground,
    ctx: &EffectContext,
    hook: &HookRun,
) -> Result<bool, Problem> {
    let all = ground.of_attempt(ctx.run, ctx.attempt.uuid, ctx.deadline).await?;
    let point = hook.point.as_str();
    let same = |one: &&Listed| one.labels.get(labels::HOOK).is_some_and(|said| said == point);
    for one in all.iter().filter(same) {
        let key = Mark::read(&one.labels).ok().and_then(|mark| mark.key);
        let Some(container) = ground.inspect(&one.id, ctx.deadline).await? else { continue };
        match container.run {
            Run::Ended { status: ExitStatus::Code(0), .. } if key == Some(ctx.key) => {
                return Ok(true);
            }
            Run::Running { .. } | Run::Unclear => {
                return Err(Problem::Doubt(format!(
                    "a {point} hook was begun before and still runs"
                )));
            }
            // One that failed is asked for once more; one that was never started never was.
            Run::Ended { .. } | Run::Never => remove(ground, ctx, &one.id).await?,
        }
    }
    Ok(false)
}

/// What can be said of the hook that was begun last among what belongs to an attempt.
pub(super) async fn seen(
    ground: &Ground,
    all: &[Listed],
    limit: Instant,
) -> Result<HookSight, EngineError> {
    let mut hooks: Vec<&Listed> = all.iter().filter(|one| one.is(Role::Hook)).collect();
    hooks.sort_by_key(|one| std::cmp::Reverse(one.created));
    for one in hooks {
        let Some(key) = Mark::read(&one.labels).ok().and_then(|mark| mark.key) else { continue };
        let Some(container) = ground.inspect(&one.id, limit).await? else { continue };
        let state = match container.run {
            Run::Never => continue,
            Run::Running { .. } | Run::Unclear => HookState::Running,
            Run::Ended { status, why, .. } => {
                let tail = with_why(why, &tail(ground, &one.id).await);
                HookState::Ended { status, tail }
            }
        };
        return Ok(HookSight::Begun { key, state });
    }
    Ok(HookSight::Nothing)
}
