//! What durability costs: syncs and time per step beside the raw floor of this disk, and the time to recover.
//!
//! Nothing here is judged by an absolute time alone: the floor (append and `fdatasync`) is measured in the same
//! process right before and after. Run with `cargo bench -p checkpoint --bench journal`.
#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to report")]

#[expect(dead_code, reason = "the tests' world has more than a bench needs")]
#[path = "../tests/it/world.rs"]
mod world;

#[path = "journal/scale.rs"]
mod scale;

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use checkpoint::{
    care::{finding::Integrity, verify},
    event::Subject,
    operation::{OperationWrite, Outcome},
    step::StepWrite,
    store::{Commit, Journal, Store},
};
use reconciler_core::{
    checkpoint::StepMark,
    effect::{Action, Intent, NodeManagerCommand, idempotency_key},
    id::{OperationId, SessionId, StepId},
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
    time::{Millis, Timestamp},
};
use rustix::time::{ClockId, clock_gettime};
use world::{asked, event, first_commit, home, intent, keep, open, opened, pass, put};

const STEPS: u64 = 10;
const ABREAST: u64 = 64;
const ROUNDS: u64 = 20;
const RECORDS: u32 = 10_000;

fn main() {
    let home = home();
    let before = floor(home.path());
    let chain = chain(&home.path().join("chain"));
    let wave = wave(&home.path().join("wave"));
    let queue = queue(&home.path().join("queue"));
    let after = floor(home.path());
    let floor = before.midpoint_with(after);
    let empty = chain.time / u32::try_from(chain.steps).unwrap();
    println!("floor: append 1 KiB + fdatasync   {before:>9.1?} before, {after:>9.1?} after");
    println!();
    println!(
        "{:<42}{:>10}{:>12}{:>14}{:>10}",
        "case", "steps", "syncs/step", "time/step", "floors"
    );
    for (case, measured) in [
        ("SD1 SD2 one chain of 10 dependent steps", &chain),
        ("SD4 64 chains abreast, one pass per wave", &wave),
        ("64 single commits submitted at once", &queue),
    ] {
        let Measured { steps, syncs, time } = *measured;
        let each = time / u32::try_from(steps).unwrap();
        let floors = each.as_secs_f64() / floor.as_secs_f64();
        let per_step = ratio(syncs, steps);
        println!("{case:<42}{steps:>10}{per_step:>12.3}{each:>14.1?}{floors:>10.2}");
    }
    println!();
    bars(&chain, &wave, floor);
    println!();
    let engine = scale::engine(&home.path().join("engine"));
    println!(
        "SD6 a step's commit, made and not kept        {engine:>9.1?}; bar 5.7 us (steno in memory 17 us)"
    );
    scale::after_many(&home.path().join("many"), floor, empty);
    scale::bytes_a_step(&home.path().join("bytes"));
    recovery(&home.path().join("large"));
    println!("floor: append 1 KiB + fdatasync   {:>9.1?} at the end", self::floor(home.path()));
}

/// The bars beside what was measured, and the peer's figures, which were taken in floors of their own medium.
fn bars(chain: &Measured, wave: &Measured, floor: Duration) {
    let each = |measured: &Measured| measured.time / u32::try_from(measured.steps).unwrap();
    let floors = each(chain).as_secs_f64() / floor.as_secs_f64();
    println!("SD1 {:.2} syncs a step; bar 1.3, steno 2.6", ratio(chain.syncs, chain.steps));
    println!("SD2 {floors:.2} floors a step; bar 1.8, steno and its log 4.3");
    println!("SD3 {:.1} x the steps of steno and its log; bar 2", 4.3 / floors);
    println!("SD4 {:.3} syncs a step; bar 0.05, steno 0.09", ratio(wave.syncs, wave.steps));
    let rate = 1.0 / each(wave).as_secs_f64();
    println!("SD5 {rate:.0} steps a second 64 abreast; bar 60000, steno 40000 where it was taken");
}

trait Midpoint {
    fn midpoint_with(self, other: Self) -> Self;
}

impl Midpoint for Duration {
    fn midpoint_with(self, other: Self) -> Self {
        (self + other) / 2
    }
}

