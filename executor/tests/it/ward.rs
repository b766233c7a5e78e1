//! A ward for process nodes: a place of its own, calls in one line, and nothing left behind when it ends.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use executor::{
    provider::process::ProcessProvider,
    seam::{EffectContext, Leased, Provider, ProviderPlace, SessionObservation, StartRequest},
    secret::Secrets,
};
use reconciler_core::{
    desired::{BootSpec, DesiredNodeShape, JoinMode, NodeSpec, VerifyCommand},
    effect::{
        ActionKind, CommandKind, EffectFailure, ExitStatus, Look, NodeRequest, WorkloadState,
        idempotency_key,
    },
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, LogicalNodeId, OperationId, RevisionDigest,
        SessionId, StepId, Uuid,
    },
    observed::{Handle, SessionStage},
    time::Millis,
};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// No wait of a test is longer.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// A place, a provider in it, and a node to try things on.
pub(crate) struct Ward {
    pub(crate) place: ProviderPlace,
    pub(crate) provider: Arc<ProcessProvider>,
    pub(crate) run: Uuid,
    pub(crate) fence: Fence,
    heard: Arc<Mutex<Vec<SessionObservation>>>,
    started: Mutex<Vec<Handle>>,
    _dir: TempDir,
}

/// One attempt and what it runs.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) request: NodeRequest,
}

pub(crate) fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A boot spec that runs a shell script; the shell is the test's own choice of program.
pub(crate) fn script(text: &str) -> BootSpec {
    BootSpec { command: argv(&["sh", "-c", text]), ..BootSpec::default() }
}

/// A boot spec that goes on for longer than any test.
pub(crate) fn stays() -> BootSpec {
    BootSpec { command: argv(&["sleep", "120"]), ..BootSpec::default() }
}

pub(crate) fn verifying(commands: &[(&[&str], u64)]) -> BootSpec {
    let verify = commands
        .iter()
        .map(|(words, ms)| VerifyCommand { argv: argv(words), timeout: Millis::new(*ms) });
    BootSpec { verify: verify.collect(), ..stays() }
}

impl Ward {
    pub(crate) fn new() -> Self {
        Self::with_log_cap(10 * 1024 * 1024)
    }

    pub(crate) fn with_log_cap(cap: u64) -> Self {
        let dir = TempDir::new().unwrap();
        let place = ProviderPlace {
            state_dir: dir.path().join("state").join("process"),
            base_dir: dir.path().to_owned(),
            secrets: Secrets::new(dir.path().to_owned()),
        };
        Self {
            provider: Arc::new(ProcessProvider::new(place.clone(), cap)),
            place,
            run: fresh_run(),
            fence: Fence::new(5),
            heard: Arc::default(),
            started: Mutex::default(),
            _dir: dir,
        }
    }

    /// The provider as the next driver would have it.
    pub(crate) fn restart(&mut self) {
        let cap = 10 * 1024 * 1024;
        self.provider = Arc::new(ProcessProvider::new(self.place.clone(), cap));
        self.fence = self.fence.next();
    }

    pub(crate) fn node(&self, index: u32, boot: BootSpec) -> Node {
        self.attempt(index, 1, boot)
    }

    /// A later attempt of a slot.
    pub(crate) fn attempt(&self, index: u32, ordinal: u64, boot: BootSpec) -> Node {
        let slot = LogicalNodeId::new("web".parse().unwrap(), index);
        let attempt =
            AttemptId::derive(self.run, &slot, Generation::new(1), AttemptOrdinal::new(ordinal));
        let spec = NodeSpec {
            role: "web".to_owned(),
            provider: "process".parse().unwrap(),
            shape: DesiredNodeShape::default(),
            boot,
            join: JoinMode::None,
        };
        let request = NodeRequest {
            run: self.run,
            slot: slot.clone(),
            attempt,
            revision: spec.revision(),
            spec: Arc::new(spec),
        };
        Node { slot, attempt, request }
    }

    pub(crate) fn context(
        &self,
        node: &Node,
        kind: impl Into<ActionKind>,
        detail: &str,
    ) -> EffectContext {
        EffectContext {
            run: self.run,
            slot: node.slot.clone(),
            attempt: node.attempt,
            operation: OperationId::new(1),
            step: StepId::new(1),
            key: idempotency_key(node.attempt.uuid, kind, detail),
            fence: self.fence,
            deadline: Instant::now() + BOUND,
        }
    }

    pub(crate) async fn create(&self, node: &Node) -> Result<Leased, EffectFailure> {
        let ctx = self.context(node, CommandKind::CreateLease, "");
        self.provider.create_lease(&ctx, &node.request).await
    }

