//! Taking a run: the journal with its lock and fence, the providers, and the loop around them.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use checkpoint::{
    owner::{OwnerClaim, this_machine},
    paths::StatePaths,
    scan::Recovered,
    store::{Journal, OpenError, Store},
};
use executor::{
    dispatch::{Dispatcher, FenceReader, Settings},
    seam::{BuildError, Capabilities, Provider, ProviderPlace},
    secret::Secrets,
};
use reconciler_core::id::{Fence, ProviderName, RunName, Uuid};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use crate::{
    agents::{AgentPlace, Agents},
    answers::Answers,
    api::Listen,
    capacity,
    clock::Clock,
    config::{Catalogue, ProviderDecl},
    follow::{Follow, Load},
    handle::Handle,
    inbox::Wake,
    last_lines::Joining,
    listings::Listings,
    looping::{Loop, News},
    prober::Prober,
    resume::Given,
    run::{DriveError, Ended},
    secrets,
    state::{Mode, State},
    view::DriverView,
    waiting::Waiting,
};

/// How a driver begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// It drives towards the live shape at once.
    Driving,
    /// It observes, and decides nothing before a plan is confirmed.
    Waiting,
}

/// A desired-state file that a driver follows.
#[derive(Clone)]
pub struct Followed {
    /// Where it is.
    pub path: PathBuf,
    /// Reads it anew.
    pub load: Load,
}

/// What a driver needs to know.
#[derive(Clone)]
pub struct Options {
    /// Where the run keeps its state.
    pub paths: StatePaths,
    /// The run.
    pub run: RunName,
    /// Its identity.
    pub uuid: Uuid,
    /// The providers that it may use.
    pub providers: BTreeMap<ProviderName, ProviderDecl>,
    /// Who makes them.
    pub catalogue: Catalogue,
    /// Where relative paths of providers start.
    pub base_dir: PathBuf,
    /// The secrets of nodes; shared with the providers.
    pub secrets: Secrets,
    /// Effects on their way at once, at most.
    pub parallelism: u32,
    /// Least time between two passes.
    pub pace: Duration,
    /// Where it listens to agents; without one, none can join.
    pub agents: Option<AgentPlace>,
    /// The file to follow.
    pub follow: Option<Followed>,
    /// How it begins.
    pub begin: Begin,
    /// The time.
    pub clock: Clock,
}

/// Why a run could not be taken; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal could not be opened.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// A provider could not be made.
    #[error("provider `{name}` cannot be used")]
    Provider {
        /// Which.
        name: ProviderName,
        /// Why.
        #[source]
        source: BuildError,
    },
    /// A provider is of a kind that this build does not have.
    #[error("provider `{name}` is of kind `{kind}`, which this build does not have")]
    UnknownKind {
        /// Which.
        name: ProviderName,
        /// Its kind.
        kind: String,
    },
}

/// A driver that took its run and is about to work.
pub struct Driver {
    handle: Handle,
    inbox: mpsc::UnboundedSender<Wake>,
    paths: StatePaths,
    looping: Loop,
    listen: Option<Listen>,
}

impl Driver {
    /// The way to ask it for things; answered once it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The same driver, which serves its API on the network as well.
    #[must_use]
    pub fn listening(self, listen: Listen) -> Self {
        Self { listen: Some(listen), ..self }
    }

    /// The loop itself and the way into it, for who steps it on simulated time.
    #[cfg(feature = "sim")]
    pub(crate) fn into_parts(self) -> (Loop, mpsc::UnboundedSender<Wake>) {
        (self.looping, self.inbox)
    }

    /// Drives until told to stop; serves the control socket meanwhile.
    ///
    /// # Errors
    /// Fails when the journal does.
    ///
    /// # Cancel safety
    /// Dropping the future is like killing the driver: the journal makes the next start safe.
    pub async fn run(self) -> Result<Ended, DriveError> {
        self.looping.run_served(self.paths, self.listen, self.handle, self.inbox).await
    }
}

/// The providers of a run, made anew.
pub(crate) fn build_providers(
    options: &Options,
) -> Result<BTreeMap<ProviderName, Arc<dyn Provider>>, StartError> {
    let build = |(name, decl): (&ProviderName, &ProviderDecl)| {
        let factory = options.catalogue.get(&decl.kind).ok_or_else(|| StartError::UnknownKind {
            name: name.clone(),
            kind: decl.kind.clone(),
        })?;
        let place = ProviderPlace {
            state_dir: options.paths.provider(name),
            base_dir: options.base_dir.clone(),
            secrets: options.secrets.clone(),
        };
        let provider = factory.build(&decl.options, &place);
        let provider =
            provider.map_err(|source| StartError::Provider { name: name.clone(), source })?;
        Ok((name.clone(), provider))
    };
    options.providers.iter().map(build).collect()
}

/// What the providers can do.
pub(crate) fn capabilities(
    providers: &BTreeMap<ProviderName, Arc<dyn Provider>>,
) -> BTreeMap<ProviderName, Capabilities> {
    providers.iter().map(|(name, p)| (name.clone(), p.capabilities().clone())).collect()
}

