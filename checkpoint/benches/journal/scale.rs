//! What grows with a journal: the cost of a step after many others, a restart after them, and what a step takes of the
//! file. How many others is set with `LEVELHEAD_BENCH_STEPS`; the bars are for a million.

use std::{
    fs,
    io::Write as _,
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

/// Fills a journal with finished operations of as many steps as are asked for.
fn fill(journal: &mut Journal) -> u64 {
    let (mut done, mut operation) = (0, 0);
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
            keep(journal, commit).unwrap();
        }
        done += NODES;
    }
    done
}

/// SD7 and SD9: a restart after many finished steps beside reading as many records back, and a chain after them.
pub(crate) fn after_many(dir: &Path, floor: Duration, empty: Duration) {
    let (mut journal, _) = open(dir);
    let done = fill(&mut journal);
    drop(journal);
    let read = read_back(&dir.join("plain"), done);
    let restart = || {
        let start = Instant::now();
        drop(open(dir));
        start.elapsed()
    };
    let restart = median((0..5).map(|_| restart()).collect());
    let times = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "SD7 restart after {done} finished steps        {restart:>9.1?}, {:.1} x reading as many records back ({read:.1?}); bar 10",
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
    let (waits, syncs) = stalls(dir, done + 4_000_000);
    println!(
        "SD9 the longest wait of {} steps more      {:>9.1?}, {:.1} raw syncs; of as many raw syncs {:.1}; bar 5",
        waits.len(),
        longest(&waits),
        times(longest(&waits), floor),
        times(longest(&syncs), floor)
    );
    let rare = |all: &[Duration]| times(all[all.len() - all.len() / 1_000 - 1], floor);
    println!(
        "    one in a thousand of them waits            {:.1} raw syncs; of as many raw syncs {:.1}",
        rare(&waits),
        rare(&syncs)
    );
}

/// The floor of SD7: reading `records` of 256 bytes back from a plain log, each checked by a sum over its words.
fn read_back(file: &Path, records: u64) -> Duration {
    const LEN: usize = 256;
    fs::write(file, vec![0x5a; LEN * usize::try_from(records).unwrap()]).unwrap();
    let once = || {
        let start = Instant::now();
        let bytes = fs::read(file).unwrap();
        let sum = |record: &[u8]| {
            let words =
                record.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            words.fold(0_u64, |sum, word| sum.rotate_left(5) ^ word)
        };
        std::hint::black_box(bytes.chunks_exact(LEN).map(sum).fold(0, u64::wrapping_add));
        start.elapsed()
    };
    let taken = median((0..5).map(|_| once()).collect());
    fs::remove_file(file).unwrap();
    taken
}

fn longest(all: &[Duration]) -> Duration {
    all.last().copied().unwrap_or_default()
}

/// The waits of single steps while the history is full, so that something goes with whatever comes, and those of as
/// many appends with their syncs on the same disk in the same minute; both in order.
fn stalls(dir: &Path, first: u64) -> (Vec<Duration>, Vec<Duration>) {
    const CHAINS: u64 = 500;
    let (mut journal, recovered) = open(dir);
    let mut file = fs::File::create(dir.join("raw")).unwrap();
    let (mut waits, mut syncs) = (Vec::new(), Vec::new());
    for round in 0..CHAINS {
        let operation = recovered.next_operation.get() + round;
        let open = Commit { operations: vec![opened(operation)], ..Commit::default() };
        keep(&mut journal, open).unwrap();
        for wave in 0..=super::STEPS {
            let commit = wave_commit(&journal, operation, wave, 1, first + round * super::STEPS);
            let start = Instant::now();
            keep(&mut journal, commit).unwrap();
            waits.push(start.elapsed());
        }
        for _ in 0..=super::STEPS {
            let start = Instant::now();
            file.write_all(&[0x5a; 1_024]).unwrap();
            file.sync_data().unwrap();
            syncs.push(start.elapsed());
        }
    }
    waits.sort_unstable();
    syncs.sort_unstable();
    (waits, syncs)
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
