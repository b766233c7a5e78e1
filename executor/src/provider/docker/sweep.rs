//! Takes away what a node leaves whose container somebody else removed: its volumes, and what ran beside it.
//!
//! Only what carries our labels is touched, and only where the engine has just said that its node is not there.

use std::{collections::BTreeSet, time::Instant};

use bollard::query_parameters::{ListVolumesOptions, RemoveContainerOptions, RemoveVolumeOptions};
use reconciler_core::id::Uuid;

use super::{
    ground::{Ground, Listed},
    labels::{self, Role},
    problem::{EngineError, Problem},
};

/// Removes the volumes that were made for an attempt.
pub(super) async fn volumes_of(
    ground: &Ground,
    run: Uuid,
    attempt: Uuid,
    limit: Instant,
) -> Result<(), Problem> {
    let labels = [(labels::RUN, run.to_string()), (labels::ATTEMPT, attempt.to_string())];
    for (name, _) in volumes(ground, labels, limit).await? {
        remove_volume(ground, name, limit).await?;
    }
    Ok(())
}

/// The volumes with these labels, each with its attempt.
async fn volumes<const N: usize>(
    ground: &Ground,
    wanted: [(&str, String); N],
    limit: Instant,
) -> Result<Vec<(String, String)>, EngineError> {
    let options = ListVolumesOptions { filters: Some(labels::filter(wanted)) };
    let list = |client: bollard::Docker| async move { client.list_volumes(Some(options)).await };
    let found = ground.engine.ask(limit, list).await?.volumes.unwrap_or_default();
    let named = |volume: bollard::models::Volume| {
        let attempt = volume.labels.get(labels::ATTEMPT).cloned()?;
        Some((volume.name, attempt))
    };
    Ok(found.into_iter().filter_map(named).collect())
}

async fn remove_volume(ground: &Ground, name: String, limit: Instant) -> Result<(), Problem> {
    let take = |client: bollard::Docker| async move {
        client.remove_volume(&name, None::<RemoveVolumeOptions>).await
    };
    match ground.engine.ask(limit, take).await {
        Err(error) if !error.is_absence() => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The volumes of this provider in `run`; asked for before the containers are listed whose nodes use them.
pub(super) async fn volumes_of_run(
    ground: &Ground,
    run: Uuid,
    limit: Instant,
) -> Result<Vec<(String, String)>, EngineError> {
    if ground.options.volumes.iter().all(|volume| volume.keep) {
        return Ok(Vec::new());
    }
    let ours = [(labels::RUN, run.to_string()), (labels::PROVIDER, ground.name.clone())];
    volumes(ground, ours, limit).await
}

/// Takes away what belongs to none of the nodes that are there; `all` is a whole listing.
pub(super) async fn rests(
    ground: &Ground,
    all: &[Listed],
    volumes: Vec<(String, String)>,
    limit: Instant,
) {
    let attempt = |one: &Listed| one.labels.get(labels::ATTEMPT).cloned();
    let nodes: BTreeSet<String> =
        all.iter().filter(|one| one.is(Role::Node)).filter_map(attempt).collect();
    let alone = |attempt: &Option<String>| attempt.as_ref().is_some_and(|at| !nodes.contains(at));
    for one in all.iter().filter(|one| !one.is(Role::Node) && alone(&attempt(one))) {
        let options = RemoveContainerOptions { v: true, force: true, link: false };
        let id = one.id.as_str();
        let take = |client: bollard::Docker| async move {
            client.remove_container(id, Some(options)).await
        };
        if let Err(error) = ground.engine.ask(limit, take).await {
            tracing::debug!(%error, container = one.name, "cannot remove what ran beside a node");
        }
    }
    for (name, attempt) in volumes.into_iter().filter(|(_, attempt)| !nodes.contains(attempt)) {
        // One that is just being made for a node is in use, and the engine keeps it.
        if let Err(problem) = remove_volume(ground, name, limit).await {
            tracing::debug!(%problem, attempt, "cannot remove the volume of a node that is gone");
        }
    }
}
