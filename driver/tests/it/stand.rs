//! A run under test: its state directory, its world and clock, and drivers that are started, stopped and killed.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use checkpoint::{paths::StatePaths, reader::Reader};
use driver::{
    AgentPlace, Begin, DriveError, Driver, Ended, Face, Followed, Handle, Options, Source,
    StartError, StopReason,
    api::Client,
    config::{Catalogue, ProviderDecl},
    start, system_clock,
    view::{Edit, NodeView, PlanView, Refusal, RefusalKind, RunState, RunView},
};
use executor::{seam::ProviderFactory, secret::Secrets};
use reconciler_core::{
    desired::{
        BootSpec, ClusterShape, DesiredNodeShape, JoinMode, NodeSpec, Policy, RestartPolicy,
        RunNodeGroupSpec,
    },
    id::{Generation, PlanHash, ProviderName, Uuid},
    time::{Millis, Timestamp},
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, task::JoinHandle};

use crate::{
    fake::{Factory, KIND},
    world::{BOUND, World},
};

/// Times so short that nothing but the law under test is waited for.
pub(crate) fn swift() -> Policy {
    Policy {
        restart: RestartPolicy {
            initial: Millis::new(1),
            cap: Millis::new(2),
            ..RestartPolicy::default()
        },
        settle: Millis::new(1),
        stable: Millis::new(1),
        ..Policy::default()
    }
}

/// The run.
pub(crate) struct Stand {
    dir: TempDir,
    pub(crate) world: World,
    pub(crate) policy: Policy,
    pub(crate) parallelism: u32,
    pub(crate) listing_period: Duration,
    pub(crate) follow: Option<Followed>,
    /// The providers by name; each group goes to one.
    pub(crate) grounds: Vec<&'static str>,
    /// What nodes are given, where they join by agents.
    pub(crate) agents: Option<Secrets>,
    ahead: Arc<AtomicU64>,
}

impl Stand {
    /// A run that nobody drives yet, whose world never holds more than `most` leases.
    pub(crate) fn new(most: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(dir.path().join("state"), most);
        Self {
            dir,
            world,
            policy: swift(),
            parallelism: 16,
            listing_period: Duration::from_millis(40),
            follow: None,
            grounds: vec!["fake"],
            agents: None,
            ahead: Arc::default(),
        }
    }

    /// From now on nodes join by agents.
    pub(crate) fn join_by_agents(&mut self) {
        self.agents = Some(Secrets::new(self.dir.path().to_owned()));
    }

    /// Where the run keeps its state.
    pub(crate) fn paths(&self) -> StatePaths {
        StatePaths::new(self.dir.path().join("state"))
    }

    /// A path beside the state.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A shape with these counts, each group on the provider of its place.
    pub(crate) fn shape(&self, groups: &[(&str, u32)]) -> ClusterShape {
        let groups = groups.iter().enumerate().map(|(place, (group, count))| {
            let provider = self.grounds[place.min(self.grounds.len() - 1)].parse().unwrap();
            let spec = NodeSpec {
                role: "worker".to_owned(),
                provider,
                shape: DesiredNodeShape::default(),
                boot: BootSpec { command: vec!["serve".to_owned()], ..BootSpec::default() },
                join: if self.agents.is_some() { JoinMode::Agent } else { JoinMode::None },
            };
            RunNodeGroupSpec::new(group.parse().unwrap(), *count, spec, self.policy.clone())
        });
        ClusterShape::new("local".parse().unwrap(), uuid(), Generation::new(1), groups).unwrap()
    }

    /// The edit that declares these counts.
    pub(crate) fn declare(&self, groups: &[(&str, u32)]) -> Edit {
        let digest = format!("{groups:?}");
        Edit::File { shape: Box::new(self.shape(groups)), digest }
    }

    /// The providers that are declared.
    pub(crate) fn providers(&self) -> BTreeMap<ProviderName, ProviderDecl> {
        let decl =
            || ProviderDecl { kind: KIND.to_owned(), options: BTreeMap::new(), capacity: None };
        self.grounds.iter().map(|name| (name.parse().unwrap(), decl())).collect()
    }

    /// What a driver is started with.
    pub(crate) fn options(&self, begin: Begin) -> Options {
        let factory: Arc<dyn ProviderFactory> =
            Arc::new(Factory { world: self.world.clone(), listing_period: self.listing_period });
        let (ahead, system) = (Arc::clone(&self.ahead), system_clock());
        let clock = move || Timestamp::after(system(), Millis::new(ahead.load(Ordering::SeqCst)));
        Options {
            paths: self.paths(),
            run: "local".parse().unwrap(),
            uuid: uuid(),
            providers: self.providers(),
            catalogue: Catalogue::new([factory]),
            base_dir: self.dir.path().to_owned(),
            secrets: self
                .agents
                .clone()
                .unwrap_or_else(|| Secrets::new(self.dir.path().to_owned())),
            parallelism: self.parallelism,
            pace: Duration::ZERO,
            agents: self.agents.as_ref().map(|_| AgentPlace::default()),
            follow: self.follow.clone(),
            begin,
            clock: Arc::new(clock),
        }
    }

    /// Tries to take the run.
    pub(crate) fn take(&self, begin: Begin) -> Result<Driver, StartError> {
        start(self.options(begin))
    }

    /// Drives the run.
    #[track_caller]
    pub(crate) fn drive(&self, begin: Begin) -> Run {
        self.drive_made(|_| self.take(begin).unwrap())
    }