struct Measured {
    steps: u64,
    syncs: u64,
    time: Duration,
}

fn ratio(a: u64, b: u64) -> f64 {
    f64::from(u32::try_from(a).unwrap()) / f64::from(u32::try_from(b).unwrap())
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

/// The median time of one append with its sync.
fn floor(dir: &Path) -> Duration {
    let mut file = File::create(dir.join("floor")).unwrap();
    let block = [0x5a; 1_024];
    let mut once = || {
        let start = Instant::now();
        file.write_all(&block).unwrap();
        file.sync_data().unwrap();
        start.elapsed()
    };
    median((0..100).map(|_| once()).collect())
}

fn verified(step: u64) -> StepWrite {
    StepWrite {
        step: StepId::new(step),
        mark: StepMark::Verified,
        failure: None,
        result: "ok".into(),
        finished_at: Some(Timestamp::from_millis(step)),
    }
}

/// What a chain does: a lease is made, and what runs on it is started and stopped in turns.
fn link(journal: &Journal, step: u64, operation: u64, lane: u32, wave: u64) -> Intent {
    let first = intent(step, operation, lane, journal.fence());
    let Action::Command(NodeManagerCommand::CreateLease(request)) = &first.action else {
        return first;
    };
    if wave == 0 {
        return first;
    }
    let handle = Handle::default;
    let lease = LeaseFacts { id: LeaseId::new("lease"), fence: first.fence, handle: handle() };
    let session = SessionId::new(wave);
    let command = if wave.is_multiple_of(2) {
        let grace = Millis::from_secs(5);
        NodeManagerCommand::CancelBootstrap { lease, session, workload: handle(), grace }
    } else {
        let (request, endpoint) = (request.clone(), Endpoint::default());
        let timeout = Millis::from_secs(5);
        NodeManagerCommand::StartBootstrap { request, lease, endpoint, session, timeout }
    };
    let key = idempotency_key(first.attempt.uuid, command.kind(), &wave.to_string());
    Intent { action: command.into(), key, ..first }
}

/// A pass of `width` chains: the results of the last wave and the intents of the next, as the driver writes them.
fn wave_commit(journal: &Journal, operation: u64, wave: u64, width: u64, base: u64) -> Commit {
    let number = |wave: u64, lane: u64| base + wave * width + lane + 1;
    let lanes = 0..width;
    let slot = |lane: u64| u32::try_from(lane).unwrap();
    let mut commit = Commit {
        at: Timestamp::from_millis(wave),
        pass: Some(pass(base + wave + 1)),
        records: lanes.clone().map(|lane| asked(slot(lane), wave)).collect(),
        events: vec![event(Subject::Run, "a wave", base + wave)],
        ..Commit::default()
    };
    if wave > 0 {
        commit.steps = lanes.clone().map(|lane| verified(number(wave - 1, lane))).collect();
    }
    if wave < STEPS {
        let next = |lane| link(journal, number(wave, lane), operation, slot(lane), wave);
        commit.intents = lanes.map(next).collect();
    } else {
        commit.operations = vec![OperationWrite::Close {
            id: OperationId::new(operation),
            outcome: Outcome::Succeeded,
            superseded_by: None,
        }];
    }
    commit
}

/// Rounds of `width` chains, each pass one commit that is waited for.
fn chains(dir: &Path, width: u64) -> Measured {
    let (mut journal, _) = open(dir);
    let mut times = Vec::new();
    let mut syncs = 0;
    for round in 0..ROUNDS {
        let operation = round + 1;
        let base = round * STEPS * width;
        let open = Commit { operations: vec![opened(operation)], ..Commit::default() };
        keep(&mut journal, open).unwrap();
        let (start, before) = (Instant::now(), journal.stats().syncs);
        for wave in 0..=STEPS {
            let commit = wave_commit(&journal, operation, wave, width, base);
            keep(&mut journal, commit).unwrap();
        }
        times.push(start.elapsed());
        syncs += journal.stats().syncs - before;
    }
    Measured { steps: STEPS * width, syncs: syncs / ROUNDS, time: median(times) }
}

/// The time of one step of chains in a journal that holds other things already; their numbers begin after `first`.
fn chains_after(dir: &Path, first: u64) -> Duration {
    let (mut journal, recovered) = open(dir);
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let operation = recovered.next_operation.get() + round;
        let open = Commit { operations: vec![opened(operation)], ..Commit::default() };
        keep(&mut journal, open).unwrap();
        let start = Instant::now();
        for wave in 0..=STEPS {
            let commit = wave_commit(&journal, operation, wave, 1, first + round * STEPS);
            keep(&mut journal, commit).unwrap();
        }
        times.push(start.elapsed());
    }
    median(times) / u32::try_from(STEPS).unwrap()
}

