//! Leases: a container is created, or the one that the same request made before is adopted; and it is removed with
//! all that was made for its attempt.

use std::{collections::BTreeMap, time::Duration};

use bollard::{
    models::NetworkConnectRequest,
    query_parameters::{CreateContainerOptions, RemoveContainerOptions},
};
use reconciler_core::{
    effect::{EffectFailure, NodeRequest},
    observed::LeaseFacts,
};

use super::{
    blueprint::Blueprint,
    ground::{Container, Ground, admit, lease},
    labels::{self, Mark, Role},
    ports::PortPair,
    problem::{EngineError, Problem},
    sweep,
};
use crate::{
    provider::template::{Values, check, port_names},
    seam::{EffectContext, Leased},
};

/// Time between two looks whether a container is gone that the engine is removing already.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Creates the container of an attempt, or adopts it.
pub(super) async fn create(
    ground: &Ground,
    ctx: &EffectContext,
    request: &NodeRequest,
) -> Result<Leased, EffectFailure> {
    let prepared = prepare(ground, ctx, request).await.map_err(|problem| problem.failure())?;
    let (image, ports) = prepared;
    let blueprint = Blueprint { ground, request, fence: ctx.fence, ports: &ports, image: &image };
    let name = labels::node_name(&request.slot, request.attempt.uuid);
    let body = blueprint.node(ctx.key).map_err(|problem| problem.failure())?;
    let options = CreateContainerOptions { name: Some(name.clone()), ..Default::default() };
    let ask =
        |client: bollard::Docker| async move { client.create_container(Some(options), body).await };
    match ground.engine.ask(ctx.deadline, ask).await {
        Ok(made) => {
            // From here on there is something, so whatever fails is for a look to judge.
            join(ground, ctx, &blueprint, &made.id, &[]).await.map_err(|p| p.half_done())?;
            let (lease, endpoint) = (lease(&made.id, ctx.fence), ground.endpoint(&ports));
            Ok(Leased { lease, endpoint: Some(endpoint) })
        }
        Err(error) if error.is_conflict() => {
            ground.ports.free(&ports);
            adopt(ground, ctx, &blueprint, &name).await.map_err(|problem| problem.failure())
        }
        Err(error) => {
            let failure = unmade(ground, ctx, request, (&name, error)).await.failure();
            if failure.certainty == reconciler_core::effect::Certainty::Definite {
                ground.ports.free(&ports);
            }
            Err(failure)
        }
    }
}

/// What a creation that failed came to. An engine that answered that it failed has ended its work, so one that has nothing
/// by that name made nothing: its words are told then, and nothing is in doubt.
async fn unmade(
    ground: &Ground,
    ctx: &EffectContext,
    request: &NodeRequest,
    (name, error): (&str, EngineError),
) -> Problem {
    if error.is_own_failure()
        && let Ok(None) = ground.inspect(name, ctx.deadline).await
    {
        return Problem::Away(error.to_string());
    }
    refused(error, request)
}

/// What has to be known before anything is made.
async fn prepare(
    ground: &Ground,
    ctx: &EffectContext,
    request: &NodeRequest,
) -> Result<(String, BTreeMap<String, PortPair>), Problem> {
    let boot = &request.spec.boot;
    let Some(image) = &request.spec.shape.image else {
        return Err(Problem::Invalid("a node of this provider needs `shape.image`".to_owned()));
    };
    let id = ground.images.locked(&ground.engine, request.revision, image, ctx.deadline).await?;
    let names = port_names(boot)?;
    if !names.is_empty() && ground.ports.are_unread() {
        let all = ground.list([(labels::ROLE, Role::Node.as_str().to_owned())], ctx.deadline);
        let marks: Vec<Mark> =
            all.await?.iter().filter_map(|one| Mark::read(&one.labels).ok()).collect();
        let taken = marks.iter().flat_map(|mark| mark.ports.values().map(|pair| pair.outside));
        ground.ports.note(taken);
    }
    let here = ground.engine.host.is_here();
    let ports = ground.ports.reserve(&names, request.attempt.uuid, &ground.options, here)?;
    let inside = ports.iter().map(|(name, pair)| (name.clone(), pair.inside)).collect();
    check(boot, &Values::new(&request.slot, request.attempt.uuid, boot, &inside))?;
    Ok((id, ports))
}

