//! Whatever is cut off and whenever: what was acknowledged is there, and nothing is half there.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use checkpoint::{
    event::Subject,
    operation::{OperationWrite, Outcome},
    reader::Reader,
    record::RecordWrite,
    scan::Recovered,
    step::StepWrite,
    store::{Commit, MemoryStore, Store},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{Fence, OperationId, StepId},
    time::Timestamp,
};

use crate::world::{
    event, facts, first_commit, gone, home, keep, open, opened, put, record, slot, step_commit,
};

const CHILD_DIR: &str = "LEVELHEAD_TEST_CHILD_DIR";

/// A life in a few commits: every kind of row comes, changes and goes.
fn life(fence: Fence) -> Vec<Commit> {
    let mut all = vec![first_commit()];
    for n in 1..=4 {
        all.push(step_commit(n, 1, u32::try_from(n).unwrap() - 1, fence));
        all.push(Commit {
            at: Timestamp::from_millis(100 + n),
            steps: vec![StepWrite {
                step: StepId::new(n),
                mark: StepMark::Verified,
                failure: None,
                result: "ok".into(),
                finished_at: Some(Timestamp::from_millis(100 + n)),
            }],
            events: vec![event(Subject::Slot(slot(0)), "sent", 100 + n)],
            ..Commit::default()
        });
    }
    let close = OperationWrite::Close {
        id: OperationId::new(1),
        outcome: Outcome::Succeeded,
        superseded_by: None,
    };
    all.push(Commit { operations: vec![close, opened(2)], ..Commit::default() });
    all.push(Commit { records: vec![gone(3, 8_000)], ..Commit::default() });
    let reaped = RecordWrite::Remove(slot(3));
    all.push(Commit { records: vec![reaped, put(0, 9_000)], ..Commit::default() });
    all
}

/// What a plain model says after each number of commits.
fn prefixes(fence: Fence) -> Vec<Recovered> {
    let mut model = MemoryStore::new();
    let mut states = vec![facts(model.recovered())];
    assert_eq!(model.fence(), fence);
    for commit in life(fence) {
        model.submit(commit);
        model.poll().unwrap().result.unwrap();
        states.push(facts(model.recovered()));
    }
    states
}

fn file(dir: &Path, end: &str) -> PathBuf {
    dir.join(format!("journal.db{end}"))
}

fn read(dir: &Path) -> Recovered {
    facts(Reader::open(dir).unwrap().recovered().unwrap())
}

/// Puts a database and a log into a directory of their own, as a power cut would leave them.
fn lay_out(dir: &Path, db: &[u8], log: &[u8]) {
    fs::create_dir_all(dir).unwrap();
    for end in ["", "-wal", "-shm"] {
        let path = file(dir, end);
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }
    fs::write(file(dir, ""), db).unwrap();
    fs::write(file(dir, "-wal"), log).unwrap();
}

/// P2, R93, C15: at the moment of the answer, and not later, a copy of the files has the whole commit.
#[test]
fn an_answered_commit_stands_on_disk_at_once() {
    let home = home();
    let (dir, copy) = (home.path().join("run"), home.path().join("copy"));
    let (mut journal, recovered) = open(&dir);
    let states = prefixes(recovered.fence);
    for (commit, state) in life(recovered.fence).into_iter().zip(&states[1..]) {
        let n_intents = commit.intents.len();
        let sealed = keep(&mut journal, commit).unwrap();
        assert_eq!(sealed.len(), n_intents);
        let (db, log) = (fs::read(file(&dir, "")).unwrap(), fs::read(file(&dir, "-wal")).unwrap());
        lay_out(&copy, &db, &log);
        let found = read(&copy);
        assert_eq!(&found, state);
        for durable in sealed {
            let operation = &found.open_operations[0];
            assert!(operation.steps.iter().any(|step| step.step == durable.step()));
        }
    }
}