/// What a driver stands on.
pub struct Ground {
    /// Where its journal goes.
    pub store: Box<dyn Store>,
    /// What the journal held.
    pub recovered: Recovered,
    /// Reads the fence that is in force now.
    pub fence: FenceReader,
    /// The providers that it works with.
    pub providers: BTreeMap<ProviderName, Arc<dyn Provider>>,
}

/// Tells the driver that its store has an answer.
pub type StoreWake = Box<dyn Fn() + Send>;

/// Takes the run.
///
/// # Errors
/// Refuses a run that another driver has, a journal that is damaged or of another run, and providers that cannot
/// be made.
pub fn start(options: Options) -> Result<Driver, StartError> {
    start_on(options, |options, wake| {
        let claim = OwnerClaim {
            run: options.uuid,
            name: options.run.clone(),
            pid: std::process::id(),
            started: (options.clock)(),
            host: host(),
            machine: this_machine(),
        };
        let (journal, recovered) = Journal::open(options.paths.dir(), &claim, wake)?;
        let providers = build_providers(options)?;
        let fence = journal.fence_reader();
        Ok(Ground { store: Box::new(journal), recovered, fence, providers })
    })
}

/// Makes a driver on the ground that `make` gives, in place of the journal on disk and the providers declared.
///
/// # Errors
/// Fails if `make` does.
pub fn start_on<E>(
    options: Options,
    make: impl FnOnce(&Options, StoreWake) -> Result<Ground, E>,
) -> Result<Driver, E> {
    let (inbox, queue) = mpsc::unbounded_channel();
    let wake = inbox.clone();
    let wake = Box::new(move || drop(wake.send(Wake::Committed)));
    let Ground { store, recovered, fence, providers } = make(&options, wake)?;
    secrets::expect(&recovered, &options.secrets);
    let state = resume(&options, recovered, capabilities(&providers));
    let now = (options.clock)();
    let driver = DriverView {
        pid: std::process::id(),
        since: now,
        fence: state.fence,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let first = Arc::new(state.published(&driver, None, now));
    let (publisher, receiver) = watch::channel(first);
    let looping = Loop {
        dispatcher: dispatcher(&options, providers, fence, inbox.clone()),
        listings: Listings::new(&state.capabilities),
        state,
        store,
        inbox: queue,
        wake: inbox.clone(),
        publisher,
        clock: options.clock,
        driver,
        follow: options.follow.map(|f| Follow::new(f.path, f.load, options.providers)),
        answers: Answers::default(),
        pace: options.pace,
        facts: Waiting::default(),
        agents: Agents::new(options.agents, options.paths.agents()),
        prober: Prober::default(),
        joining: Joining::new(),
        looking: std::collections::BTreeSet::new(),
        early: Vec::new(),
        open_commits: 0,
        barrier: None,
        untold: crate::journaling::Untold::default(),
        unpublished: false,
        trigger: "start",
        news: News::default(),
        watches: false,
        next_pass: Instant::now(),
        audit_at: Instant::now() + Duration::from_mins(1),
        stop: None,
    };
    let handle = Handle::new(inbox.clone(), receiver);
    Ok(Driver { handle, inbox, paths: options.paths, looping, listen: None })
}

/// Carries effects under what `fence` says, and reports into `inbox`.
fn dispatcher(
    options: &Options,
    providers: BTreeMap<ProviderName, Arc<dyn Provider>>,
    fence: FenceReader,
    inbox: mpsc::UnboundedSender<Wake>,
) -> Dispatcher {
    let parallelism = usize::try_from(options.parallelism).unwrap_or(1);
    Dispatcher::new(
        Settings {
            run: options.uuid,
            parallelism,
            secrets: options.secrets.clone(),
            metered: capacity::declared(&options.providers).into_keys().collect(),
            now: Arc::clone(&options.clock),
        },
        providers,
        fence,
        Arc::new(move |report| drop(inbox.send(Wake::Report(report)))),
    )
}

fn resume(
    options: &Options,
    recovered: Recovered,
    capabilities: BTreeMap<ProviderName, Capabilities>,
) -> State {
    // A driver that waits for one plan binds it to the fence that was durable when the plan was made, which is
    // the one before its own; a driver that stays makes its plans under its own.
    let before = recovered.previous_owner.as_ref().map_or(Fence::default(), |owner| owner.fence);
    let (mode, plan_fence) = match options.begin {
        Begin::Driving => (Mode::Driving, recovered.fence),
        Begin::Waiting => (Mode::Waiting, before),
    };
    let given = Given {
        run: options.run.clone(),
        uuid: options.uuid,
        capabilities,
        secrets: options.secrets.clone(),
        declared: capacity::declared(&options.providers),
        parallelism: options.parallelism,
        plan_fence,
        mode,
    };
    State::resume(given, recovered, true, (options.clock)())
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
