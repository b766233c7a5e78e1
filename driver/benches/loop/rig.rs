//! A driver on such a ground, and what it is asked to do.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

use checkpoint::{
    paths::StatePaths,
    store::{Journal, MemoryStore},
};
use driver::{
    Begin, DriveError, Driver, Ended, Ground, Handle, Options, config::Catalogue, start_on,
    system_clock,
};
use executor::{dispatch::FenceReader, seam::Provider, secret::Secrets};
use reconciler_core::{
    effect::{OwnedLease, WorkloadState},
    id::{LogicalNodeId, ProviderName},
    observed::{NodeRecord, NodeStage},
    time::{Millis, Timestamp},
};
use tempfile::TempDir;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    ground::{self, Forgetful, RUN, claim, run_name, shape_row},
    provider::{Instantly, lease_id},
    us,
};

/// A machine that is busy with other things is slow; the figures tell.
const PATIENCE: Duration = Duration::from_mins(5);
/// What a retry waits at least, once it is not the first.
const WAITS: Millis = Millis::new(300);

/// A driver with a settled fleet.
pub(crate) struct Rig {
    handle: Handle,
    provider: Arc<Instantly>,
    calls: tokio::sync::Mutex<mpsc::UnboundedReceiver<Instant>>,
    task: JoinHandle<Result<Ended, DriveError>>,
    slots: Vec<LogicalNodeId>,
    steps: Arc<AtomicU64>,
    home: TempDir,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn options(dir: &Path) -> io::Result<Options> {
    Ok(Options {
        paths: StatePaths::new(dir),
        run: run_name()?,
        uuid: RUN,
        providers: BTreeMap::new(),
        catalogue: Catalogue::new([]),
        base_dir: dir.to_owned(),
        secrets: Secrets::default(),
        parallelism: 32,
        pace: Duration::ZERO,
        agents: None,
        follow: None,
        begin: Begin::Driving,
        clock: system_clock(),
    })
}

fn providers(provider: &Arc<Instantly>) -> io::Result<BTreeMap<ProviderName, Arc<dyn Provider>>> {
    let name: ProviderName = "instant".parse().map_err(io::Error::other)?;
    Ok(BTreeMap::from([(name, Arc::clone(provider) as Arc<dyn Provider>)]))
}

impl Rig {
    /// Brings `n` nodes up, and waits until all are ready.
    pub(crate) async fn up(n: u32) -> io::Result<Self> {
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let (provider, calls) = Instantly::new(Vec::new());
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        let driver: Driver = start_on(options(home.path())?, |_, wake| {
            let mut recovered = MemoryStore::new().recovered();
            recovered.shape = Some(shape_row(n)?);
            let (store, fence) = (Box::new(Forgetful::new(wake, counted)), recovered.fence);
            let fence: FenceReader = Arc::new(move || fence);
            Ok::<_, io::Error>(Ground { store, recovered, fence, providers: providers(&provider)? })
        })?;
        let handle = driver.handle();
        let task = tokio::spawn(driver.run());
        let shape = ground::shape(n)?;
        let slots = shape.expand().into_iter().map(|spec| spec.slot).collect();
        let calls = tokio::sync::Mutex::new(calls);
        let rig = Self { handle, provider, calls, task, slots, steps, home };
        rig.settled().await?;
        while rig.calls.lock().await.try_recv().is_ok() {}
        Ok(rig)
    }

    async fn settled(&self) -> io::Result<()> {
        let mut published = self.handle.published();
        let settled = published.wait_for(|p| p.standing().converged);
        let waited = tokio::time::timeout(PATIENCE, settled).await;
        let waited = waited.map_err(|_late| {
            let ended = if self.task.is_finished() { "; the driver has ended" } else { "" };
            io::Error::other(format!("the fleet did not settle within {PATIENCE:?}{ended}"))
        })?;
        waited.map(drop).map_err(io::Error::other)
    }

    /// Where the driver is called.
    pub(crate) fn socket(&self) -> PathBuf {
        StatePaths::new(self.home.path()).socket()
    }

    /// How long each of the last passes took, in microseconds, by its number.
    pub(crate) fn took(&self) -> BTreeMap<u64, u64> {
        let latest = self.handle.published().borrow().clone();
        latest.view().passes.iter().map(|pass| (pass.pass.get(), pass.micros)).collect()
    }

    /// How many steps were journaled.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// The number of the last pass that did something.
    pub(crate) fn passes(&self) -> u64 {
        self.handle.published().borrow().pass().get()
    }

    /// The records of the fleet.
    pub(crate) fn records(&self) -> Vec<Arc<NodeRecord>> {
        let published = self.handle.published();
        let published = published.borrow();
        published.cluster().groups().flat_map(|(_, group)| group.records().cloned()).collect()
    }

