//! A small run to write about: ids, intents, records and commits.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use checkpoint::{
    event::{EventWrite, PassRow, Subject},
    operation::OperationWrite,
    owner::OwnerClaim,
    reader::Reader,
    record::{RecordWrite, ShapeRow, ShapeSource, UsedPlan},
    scan::Recovered,
    store::{Commit, Journal, Store, StoreError},
};
use reconciler_core::{
    desired::{
        BootSpec, ClusterShape, DesiredNodeShape, JoinMode, NodeSpec, Policy, RunNodeGroupSpec,
    },
    durable::Durable,
    effect::{CommandKind, Intent, NodeManagerCommand, NodeRequest, idempotency_key},
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, LogicalNodeId, OperationId, PassNumber,
        PlanHash, PlanSerial, StepId, Uuid,
    },
    observed::{Backoff, NodeRecord, NodeStage},
    saga::Compensation,
    time::{Millis, Timestamp},
};
use tempfile::TempDir;

pub(crate) const RUN: Uuid = Uuid::from_bytes([7; 16]);

pub(crate) fn claim() -> OwnerClaim {
    OwnerClaim {
        run: RUN,
        name: "demo".parse().unwrap(),
        pid: 4_711,
        started: Timestamp::from_millis(1_000),
        host: "here".to_owned(),
        machine: "this".to_owned(),
    }
}

/// A state directory that does not exist yet, in one that goes away.
pub(crate) fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn open(dir: &Path) -> (Journal, Recovered) {
    Journal::open(dir, &claim(), Box::new(|| {})).unwrap()
}

/// Submits one commit and waits for its answer.
pub(crate) fn keep(
    journal: &mut Journal,
    commit: Commit,
) -> Result<Vec<Durable<Intent>>, StoreError> {
    let ticket = journal.submit(commit);
    let answer = journal.wait().unwrap();
    assert_eq!(answer.ticket, ticket);
    answer.result
}

pub(crate) fn slot(index: u32) -> LogicalNodeId {
    LogicalNodeId::new("web".parse().unwrap(), index)
}

fn spec() -> NodeSpec {
    let boot = BootSpec { command: vec!["serve".to_owned()], ..BootSpec::default() };
    NodeSpec {
        role: "web".to_owned(),
        provider: "process".parse().unwrap(),
        shape: DesiredNodeShape::default(),
        boot,
        join: JoinMode::None,
    }
}

pub(crate) fn shape(generation: u64, count: u32) -> ClusterShape {
    let group = RunNodeGroupSpec::new("web".parse().unwrap(), count, spec(), Policy::default());
    let name = "demo".parse().unwrap();
    ClusterShape::new(name, RUN, Generation::new(generation), [group]).unwrap()
}

pub(crate) fn shape_row(generation: u64, count: u32) -> ShapeRow {
    ShapeRow {
        shape: Arc::new(shape(generation, count)),
        source: ShapeSource::File,
        who: "ada".into(),
        plan: Some(plan(generation)),
        file_digest: Some(format!("digest-{generation}")),
        at: Timestamp::from_millis(generation),
    }
}

pub(crate) fn plan(n: u64) -> PlanHash {
    PlanHash::of(&n.to_be_bytes())
}

/// The `n`th plan that is used; the first has serial 0.
pub(crate) fn used(n: u64) -> UsedPlan {
    UsedPlan { hash: plan(n), serial: PlanSerial::new(n.saturating_sub(1)) }
}

pub(crate) fn record(index: u32, at: u64) -> NodeRecord {
    let shape = shape(1, index + 1);
    let group = shape.group(&slot(index).group).unwrap();
    let stamped = shape.stamp(group, slot(index), shape.generation, AttemptOrdinal::new(1));
    NodeRecord::fresh(stamped, Backoff::default(), Timestamp::from_millis(at))
}

pub(crate) fn put(index: u32, at: u64) -> RecordWrite {
    RecordWrite::Put(Arc::new(record(index, at)))
}

/// A slot whose lease was asked for.
pub(crate) fn asked(index: u32, at: u64) -> RecordWrite {
    let mut record = record(index, at);
    record.stage = NodeStage::LeaseRequested;
    RecordWrite::Put(Arc::new(record))
}

/// A slot of which nothing is left.
pub(crate) fn gone(index: u32, at: u64) -> RecordWrite {
    let mut record = record(index, at);
    record.stage = NodeStage::Destroyed { at: Timestamp::from_millis(at), failure: None };
    RecordWrite::Put(Arc::new(record))
}

