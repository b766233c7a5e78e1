//! What grows with a journal: the cost of a step after many others, a restart after them, and what a step takes of the
//! file. How many others is set with `LEVELHEAD_BENCH_STEPS`; the bars are for a million.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use checkpoint::{
    operation::{OperationWrite, Outcome},
    store::{Commit, Journal, Store},
};
use reconciler_core::{id::OperationId, time::Timestamp};

use super::{
    chain, median, verified, wave_commit,
    world::{intent, keep, open, opened, put},
};

/// Steps before the measured ones, if nothing else is said: enough to see a slope, few enough to wait for.
const STEPS_DEFAULT: u64 = 50_000;
/// Nodes that the steps are for.
const NODES: u64 = 64;

fn steps() -> u64 {
    let asked = std::env::var("LEVELHEAD_BENCH_STEPS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(STEPS_DEFAULT)
}

/// SD6: a step's commit, made and handed to nobody.
pub(crate) fn engine(dir: &Path) -> Duration {
    const ROUNDS: u64 = 2_000;
    let (journal, _) = open(dir);
    let start = Instant::now();
    for round in 0..ROUNDS {
        let commit = wave_commit(&journal, 1, 1 + round % 8, 1, round * 16);
        drop(std::hint::black_box(commit));
    }
    start.elapsed() / u32::try_from(ROUNDS).unwrap()
}

/// Fills a journal with finished operations of as many steps as are asked for; gives the longest wait of one commit.
fn fill(journal: &mut Journal) -> (u64, Duration) {
    let (mut done, mut operation, mut worst) = (0, 0, Duration::ZERO);
    while done < steps() {
        operation += 1;
        let base = 1_000_000 + done;
        let lanes = 0..NODES;
        let index = |lane: u64| u32::try_from(lane).unwrap();
        let fence = journal.fence();
        let begun = Commit {
            at: Timestamp::from_millis(done),
            operations: vec![opened(operation)],
            intents: lanes.clone().map(|n| intent(base + n, operation, index(n), fence)).collect(),
            records: lanes.clone().map(|n| put(index(n), done)).collect(),
            ..Commit::default()
        };
        let close = OperationWrite::Close {
            id: OperationId::new(operation),
            outcome: Outcome::Succeeded,
            superseded_by: None,
        };
        let ended = Commit {
            at: Timestamp::from_millis(done),
            steps: lanes.map(|n| verified(base + n)).collect(),
            operations: vec![close],
            ..Commit::default()
        };
        for commit in [begun, ended] {
            let start = Instant::now();
            keep(journal, commit).unwrap();
            worst = worst.max(start.elapsed());
        }
        done += NODES;
    }
    (done, worst)
}

/// SD7 and SD9: a restart after many finished steps beside reading the file, and a chain after them.
pub(crate) fn after_many(dir: &Path, floor: Duration, empty: Duration) {
    let (mut journal, _) = open(dir);
    let (done, worst) = fill(&mut journal);
    drop(journal);
    let file = dir.join("journal.db");
    let once = || {
        let start = Instant::now();
        let bytes = fs::read(&file).unwrap();
        let sum = bytes.iter().fold(0_u64, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte));
        std::hint::black_box(sum);
        start.elapsed()
    };
    let read = median((0..5).map(|_| once()).collect());
    let restart = || {
        let start = Instant::now();
        drop(open(dir));
        start.elapsed()
    };
    let restart = median((0..5).map(|_| restart()).collect());
    let times = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "SD7 restart after {done} finished steps        {restart:>9.1?}, {:.1} x reading the file ({read:.1?}); bar 10 at a million",
        times(restart, read)
    );
    // The chains of a journal that is not empty have numbers of their own.
    let measured = chain(&dir.with_extension("again"));
    let grown = super::chains_after(dir, done + 2_000_000);
    println!(
        "SD9 a chain after them                        {grown:>9.1?} a step, {:.2} x on an empty journal ({empty:.1?}, again {:.1?}); bar 1.1",
        times(grown, empty),
        measured.time / u32::try_from(measured.steps).unwrap()
    );
    println!(
        "SD9 the longest wait of a commit meanwhile    {worst:>9.1?}, {:.1} raw syncs; bar 5",
        times(worst, floor)
    );
}

/// SD10: what a step takes of the file before anything is compacted, and how much of that is what was sent.
pub(crate) fn bytes_a_step(dir: &Path) {
    const STEPS: u64 = 20_000;
    let size = |dir: &Path| fs::metadata(dir.join("journal.db")).unwrap().len();
    let (mut journal, _) = open(dir);
    keep(&mut journal, Commit { operations: vec![opened(1)], ..Commit::default() }).unwrap();
    let fence = journal.fence();
    drop(journal);
    let before = size(dir);
    let (mut journal, recovered) = open(dir);
    assert!(recovered.fence > fence);
    let mut payload = 0;
    for part in 0..STEPS / NODES {
        let number = |lane: u64| part * NODES + lane + 1;
        let one = |lane| intent(number(lane), 1, u32::try_from(lane).unwrap(), recovered.fence);
        let intents: Vec<_> = (0..NODES).map(one).collect();
        payload +=
            intents.iter().map(|i| serde_json::to_vec(&i.action).unwrap().len()).sum::<usize>();
        journal.submit(Commit { intents, ..Commit::default() });
    }
    while let Some(answer) = journal.wait() {
        answer.result.unwrap();
    }
    drop(journal);
    let written = STEPS / NODES * NODES;
    let each = (size(dir) - before) / written;
    let payload = u64::try_from(payload).unwrap() / written;
    println!(
        "SD10 a step takes {each} bytes of the file, {payload} of them what was sent; bar 256 + payload"
    );
}
