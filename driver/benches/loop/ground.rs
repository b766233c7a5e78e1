//! What the loop stands on here: a store that keeps nothing, a journal that was filled beforehand, and a shape.

use std::{
    collections::VecDeque,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use checkpoint::{
    operation::OperationWrite,
    owner::OwnerClaim,
    record::{RecordWrite, ShapeRow, ShapeSource},
    store::{Commit, Committed, Journal, MemoryStore, Store, Ticket},
};
use driver::{StoreWake, system_clock};
use reconciler_core::{
    desired::{
        BootSpec, ClusterShape, DesiredNodeShape, JoinMode, NodeSpec, Policy, RunNodeGroupSpec,
    },
    id::{Generation, PlanHash, RunName, Uuid},
    observed::NodeRecord,
    time::Millis,
};

pub(crate) const RUN: Uuid = Uuid::from_bytes([7; 16]);

/// Answers every commit at once and keeps nothing of it: neither a disk nor a growing table is in the way.
pub(crate) struct Forgetful {
    queue: VecDeque<(Ticket, Commit)>,
    last: u64,
    wake: StoreWake,
    /// So many steps were handed over.
    steps: Arc<AtomicU64>,
}

impl Forgetful {
    pub(crate) fn new(wake: StoreWake, steps: Arc<AtomicU64>) -> Self {
        Self { queue: VecDeque::new(), last: 0, wake, steps }
    }
}

impl Store for Forgetful {
    fn submit(&mut self, commit: Commit) -> Ticket {
        self.last += 1;
        let steps = u64::try_from(commit.intents.len()).unwrap_or(u64::MAX);
        self.steps.fetch_add(steps, Ordering::Relaxed);
        let ticket = Ticket(self.last);
        self.queue.push_back((ticket, commit));
        (self.wake)();
        ticket
    }

    fn poll(&mut self) -> Option<Committed> {
        let (ticket, commit) = self.queue.pop_front()?;
        // Intents are made durable by a real store; this one has never heard of any other commit.
        let mut operations: Vec<_> =
            commit.intents.iter().map(|i| (i.operation, &i.slot)).collect();
        operations.dedup_by_key(|(id, _)| *id);
        let open = |(id, slot): (_, &reconciler_core::id::LogicalNodeId)| OperationWrite::Open {
            id,
            group: slot.group.clone(),
            plan: PlanHash::of(b"bench"),
            goals: String::new(),
            compensation: None,
        };
        let operations = operations.into_iter().map(open).collect();
        let mut store = MemoryStore::new();
        let commit = Commit { operations, intents: commit.intents, ..Commit::default() };
        store.submit(commit);
        store.poll().map(|done| Committed { ticket, ..done })
    }

    fn is_used(&self, _hash: &PlanHash) -> bool {
        false
    }
}

pub(crate) fn run_name() -> io::Result<RunName> {
    "bench".parse().map_err(io::Error::other)
}

/// `n` nodes that are ready as soon as they run.
pub(crate) fn shape(n: u32) -> io::Result<Arc<ClusterShape>> {
    let spec = NodeSpec {
        role: "worker".to_owned(),
        provider: "instant".parse().map_err(io::Error::other)?,
        shape: DesiredNodeShape::default(),
        boot: BootSpec { command: vec!["node".to_owned()], ..BootSpec::default() },
        join: JoinMode::None,
    };
    let policy = Policy { settle: Millis::ZERO, stable: Millis::ZERO, ..Policy::default() };
    let width = 1_000;
    let groups = (0..n.div_ceil(width)).map(|at| {
        let name = format!("group{at:03}").parse().map_err(io::Error::other)?;
        let count = width.min(n - at * width);
        Ok(RunNodeGroupSpec::new(name, count, spec.clone(), policy.clone()))
    });
    let groups = groups.collect::<io::Result<Vec<_>>>()?;
    let shape = ClusterShape::new(run_name()?, RUN, Generation::new(1), groups);
    shape.map(Arc::new).map_err(io::Error::other)
}

/// The row of that shape.
pub(crate) fn shape_row(n: u32) -> io::Result<ShapeRow> {
    Ok(ShapeRow {
        shape: shape(n)?,
        source: ShapeSource::Cli,
        who: "bench".into(),
        plan: None,
        file_digest: None,
        at: system_clock()(),
    })
}

/// Who takes the journal.
pub(crate) fn claim() -> io::Result<OwnerClaim> {
    Ok(OwnerClaim {
        run: RUN,
        name: run_name()?,
        pid: std::process::id(),
        started: system_clock()(),
        host: "bench".to_owned(),
        machine: String::new(),
    })
}

/// Fills a journal with `records`, and with a shape that wants `n` nodes.
pub(crate) fn fill(dir: &Path, records: &[Arc<NodeRecord>], n: u32) -> io::Result<()> {
    let opened = Journal::open(dir, &claim()?, Box::new(|| {}));
    let (mut journal, _) = opened.map_err(io::Error::other)?;
    journal.submit(Commit {
        shape: Some(shape_row(n)?),
        records: records.iter().map(|record| RecordWrite::Put(Arc::clone(record))).collect(),
        ..Commit::default()
    });
    let done = journal.wait().ok_or_else(|| io::Error::other("the journal did not answer"))?;
    done.result.map_err(io::Error::other)?;
    drop(journal);
    // Who owns what is written with the intents that make it, or, as there were none here, by the next driver.
    Journal::open(dir, &claim()?, Box::new(|| {})).map(drop).map_err(io::Error::other)
}