    /// Drives the run with a driver that `make` changed.
    #[track_caller]
    pub(crate) fn drive_with(&self, make: impl FnOnce(Driver) -> Driver) -> Run {
        self.drive_made(|_| make(self.take(Begin::Driving).unwrap()))
    }

    /// Drives the run with the driver that `make` makes of these options.
    #[track_caller]
    pub(crate) fn drive_made(&self, make: impl FnOnce(Options) -> Driver) -> Run {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let driver = {
            let _entered = runtime.enter();
            make(self.options(Begin::Driving))
        };
        let handle = driver.handle();
        let task = runtime.spawn(driver.run());
        Run { runtime, handle, task, socket: self.paths().socket() }
    }

    /// Drives the run, and brings it to these counts.
    #[track_caller]
    pub(crate) fn up(&self, groups: &[(&str, u32)]) -> Run {
        let run = self.drive(Begin::Driving);
        run.edit(&self.declare(groups));
        run.converged();
        run
    }

    /// Moves the clock ahead; the driver notices with its next wake.
    pub(crate) fn jump(&self, length: Duration) {
        let millis = u64::try_from(length.as_millis()).unwrap();
        self.ahead.fetch_add(millis, Ordering::SeqCst);
    }

    /// The journal, for reading.
    pub(crate) fn journal(&self) -> Reader {
        Reader::open(self.paths().dir()).unwrap()
    }

    /// Every byte that the journal has on disk.
    pub(crate) fn bytes(&self) -> Vec<Vec<u8>> {
        let journal = self.paths().journal();
        let log = PathBuf::from(format!("{}-wal", journal.display()));
        [journal, log].iter().map(|path| fs::read(path).unwrap_or_default()).collect()
    }
}

/// The identity of the run.
pub(crate) fn uuid() -> Uuid {
    Uuid::from_bytes([7; 16])
}

/// Who asks.
pub(crate) fn source() -> Source {
    Source { face: Face::Cli, who: "an operator".to_owned(), typed: None }
}

/// Other counts.
pub(crate) fn counts(groups: &[(&str, u32)]) -> Edit {
    let counts = groups.iter().map(|(group, count)| (group.parse().unwrap(), *count)).collect();
    Edit::Counts { counts }
}

/// A driver at work.
pub(crate) struct Run {
    runtime: Runtime,
    pub(crate) handle: Handle,
    task: JoinHandle<Result<Ended, DriveError>>,
    socket: PathBuf,
}

impl Run {
    /// Runs what waits.
    pub(crate) fn block<T>(&self, work: impl Future<Output = T>) -> T {
        let bounded = self.runtime.block_on(async { tokio::time::timeout(BOUND, work).await });
        bounded.expect("no answer in time")
    }

    /// What is shown now.
    pub(crate) fn view(&self) -> RunView {
        let latest = self.handle.published().borrow().clone();
        latest.view()
    }

    /// One slot as it is shown now.
    #[track_caller]
    pub(crate) fn node(&self, slot: &str) -> NodeView {
        self.view().nodes.into_iter().find(|node| node.slot.to_string() == slot).unwrap()
    }

    /// Waits until what is shown is so.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, so: impl Fn(&RunView) -> bool) {
        let mut published = self.handle.published();
        let wait = published.wait_for(|p| so(&p.view()));
        let shown = self.runtime.block_on(async { tokio::time::timeout(BOUND, wait).await });
        match shown.ok() {
            Some(Ok(_)) => {}
            Some(Err(_gone)) => panic!("the driver ended before: {what}"),
            None => panic!("not in time: {what}; {:#?}", self.view()),
        }
    }

    /// Waits until everything is as declared, and nothing more is due.
    #[track_caller]
    pub(crate) fn converged(&self) {
        self.until("converged", |view| view.state == RunState::Converged && view.due.is_none());
    }

    /// Plans.
    pub(crate) fn plan(&self, edit: &Edit) -> Result<PlanView, Refusal> {
        self.block(self.handle.plan(edit.clone()))
    }

    /// Applies.
    pub(crate) fn apply(&self, edit: &Edit, hash: PlanHash) -> Result<Generation, Refusal> {
        self.block(self.handle.apply(edit.clone(), hash, source()))
    }

    /// Plans and applies; again where the world moved between the two.
    #[track_caller]
    pub(crate) fn edit(&self, edit: &Edit) {
        let deadline = Instant::now() + BOUND;
        loop {
            let plan = self.plan(edit).unwrap();
            match self.apply(edit, plan.hash) {
                Ok(_) => return,
                Err(refusal) => assert_eq!(refusal.kind, RefusalKind::Stale, "{refusal:?}"),
            }
            assert!(Instant::now() < deadline, "always stale");
        }
    }

    /// A client of the control socket.
    pub(crate) fn client(&self) -> Client {
        eventually("the socket is served", || self.socket.exists());
        Client::new(&self.socket)
    }

    /// Kills the driver: nothing of its process goes on.
    pub(crate) fn kill(self) {
        self.task.abort();
        self.runtime.shutdown_timeout(BOUND);
    }

    /// Asks it to stop, and says how it ended.
    #[track_caller]
    pub(crate) fn stop(self) -> Ended {
        self.handle.stop(StopReason::Terminated);
        let Self { runtime, task, .. } = self;
        let ended = runtime.block_on(async { tokio::time::timeout(BOUND, task).await });
        let ended = ended.unwrap().unwrap().unwrap();
        runtime.shutdown_timeout(BOUND);
        ended
    }
}

/// Asks again in short intervals until it is so.
#[track_caller]
pub(crate) fn eventually(what: &str, so: impl Fn() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::park_timeout(Duration::from_millis(3));
    }
}