    /// Ends the `n`th node's workload: the time until the executor is called for what follows from it.
    pub(crate) async fn exit_to_command(&self, n: u32) -> io::Result<Duration> {
        let at = usize::try_from(n).map_err(io::Error::other)?;
        let slot = self.slots.get(at).ok_or_else(|| io::Error::other("no such slot"))?;
        let lease = {
            let published = self.handle.published();
            let published = published.borrow();
            let record = published.cluster().record(slot);
            record.map(|record| lease_id(slot, record.attempt))
        };
        let lease = lease.ok_or_else(|| io::Error::other("no record"))?;
        let mut calls = self.calls.lock().await;
        let begun = Instant::now();
        if !self.provider.end(&lease) {
            return Err(io::Error::other(format!("{lease} is not watched")));
        }
        let called = tokio::time::timeout(PATIENCE, calls.recv()).await?;
        let taken = called.map(|at| at.duration_since(begun));
        // The lease of the replacement; after that the fleet settles again.
        tokio::time::timeout(PATIENCE, calls.recv()).await?;
        self.settled().await?;
        taken.ok_or_else(|| io::Error::other("the provider is gone"))
    }
}

impl Rig {
    /// Ends every workload at once: the longest time in which the driver took no event until all serve again, in
    /// microseconds.
    pub(crate) async fn stall(&self) -> io::Result<f64> {
        let handle = self.handle.clone();
        let (over, mut ended) = tokio::sync::oneshot::channel::<()>();
        let longest = tokio::spawn(async move {
            let mut longest = Duration::ZERO;
            while ended.try_recv().is_err() {
                let asked = Instant::now();
                handle.ping().await.map_err(io::Error::other)?;
                longest = longest.max(asked.elapsed());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok::<_, io::Error>(us(longest))
        });
        self.provider.end_all();
        let mut published = self.handle.published();
        let moves = published.wait_for(|published| !published.standing().converged);
        tokio::time::timeout(PATIENCE, moves).await?.map(drop).map_err(io::Error::other)?;
        self.settled().await?;
        while self.calls.lock().await.try_recv().is_ok() {}
        over.send(()).map_err(|()| io::Error::other("who measured is gone"))?;
        longest.await.map_err(io::Error::other)?
    }

    /// Ends the first `n` workloads and refuses their next leases once: how late each is asked for again, after the
    /// moment at which that was due, in microseconds.
    pub(crate) async fn late_retries(&self, n: u32) -> io::Result<Vec<f64>> {
        let count = usize::try_from(n).map_err(io::Error::other)?;
        self.provider.refuse(n);
        for slot in self.slots.iter().take(count) {
            let published = self.handle.published().borrow().clone();
            let lease = published.cluster().record(slot).map(|it| lease_id(slot, it.attempt));
            if !lease.is_some_and(|lease| self.provider.end(&lease)) {
                return Err(io::Error::other(format!("{slot} is not watched")));
            }
        }
        let mut due = BTreeMap::new();
        let mut published = self.handle.published();
        while due.len() < count {
            let view = published.borrow_and_update().clone().view();
            for node in view.nodes.iter().filter(|node| node.failures > 0) {
                // What comes at once is no retry that waits.
                if let Some(at) = node.due.filter(|at| at.since(view.at) >= WAITS) {
                    due.insert(node.slot.clone(), at);
                }
            }
            tokio::time::timeout(PATIENCE, published.changed()).await?.map_err(io::Error::other)?;
        }
        self.settled().await?;
        while self.calls.lock().await.try_recv().is_ok() {}
        let late = |(slot, at): (&LogicalNodeId, &Timestamp)| {
            let due = UNIX_EPOCH + Duration::from_millis(at.as_millis());
            let leased = self.provider.leased_at(slot)?;
            Some(us(leased.duration_since(due).unwrap_or_default()))
        };
        Ok(due.iter().filter_map(late).collect())
    }
}

/// What a provider lists of these records.
fn owned(records: &[Arc<NodeRecord>]) -> Vec<OwnedLease> {
    let of = |record: &Arc<NodeRecord>| {
        let (NodeStage::Dormant { lease, endpoint, member, .. }
        | NodeStage::HandedOff { lease, endpoint, member, .. }) = &record.stage
        else {
            return None;
        };
        Some(OwnedLease {
            slot: record.slot.clone(),
            attempt: record.attempt.uuid,
            fence: lease.fence,
            lease: lease.clone(),
            endpoint: Some(endpoint.clone()),
            workload: WorkloadState::Running { workload: member.workload.clone() },
        })
    };
    records.iter().filter_map(of).collect()
}

/// Opens a journal of `records` whose shape wants one node more: the time until that node's lease is asked for.
pub(crate) fn restart(home: &Path, records: &[Arc<NodeRecord>], n: u32) -> io::Result<Duration> {
    let dir = tempfile::tempdir_in(home)?;
    let state = dir.path().join("state");
    ground::fill(&state, records, n + 1)?;
    let (provider, mut calls) = Instantly::new(owned(records));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let begun = Instant::now();
    let called = runtime.block_on(async {
        let driver: Driver = start_on(options(&state)?, |options, wake| {
            let opened = Journal::open(options.paths.dir(), &claim()?, wake);
            let (journal, recovered) = opened.map_err(io::Error::other)?;
            let fence = journal.fence_reader();
            let store = Box::new(journal);
            Ok::<_, io::Error>(Ground { store, recovered, fence, providers: providers(&provider)? })
        })?;
        let task = tokio::spawn(driver.run());
        let called = tokio::time::timeout(PATIENCE, calls.recv()).await?;
        task.abort();
        called.ok_or_else(|| io::Error::other("the provider is gone"))
    })?;
    Ok(called.duration_since(begun))
}
