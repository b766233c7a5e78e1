//! The engine's own time: the same containers by the same calls, as many at once, and nobody who reconciles.

use std::{collections::HashMap, io, time::Instant};

use bollard::{
    Docker,
    models::{ContainerCreateBody, ContainerSummaryStateEnum as State, HostConfig},
    query_parameters::{
        CreateContainerOptions, InspectContainerOptions, KillContainerOptions,
        RemoveContainerOptions, StopContainerOptions,
    },
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::runtime::Runtime;

use crate::{
    engine::{IMAGE, containers},
    millis,
    rig::PARALLELISM,
};

/// The engine without Levelhead.
pub(crate) struct Floor<'a> {
    pub(crate) docker: &'a Docker,
    pub(crate) runtime: &'a Runtime,
}

impl Floor<'_> {
    /// Makes and starts `n` containers; gives their ids.
    pub(crate) fn up(&self, n: usize, times: &mut Vec<f64>) -> io::Result<Vec<String>> {
        let begun = Instant::now();
        let all = stream::iter(0..n).map(|_| one_up(self.docker)).buffer_unordered(PARALLELISM);
        let ids = self.runtime.block_on(all.try_collect()).map_err(io::Error::other)?;
        times.push(millis(begun));
        Ok(ids)
    }

    /// Stops and removes them.
    pub(crate) fn down(&self, ids: &[String], times: &mut Vec<f64>) -> io::Result<()> {
        let begun = Instant::now();
        let all = stream::iter(ids).map(|id| one_down(self.docker, id));
        let all = all.buffer_unordered(PARALLELISM).try_collect::<Vec<()>>();
        self.runtime.block_on(all).map_err(io::Error::other)?;
        times.push(millis(begun));
        Ok(())
    }
}

async fn one_up(docker: &Docker) -> Result<String, bollard::errors::Error> {
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        cmd: Some(vec!["sleep".to_owned(), "3600".to_owned()]),
        host_config: Some(HostConfig {
            network_mode: Some("host".to_owned()),
            init: Some(true),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    let made = docker.create_container(None::<CreateContainerOptions>, body).await?;
    docker.start_container(&made.id, None).await?;
    docker.inspect_container(&made.id, None::<InspectContainerOptions>).await?;
    Ok(made.id)
}

async fn one_down(docker: &Docker, id: &str) -> Result<(), bollard::errors::Error> {
    docker.stop_container(id, Some(StopContainerOptions { signal: None, t: Some(2) })).await?;
    let options = RemoveContainerOptions { force: true, v: true, link: false };
    docker.remove_container(id, Some(options)).await
}

/// Kills the oldest container of the run, which has shown that it serves: one that was just replaced would soon be held
/// as a crash loop. Gives its id.
pub(crate) async fn kill_one(docker: &Docker, run: &str) -> io::Result<String> {
    let all = containers(docker, run).await;
    let id = all
        .into_iter()
        .filter_map(|one| one.id)
        .next_back()
        .ok_or_else(|| io::Error::other("no node"))?;
    let options = KillContainerOptions { signal: "KILL".to_owned() };
    docker.kill_container(&id, Some(options)).await.map_err(io::Error::other)?;
    Ok(id)
}

/// Waits until `n` containers of the run are running, and that one is not among them.
pub(crate) async fn until_replaced(
    docker: &Docker,
    run: &str,
    old: &str,
    n: usize,
) -> io::Result<()> {
    let begun = Instant::now();
    while begun.elapsed().as_secs() < 60 {
        let all = containers(docker, run).await;
        let states: HashMap<&str, Option<State>> =
            all.iter().filter_map(|one| Some((one.id.as_deref()?, one.state))).collect();
        let running = states.values().filter(|state| **state == Some(State::RUNNING)).count();
        if running == n && !states.contains_key(old) {
            return Ok(());
        }
    }
    Err(io::Error::other("the killed container was not replaced within a minute"))
}