    /// Starts session `session` on a lease.
    pub(crate) async fn start(
        &self,
        node: &Node,
        leased: &Leased,
        session: u64,
    ) -> Result<Handle, EffectFailure> {
        let ctx = self.context(node, CommandKind::StartBootstrap, &session.to_string());
        let start = StartRequest {
            request: node.request.clone(),
            lease: leased.lease.clone(),
            endpoint: leased.endpoint.clone().unwrap(),
            session: SessionId::new(session),
            timeout: BOUND,
        };
        self.heard.lock().unwrap().clear();
        let heard = Arc::clone(&self.heard);
        let sink = Arc::new(move |report| heard.lock().unwrap().push(report));
        let result = self.provider.start_bootstrap(&ctx, &start, sink).await;
        self.started.lock().unwrap().extend(result.iter().cloned());
        result
    }

    /// A lease with its workload running.
    pub(crate) async fn up(&self, node: &Node) -> (Leased, Handle) {
        let leased = self.create(node).await.unwrap();
        let workload = self.start(node, &leased, 1).await.unwrap();
        (leased, workload)
    }

    pub(crate) async fn cancel(
        &self,
        node: &Node,
        leased: &Leased,
        workload: &Handle,
        grace: Duration,
    ) -> Result<(), EffectFailure> {
        let ctx = self.context(node, CommandKind::CancelBootstrap, "");
        self.provider.cancel_bootstrap(&ctx, &leased.lease, workload, grace).await
    }

    /// Closes the session of a workload.
    pub(crate) async fn complete(
        &self,
        node: &Node,
        leased: &Leased,
        workload: &Handle,
    ) -> Result<(), EffectFailure> {
        let ctx = self.context(node, CommandKind::BootstrapConvergenceObserved, "");
        self.provider.complete_bootstrap(&ctx, &leased.lease, workload).await
    }

    pub(crate) async fn destroy(&self, node: &Node, leased: &Leased) -> Result<(), EffectFailure> {
        let ctx = self.context(node, CommandKind::DestroyLease, "");
        self.provider.destroy_lease(&ctx, &leased.lease).await
    }

    pub(crate) async fn look(&self, node: &Node, leased: Option<&Leased>) -> Look {
        let lease = leased.map(|leased| &leased.lease);
        self.provider.inspect(self.run, &node.slot, node.attempt, lease).await
    }

    pub(crate) async fn workload(&self, node: &Node) -> WorkloadState {
        match self.look(node, None).await {
            Look::Present { workload, .. } => workload,
            look @ (Look::Absent | Look::Unknown { .. }) => panic!("the lease is gone: {look:?}"),
        }
    }

    /// Looks until the workload ended.
    pub(crate) async fn exited(&self, node: &Node) -> (ExitStatus, String) {
        let end = Instant::now() + BOUND;
        loop {
            if let WorkloadState::Exited { status, tail } = self.workload(node).await {
                return (status, tail.as_str().to_owned());
            }
            assert!(Instant::now() < end, "the workload does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The stages of the last session; their numbers must count from 1.
    pub(crate) fn stages(&self) -> Vec<SessionStage> {
        let heard = self.heard.lock().unwrap();
        assert!(heard.iter().map(|report| report.seq).eq((1..).take(heard.len())));
        heard.iter().map(|report| report.stage).collect()
    }

    pub(crate) fn dir(&self, node: &Node) -> PathBuf {
        self.place.state_dir.join(format!("{}.{}", node.slot, node.attempt.ordinal))
    }

    /// Waits until a file of the lease has some content, and returns it.
    pub(crate) async fn wrote(&self, node: &Node, file: &str) -> String {
        let path = self.dir(node).join(file);
        let mut text = String::new();
        until("the workload wrote its file", || {
            text = fs::read_to_string(&path).unwrap_or_default();
            text.ends_with('\n')
        })
        .await;
        text
    }
}

impl Drop for Ward {
    fn drop(&mut self) {
        for workload in self.started.lock().unwrap().iter() {
            let pid = pid_of(workload);
            let start = workload.get("start").and_then(|start| start.parse().ok());
            if start.is_some() && start_of(pid) == start {
                let _ended = Pid::from_raw(pid).map(|pid| kill_process_group(pid, Signal::KILL));
            }
        }
    }
}

/// A run that no other test has: an attempt's UUID derives from it, and processes are found by that.
fn fresh_run() -> Uuid {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let text = format!("{} {since:?} {count}", std::process::id());
    let digest = RevisionDigest::of(text.as_bytes()).to_string();
    Uuid::from_bytes(digest.as_bytes()[..16].try_into().unwrap())
}

/// The start time of a process that runs.
pub(crate) fn start_of(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = text.get(text.rfind(')')? + 2..)?;
    let mut fields = rest.split(' ');
    if fields.next()? == "Z" { None } else { fields.nth(18)?.parse().ok() }
}

pub(crate) fn pid_of(workload: &Handle) -> i32 {
    workload.get("pid").unwrap().parse().unwrap()
}

pub(crate) fn is_alive(pid: i32) -> bool {
    start_of(pid).is_some()
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + BOUND;
    while !holds() {
        assert!(Instant::now() < end, "never came true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Changes one field of a JSON file.
pub(crate) fn tamper(path: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let text = fs::read_to_string(path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let mut json = serde_json::from_str(first).unwrap();
    change(&mut json);
    fs::write(path, format!("{json}\n{rest}")).unwrap();
}

pub(crate) fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}