/// C15: a log cut at any 512-byte border, with or without rubbish after the cut, gives a prefix of the commits.
#[test]
fn a_torn_log_gives_a_prefix_of_the_commits() {
    let home = home();
    let (dir, copy) = (home.path().join("run"), home.path().join("copy"));
    let (mut journal, recovered) = open(&dir);
    let states = prefixes(recovered.fence);
    // The database file itself is what it was before the first commit: everything below is in the log.
    let mut ends = vec![fs::metadata(file(&dir, "-wal")).unwrap().len()];
    for commit in life(recovered.fence) {
        keep(&mut journal, commit).unwrap();
        ends.push(fs::metadata(file(&dir, "-wal")).unwrap().len());
    }
    let (db, log) = (fs::read(file(&dir, "")).unwrap(), fs::read(file(&dir, "-wal")).unwrap());
    let first = usize::try_from(ends[0]).unwrap();
    for cut in (first..=log.len()).step_by(512) {
        let whole = ends.iter().filter(|end| usize::try_from(**end).unwrap() <= cut).count() - 1;
        lay_out(&copy, &db, &log[..cut]);
        assert_eq!(read(&copy), states[whole], "cut at {cut}");
        let mut torn = log[..cut].to_vec();
        torn.resize((cut + 2_048).min(log.len()), 0xa5);
        lay_out(&copy, &db, &torn);
        assert_eq!(read(&copy), states[whole], "rubbish from {cut}");
    }
}

/// C15: a torn log is also what a driver opens; it goes on from the prefix with the next fence.
#[test]
fn a_driver_goes_on_after_a_torn_log() {
    let home = home();
    let (dir, copy) = (home.path().join("run"), home.path().join("copy"));
    let (mut journal, recovered) = open(&dir);
    for commit in life(recovered.fence) {
        keep(&mut journal, commit).unwrap();
    }
    let (db, log) = (fs::read(file(&dir, "")).unwrap(), fs::read(file(&dir, "-wal")).unwrap());
    let states = prefixes(recovered.fence);
    lay_out(&copy, &db, &log[..log.len() - 512]);
    let (mut journal, recovered) = open(&copy);
    assert_eq!(facts(recovered.clone()), states[states.len() - 2]);
    assert_eq!(recovered.fence, Fence::new(2));
    keep(&mut journal, step_commit(9, 2, 1, recovered.fence)).unwrap();
}

/// Runs only as the child of the next test: commits, and says so, until it is killed.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Some(dir) = env::var_os(CHILD_DIR) else { return };
    let (mut journal, recovered) = open(Path::new(&dir));
    keep(&mut journal, first_commit()).unwrap();
    let mut out = std::io::stdout();
    for step in 1.. {
        let index = u32::try_from(step % 50).unwrap();
        keep(&mut journal, step_commit(step, 1, index, recovered.fence)).unwrap();
        writeln!(out, "kept {step}").unwrap();
        out.flush().unwrap();
    }
}

/// C15, R64, R189: after `kill -9` everything that was acknowledged is there, and the run is free.
#[test]
fn a_killed_driver_loses_nothing_that_it_acknowledged() {
    let home = home();
    let dir = home.path().join("run");
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::child_that_commits_until_it_is_killed", "--nocapture"])
        .env(CHILD_DIR, &dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let kept = |line: String| line.strip_prefix("kept ")?.parse::<u64>().ok();
    let last = lines.map_while(Result::ok).filter_map(kept).find(|step| *step >= 40).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let (_journal, recovered) = open(&dir);
    assert_eq!(recovered.fence, Fence::new(2));
    let steps = &recovered.open_operations[0].steps;
    assert!(steps.len() as u64 >= last);
    assert!(steps.iter().zip(1..).all(|(step, n)| step.step == StepId::new(n)));
    assert_eq!(recovered.last_pass.get(), steps.len() as u64);
    let newest = recovered.records.iter().map(|record| record.since).max().unwrap();
    assert_eq!(newest, record(0, recovered.last_pass.get()).since);
}
