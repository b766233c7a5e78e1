//! What the parts of one docker provider share, and the few questions that all of them ask.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bollard::{
    models::{ContainerInspectResponse, ContainerSummary},
    query_parameters::ListContainersOptions,
};
use reconciler_core::{
    desired::ProbeKind,
    id::{Fence, IdempotencyKey, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
};

use super::{
    engine::Engine,
    gather::Gathering,
    images::Images,
    labels::{self, Labels, Mark},
    options::Options,
    ports::{PortPair, Ports},
    problem::{EngineError, Problem},
    state::Run,
    wakes::Wakes,
};
use crate::seam::{EffectContext, ProviderPlace};

/// How long a look may take; the dispatcher gives up on it a little later.
const LOOK: Duration = Duration::from_secs(25);

/// What the parts of a provider share.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) engine: Engine,
    pub(super) options: Options,
    /// The provider's own name, which everything that it makes carries.
    pub(super) name: String,
    pub(super) place: ProviderPlace,
    pub(super) images: Images,
    pub(super) ports: Ports,
    pub(super) wakes: Wakes,
    pub(super) gathering: Gathering,
    /// By attempt: which request started its workload last, and when the engine did so.
    begun: Mutex<BTreeMap<Uuid, (IdempotencyKey, String)>>,
    /// By container and kind: the command of a probe that was left behind because it took too long.
    pub(super) left_behind: Mutex<BTreeMap<(String, ProbeKind), String>>,
}

/// One container, as the engine shows it.
#[derive(Clone, Debug)]
pub(super) struct Container {
    pub(super) id: String,
    pub(super) name: String,
    labels: Labels,
    pub(super) run: Run,
    pub(super) env: Vec<String>,
    pub(super) networks: Vec<String>,
}

/// One container of an attempt, as a listing shows it.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) created: i64,
    pub(super) labels: Labels,
    /// True if something runs in it, also while that is paused.
    pub(super) runs: bool,
    pub(super) paused: bool,
}

impl Ground {
    pub(super) fn new(
        engine: Engine,
        options: Options,
        name: String,
        place: ProviderPlace,
    ) -> Self {
        let images = Images::new(place.state_dir.clone(), options.pull);
        let (ports, wakes) = (Ports::default(), Wakes::default());
        Self {
            engine,
            options,
            name,
            place,
            images,
            ports,
            wakes,
            gathering: Gathering::default(),
            begun: Mutex::default(),
            left_behind: Mutex::default(),
        }
    }

    /// Until when a look may take.
    pub(super) fn soon() -> Instant {
        Instant::now() + LOOK
    }