/// A creation that was refused for its image says so in words that help.
fn refused(error: EngineError, request: &NodeRequest) -> Problem {
    if !error.is_absence() {
        return error.into();
    }
    let image = request.spec.shape.image.as_deref().unwrap_or_default();
    Problem::Invalid(format!(
        "the engine has lost what {image} was when its revision was made first ({}); load it again, or name \
         another image",
        error.words()
    ))
}

/// Takes over what has the attempt's name, if the same request made it.
async fn adopt(
    ground: &Ground,
    ctx: &EffectContext,
    blueprint: &Blueprint<'_>,
    name: &str,
) -> Result<Leased, Problem> {
    let Some(container) = ground.inspect(name, ctx.deadline).await? else {
        return Err(Problem::Doubt(format!("container {name} was there and is gone")));
    };
    let mark = Ground::owned(ctx, &container)?;
    if mark.role != Role::Node || mark.key != Some(ctx.key) {
        let why = "another request made it".to_owned();
        return Err(Problem::Foreign { name: container.name, why });
    }
    join(ground, ctx, blueprint, &container.id, &container.networks).await?;
    ground.ports.note(mark.ports.values().map(|pair| pair.outside));
    let endpoint = Some(ground.endpoint(&mark.ports));
    Ok(Leased { lease: lease(&container.id, mark.fence), endpoint })
}

/// Connects a container to the networks that it is not made with: older engines take one at the creation.
async fn join(
    ground: &Ground,
    ctx: &EffectContext,
    blueprint: &Blueprint<'_>,
    id: &str,
    has: &[String],
) -> Result<(), Problem> {
    for network in ground.options.networks.iter().skip(1).filter(|name| !has.contains(name)) {
        let request = NetworkConnectRequest {
            container: id.to_owned(),
            endpoint_config: Some(blueprint.member_of(network)),
        };
        let connect =
            |client: bollard::Docker| async move { client.connect_network(network, request).await };
        ground.engine.ask(ctx.deadline, connect).await?;
    }
    Ok(())
}

/// Removes everything that was made for an attempt; succeeds if there is nothing.
pub(super) async fn destroy(
    ground: &Ground,
    ctx: &EffectContext,
    lease: &LeaseFacts,
) -> Result<(), EffectFailure> {
    let failed = |problem: Problem| problem.failure();
    let found = ground.of_attempt(ctx.run, ctx.attempt.uuid, ctx.deadline).await;
    let mut found = found.map_err(|error| failed(error.into()))?;
    for one in &found {
        let foreign = |why| failed(Problem::Foreign { name: one.name.clone(), why });
        let mark = Mark::read(&one.labels).map_err(foreign)?;
        if !mark.is_of(ctx.run, &ctx.slot, ctx.attempt.uuid) {
            return Err(foreign(format!("it is of slot {}", mark.slot)));
        }
        admit(ctx.fence, mark.fence).map_err(failed)?;
        ground.ports.free(&mark.ports);
    }
    // The node goes last, so that what is left half way is found by it.
    found.sort_by_key(|one| one.is(Role::Node));
    for one in &found {
        remove(ground, ctx, &one.id).await.map_err(|problem| problem.half_done())?;
    }
    // Where nothing is left to say whether there were volumes, the engine is asked.
    if found.is_empty() || found.iter().any(|one| one.labels.contains_key(labels::VOLUMES)) {
        sweep::volumes_of(ground, ctx.run, ctx.attempt.uuid, ctx.deadline)
            .await
            .map_err(|problem| problem.half_done())?;
    }
    ground.forget(ctx.attempt.uuid);
    // Where somebody else removed it before, whoever waits for its end may look.
    ground.wakes.listen_to(lease.id.as_str());
    Ok(())
}

/// Removes one container by its id, by force.
pub(super) async fn remove(ground: &Ground, ctx: &EffectContext, id: &str) -> Result<(), Problem> {
    let options = RemoveContainerOptions { v: true, force: true, link: false };
    let take =
        |client: bollard::Docker| async move { client.remove_container(id, Some(options)).await };
    match ground.engine.ask(ctx.deadline, take).await {
        Err(error) if error.is_conflict() => gone(ground, ctx, id).await?,
        Err(error) if !error.is_absence() => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    ground.wakes.removed(id);
    Ok(())
}

/// Waits for a removal that is under way already.
async fn gone(ground: &Ground, ctx: &EffectContext, id: &str) -> Result<(), Problem> {
    while let Some(Container { .. }) = ground.inspect(id, ctx.deadline).await? {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(())
}