pub(crate) fn intent(step: u64, operation: u64, index: u32, fence: Fence) -> Intent {
    let attempt = AttemptId::derive(RUN, &slot(index), Generation::new(1), AttemptOrdinal::new(1));
    let request = NodeRequest {
        run: RUN,
        slot: slot(index),
        attempt,
        revision: spec().revision(),
        spec: Arc::new(spec()),
    };
    Intent {
        operation: OperationId::new(operation),
        step: StepId::new(step),
        fence,
        slot: slot(index),
        attempt,
        provider: "process".parse().unwrap(),
        action: NodeManagerCommand::CreateLease(request).into(),
        key: idempotency_key(attempt.uuid, CommandKind::CreateLease, ""),
        timeout: Millis::from_secs(5),
        admission: None,
    }
}

pub(crate) fn opened(id: u64) -> OperationWrite {
    OperationWrite::Open {
        id: OperationId::new(id),
        group: "web".parse().unwrap(),
        plan: plan(id),
        goals: format!("{{\"goal\":{id}}}"),
        compensation: id.is_multiple_of(2).then_some(Compensation { before: None }),
    }
}

pub(crate) fn event(subject: Subject, text: &str, at: u64) -> EventWrite {
    EventWrite {
        subject,
        kind: "failed".into(),
        text: text.into(),
        at: Timestamp::from_millis(at),
        pass: PassNumber::new(at),
    }
}

pub(crate) fn pass(n: u64) -> PassRow {
    PassRow {
        pass: PassNumber::new(n),
        at: Timestamp::from_millis(n),
        trigger: "tick".into(),
        facts: 1,
        transitions: 0,
        effects: 1,
        failures: 0,
        micros: 10,
    }
}

/// A commit as a pass makes it: pass, one intent, the record that waits for it, one event.
pub(crate) fn step_commit(step: u64, operation: u64, index: u32, fence: Fence) -> Commit {
    Commit {
        at: Timestamp::from_millis(step),
        pass: Some(pass(step)),
        intents: vec![intent(step, operation, index, fence)],
        records: vec![asked(index, step)],
        events: vec![event(Subject::Slot(slot(index)), "sent", step)],
        ..Commit::default()
    }
}

/// The first commit of a run: a shape, its plan, and an open operation.
pub(crate) fn first_commit() -> Commit {
    Commit {
        at: Timestamp::from_millis(1),
        shape: Some(shape_row(1, 4)),
        used_plan: Some(used(1)),
        operations: vec![opened(1)],
        ..Commit::default()
    }
}

/// What two stores must agree on: everything but who owns them.
pub(crate) fn facts(mut recovered: Recovered) -> Recovered {
    recovered.fence = Fence::default();
    recovered.previous_owner = None;
    recovered.leases.iter_mut().for_each(|row| {
        row.lease.fence = Fence::default();
        row.lease.owner = "somebody".parse().unwrap();
        row.lease.until = Timestamp::ZERO;
        row.lease.handoffs = 0;
        row.machine = String::new();
    });
    for operation in &mut recovered.open_operations {
        operation.row.fence = Fence::default();
        operation.steps.iter_mut().for_each(|step| step.fence = Fence::default());
    }
    recovered
}

/// A run with something of every kind in it and one operation open, closed; gives what it holds.
pub(crate) fn some_life(dir: &Path) -> Recovered {
    let (mut journal, recovered) = open(dir);
    keep(&mut journal, first_commit()).unwrap();
    for step in 1..=20 {
        let index = u32::try_from(step % 4).unwrap();
        keep(&mut journal, step_commit(step, 1, index, recovered.fence)).unwrap();
    }
    keep(&mut journal, Commit { operations: vec![opened(2)], ..Commit::default() }).unwrap();
    drop(journal);
    Reader::open(dir).unwrap().recovered().unwrap()
}

/// Every file below `dir` with its bytes, but for shared memory and an empty log, which mean nothing.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
            continue;
        }
        let (name, bytes) = (path.to_string_lossy(), fs::read(&path).unwrap());
        let is_scratch = name.ends_with("-shm") || (name.ends_with("-wal") && bytes.is_empty());
        if !is_scratch {
            all.insert(path.clone(), bytes);
        }
    }
    all
}