fn chain(dir: &Path) -> Measured {
    chains(dir, 1)
}

fn wave(dir: &Path) -> Measured {
    chains(dir, ABREAST)
}

/// Commits of one intent each that are submitted without waiting: the writer syncs together what waits.
fn queue(dir: &Path) -> Measured {
    let (mut journal, recovered) = open(dir);
    keep(&mut journal, first_commit()).unwrap();
    let mut times = Vec::new();
    let before = journal.stats().syncs;
    for round in 0..ROUNDS {
        let start = Instant::now();
        for lane in 0..ABREAST {
            let step = round * ABREAST + lane + 1;
            let one = intent(step, 1, u32::try_from(lane).unwrap(), recovered.fence);
            journal.submit(Commit { intents: vec![one], ..Commit::default() });
        }
        while let Some(answer) = journal.wait() {
            assert_eq!(answer.result.unwrap().len(), 1);
        }
        times.push(start.elapsed());
    }
    let syncs = (journal.stats().syncs - before) / ROUNDS;
    Measured { steps: ABREAST, syncs, time: median(times) }
}

/// SD8: opening with many records, and with a large operation open.
fn recovery(dir: &Path) {
    let (mut journal, recovered) = open(dir);
    keep(&mut journal, first_commit()).unwrap();
    let records = (0..RECORDS).map(|index| put(index, 1)).collect();
    keep(&mut journal, Commit { records, ..Commit::default() }).unwrap();
    drop(journal);
    let size = std::fs::metadata(dir.join("journal.db")).unwrap().len() / 1_024;
    let (took, busy) = reopen(dir);
    println!("SD8 open with {RECORDS} records ({size} KiB)    {took:>9.1?}, {busy:.1?} of it busy");
    let (mut journal, _) = open(dir);
    for part in 0..4_u64 {
        let step = |index: u32| u64::from(RECORDS) * part + u64::from(index) + 1;
        let next = |index| intent(step(index), 1, index, journal.fence());
        let commit = Commit { intents: (0..RECORDS).map(next).collect(), ..Commit::default() };
        let start = Instant::now();
        keep(&mut journal, commit).unwrap();
        println!("one pass with {RECORDS} intents               {:>9.1?}", start.elapsed());
    }
    drop(journal);
    assert!(recovered.records.is_empty());
    let (took, busy) = reopen(dir);
    println!("open with 40000 steps of an open operation   {took:>9.1?}, {busy:.1?} of it busy");
    let start = Instant::now();
    let report = verify::journal(dir).unwrap();
    println!("verify of the same file (not on open)        {:>9.1?}", start.elapsed());
    assert_ne!(report.integrity, Integrity::Unrecoverable);
}

/// The median time that opening takes, and the processor time of it: what it would take on a machine at rest.
fn reopen(dir: &Path) -> (Duration, Duration) {
    let busy = || {
        let spent = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(spent.tv_sec.cast_unsigned(), u32::try_from(spent.tv_nsec).unwrap())
    };
    let once = || {
        let (start, spent) = (Instant::now(), busy());
        let (journal, recovered) = open(dir);
        let took = (start.elapsed(), busy().saturating_sub(spent));
        assert_eq!(recovered.records.len(), usize::try_from(RECORDS).unwrap());
        drop(journal);
        took
    };
    let (took, busy) = (0..5).map(|_| once()).unzip();
    (median(took), median(busy))
}
