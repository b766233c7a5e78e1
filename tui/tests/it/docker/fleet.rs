//! A run whose nodes are containers, what a person sees of it with the engine's own means, and a guard that leaves
//! nothing behind.

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
};

use bollard::{
    Docker,
    exec::{CreateExecOptions, StartExecOptions},
    models::{ContainerSummary, ContainerSummaryStateEnum as State},
    query_parameters::ListNetworksOptions,
};
use reconciler_core::id::{AttemptId, AttemptOrdinal, Generation};
use tokio::runtime::Runtime;

use super::engine::{containers, engine, remove, volumes};
use crate::world::{World, until};

/// A run on the engine of this machine.
pub(crate) struct Fleet {
    pub(crate) world: World,
    pub(crate) docker: Docker,
    runtime: Runtime,
}

/// One container as a person would name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) runs: bool,
    pub(crate) image: String,
}

/// The image of most tests.
pub(crate) use super::engine::IMAGE;

/// A group of containers; `more` goes before its policy.
pub(crate) fn group(name: &str, count: u32, command: &str, more: &str) -> String {
    format!(
        "[group.{name}]\ncount = {count}\nprovider = \"box\"\n{more}\n\
         [group.{name}.shape]\nimage = \"{IMAGE}\"\n\
         [group.{name}.boot]\ncommand = {command}\nsettle = \"50ms\"\nstop_grace = \"1s\"\n\
         [group.{name}.policy]\nstable = \"30m\"\n"
    )
}

/// The provider; most nodes need no network, which is what takes an engine longest.
pub(crate) fn provider(more: &str) -> String {
    format!("[provider.box]\nkind = \"docker\"\ninit = true\n{more}\n")
}

/// A provider without a network, and `count` nodes that stay.
pub(crate) fn sleepers(count: u32) -> String {
    provider("networks = [\"none\"]") + &group("web", count, r#"["sleep", "3600"]"#, "")
}

impl Fleet {
    /// A run with this file, for the law called `test`; `None` where there is no engine.
    pub(crate) fn new(test: &str, body: &str) -> Option<Self> {
        let runtime = Runtime::new().unwrap();
        let docker = runtime.block_on(engine(test))?;
        Some(Self { world: World::new(body), docker, runtime })
    }

    /// Waits for what the engine is asked.
    pub(crate) fn ask<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Runs a command in a container by the engine's own means.
    pub(crate) fn run_in(&self, id: &str, argv: &[&str]) {
        let options = CreateExecOptions {
            cmd: Some(argv.iter().map(|&word| word.to_owned()).collect()),
            ..CreateExecOptions::default()
        };
        let run = async {
            let made = self.docker.create_exec(id, options).await?.id;
            let detached = StartExecOptions { detach: true, ..StartExecOptions::default() };
            self.docker.start_exec(&made, Some(detached)).await
        };
        self.ask(run).unwrap();
    }

    /// The containers of the run by slot.
    pub(crate) fn nodes(&self) -> BTreeMap<String, Vec<Seen>> {
        let mut nodes: BTreeMap<String, Vec<Seen>> = BTreeMap::new();
        for found in self.ask(containers(&self.docker, self.world.uuid())) {
            let slot = found.labels.clone().unwrap()["levelhead.slot"].clone();
            nodes.entry(slot).or_default().push(seen(found));
        }
        nodes
    }

    /// The only container of a slot.
    pub(crate) fn node(&self, slot: &str) -> Seen {
        let mut nodes = self.nodes();
        let mut found = nodes.remove(slot).unwrap_or_default();
        assert_eq!(found.len(), 1, "{slot} has the containers {found:?}");
        found.remove(0)
    }

    /// The ids of all containers by slot, each of which has exactly one that runs.
    pub(crate) fn ids(&self) -> BTreeMap<String, String> {
        let one = |(slot, mut found): (String, Vec<Seen>)| {
            assert_eq!(found.len(), 1, "{slot} has the containers {found:?}");
            let found = found.remove(0);
            assert!(found.runs, "{slot}: {found:?}");
            (slot, found.id)
        };
        self.nodes().into_iter().map(one).collect()
    }

    /// Waits until a slot has one running container that is not `old`.
    pub(crate) fn until_replaced(&self, slot: &str, old: &str) -> Seen {
        until(&format!("{slot} is replaced"), || {
            let mut nodes = self.nodes();
            let found = nodes.remove(slot).unwrap_or_default();
            match found.as_slice() {
                [one] if one.id != old && one.runs => Some(one.clone()),
                _ => None,
            }
        })
    }

    /// The name that the container of a slot's first attempt will have.
    pub(crate) fn first_name(&self, slot: &str) -> String {
        let run = self.world.uuid().parse().unwrap();
        let attempt = AttemptId::derive(
            run,
            &slot.parse().unwrap(),
            Generation::new(1),
            AttemptOrdinal::new(1),
        );
        format!("levelhead-{slot}-{}", attempt.uuid)
    }

    /// Nothing of the run is left at the engine: no container, however it ended, no volume and no network.
    pub(crate) fn is_bare(&self) {
        assert_eq!(self.nodes(), BTreeMap::new());
        assert_eq!(self.ask(volumes(&self.docker, self.world.uuid())), [""; 0]);
        let ours = vec![format!("levelhead.run={}", self.world.uuid())];
        let filters = Some(HashMap::from([("label".to_owned(), ours)]));
        let networks = self.docker.list_networks(Some(ListNetworksOptions { filters }));
        assert_eq!(self.ask(networks).unwrap(), []);
    }
}

fn seen(found: ContainerSummary) -> Seen {
    Seen {
        id: found.id.unwrap(),
        name: found.names.unwrap()[0].trim_start_matches('/').to_owned(),
        runs: matches!(found.state, Some(State::RUNNING | State::PAUSED)),
        image: found.image_id.unwrap(),
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.world.stop_drivers();
        for found in self.ask(containers(&self.docker, self.world.uuid())) {
            self.ask(remove(&self.docker, &found.id.unwrap()));
        }
    }
}