    /// Looks at one container by its id or name; `None` if the engine says that there is none.
    pub(super) async fn inspect(
        &self,
        id: &str,
        limit: Instant,
    ) -> Result<Option<Container>, EngineError> {
        let name = id.to_owned();
        let look =
            |client: bollard::Docker| async move { client.inspect_container(&name, None).await };
        match self.engine.ask(limit, look).await {
            Ok(found) => Container::of(found).map(Some),
            Err(error) if error.is_absence() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists every container, also of what ended, that carries these labels.
    pub(super) async fn list<const N: usize>(
        &self,
        wanted: [(&str, String); N],
        limit: Instant,
    ) -> Result<Vec<Listed>, EngineError> {
        self.summaries(wanted, limit).await?.into_iter().map(Listed::of).collect()
    }

    /// The same as the engine tells it.
    pub(super) async fn summaries<const N: usize>(
        &self,
        wanted: [(&str, String); N],
        limit: Instant,
    ) -> Result<Vec<ContainerSummary>, EngineError> {
        let options = ListContainersOptions {
            all: true,
            filters: Some(labels::filter(wanted)),
            ..ListContainersOptions::default()
        };
        let list =
            |client: bollard::Docker| async move { client.list_containers(Some(options)).await };
        self.engine.ask(limit, list).await
    }

    /// What an attempt's container says of itself, if it is ours to touch.
    pub(super) fn owned(ctx: &EffectContext, container: &Container) -> Result<Mark, Problem> {
        let mark = container.mark_of(ctx.run, &ctx.slot, ctx.attempt.uuid)?;
        admit(ctx.fence, mark.fence)?;
        Ok(mark)
    }

    /// Where a node with these ports is reached.
    pub(super) fn endpoint(&self, ports: &BTreeMap<String, PortPair>) -> Endpoint {
        let outside = ports.iter().map(|(name, pair)| (name.clone(), pair.outside));
        Endpoint {
            host: self.engine.host.reached_at(self.options.publish).into(),
            ports: std::sync::Arc::new(outside.collect()),
        }
    }

    /// Remembers what the request `key` started.
    pub(super) fn note_begun(&self, attempt: Uuid, key: IdempotencyKey, started: &str) {
        self.begun().insert(attempt, (key, started.to_owned()));
    }

    /// True if the request `key` is known to have started what was started then.
    pub(super) fn has_begun(&self, attempt: Uuid, key: IdempotencyKey, started: &str) -> bool {
        self.begun().get(&attempt).is_some_and(|(by, at)| *by == key && at == started)
    }

    /// Forgets what was known of an attempt that is gone.
    pub(super) fn forget(&self, attempt: Uuid) {
        self.begun().remove(&attempt);
    }

    fn begun(&self) -> MutexGuard<'_, BTreeMap<Uuid, (IdempotencyKey, String)>> {
        locked(&self.begun)
    }
}

/// What a lock holds, also where somebody panicked with it.
pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a controller that is older than the one that made a container.
///
/// That is all an engine can say of fences: it keeps none itself, so the seam calls this *advisory* (D11).
pub(super) fn admit(given: Fence, seen: Fence) -> Result<(), Problem> {
    if given < seen { Err(Problem::Fenced { given, seen }) } else { Ok(()) }
}

/// The lease that a container is.
pub(super) fn lease(id: &str, fence: Fence) -> LeaseFacts {
    LeaseFacts { id: LeaseId::new(id), fence, handle: Handle::default() }
}

impl Container {
    fn of(found: ContainerInspectResponse) -> Result<Self, EngineError> {
        let run = Run::of(&found);
        let lacks = |what: &str| EngineError::Broken(format!("a container has no {what}"));
        let config = found.config.unwrap_or_default();
        let networks = found.network_settings.and_then(|settings| settings.networks);
        Ok(Self {
            id: found.id.ok_or_else(|| lacks("id"))?,
            name: plain_name(&found.name.unwrap_or_default()),
            labels: config.labels.unwrap_or_default(),
            run,
            env: config.env.unwrap_or_default(),
            networks: networks.unwrap_or_default().into_keys().collect(),
        })
    }

    /// What it says of itself, if it is of this attempt.
    pub(super) fn mark_of(
        &self,
        run: Uuid,
        slot: &LogicalNodeId,
        attempt: Uuid,
    ) -> Result<Mark, Problem> {
        let foreign = |why: String| Problem::Foreign { name: self.name.clone(), why };
        let mark = Mark::read(&self.labels).map_err(foreign)?;
        if mark.is_of(run, slot, attempt) {
            return Ok(mark);
        }
        Err(foreign(format!("it is of slot {} of run {}", mark.slot, mark.run)))
    }
}

impl Listed {
    pub(super) fn of(found: ContainerSummary) -> Result<Self, EngineError> {
        use bollard::models::ContainerSummaryStateEnum as State;
        let name = found.names.and_then(|names| names.into_iter().next()).unwrap_or_default();
        let runs = matches!(
            found.state,
            Some(State::RUNNING | State::PAUSED | State::RESTARTING | State::STOPPING)
        );
        Ok(Self {
            id: found
                .id
                .ok_or_else(|| EngineError::Broken("a listed container has no id".to_owned()))?,
            name: plain_name(&name),
            created: found.created.unwrap_or(0),
            labels: found.labels.unwrap_or_default(),
            runs,
            paused: matches!(found.state, Some(State::PAUSED)),
        })
    }

    pub(super) fn is(&self, role: labels::Role) -> bool {
        self.labels.get(labels::ROLE).is_some_and(|said| said == role.as_str())
    }
}

/// The engine writes a slash before names.
fn plain_name(name: &str) -> String {
    name.trim_start_matches('/').to_owned()
}
