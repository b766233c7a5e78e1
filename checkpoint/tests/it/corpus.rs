//! R196: the torn-write corpus. Whatever is cut or turned in a journal and its log, it opens to a prefix of what was
//! acknowledged, with each bad row named, or it is refused with its class; it never panics and is never silently empty.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
};

use checkpoint::{
    care::{finding::Integrity, verify},
    reader::Reader,
    scan::Recovered,
    store::{Commit, Journal, OpenError},
    unreadable::RowKind,
};

use crate::world::{claim, facts, files, first_commit, home, keep, open, opened, put, step_commit};

/// The files of a run with some of its commits moved into the file and the rest in the log, and its state after each.
struct Corpus {
    db: Vec<u8>,
    log: Vec<u8>,
    states: Vec<Recovered>,
    checks: Cell<u32>,
}

fn corpus(home: &Path) -> Corpus {
    let dir = home.join("run");
    let mut states = Vec::new();
    let mut note = |dir: &Path| {
        let recovered = Reader::open(dir).unwrap().recovered().unwrap();
        states.push(facts(recovered));
    };
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    for step in 1..=12 {
        keep(&mut journal, step_commit(step, 1, u32::try_from(step % 6).unwrap(), recovered.fence))
            .unwrap();
    }
    drop(journal);
    note(&dir);
    let (mut journal, recovered) = open(&dir);
    for step in 13..=18 {
        let index = u32::try_from(step % 6).unwrap();
        let mut commit = step_commit(step, 1, index, recovered.fence);
        commit.records.push(put(index + 10, step));
        keep(&mut journal, commit).unwrap();
        note(&dir);
    }
    keep(&mut journal, Commit { operations: vec![opened(2)], ..Commit::default() }).unwrap();
    note(&dir);
    let all = files(&dir);
    drop(journal);
    let bytes = |end: &str| all[&dir.join(format!("journal.db{end}"))].clone();
    Corpus { db: bytes(""), log: bytes("-wal"), states, checks: Cell::new(0) }
}

impl Corpus {
    /// Opens `db` and `log` as a driver does, and checks the law; says whether it opened.
    fn check(&self, place: &Path, db: &[u8], log: &[u8], what: &str) -> bool {
        fs::remove_dir_all(place).unwrap_or_default();
        fs::create_dir(place).unwrap();
        let name = |end: &str| -> PathBuf { place.join(format!("journal.db{end}")) };
        fs::write(name(""), db).unwrap();
        fs::write(name("-wal"), log).unwrap();
        fs::write(place.join("lock"), format!("levelhead {}\n", claim().run)).unwrap();
        let class = verify::journal(place).map(|report| report.integrity);
        // Both start from the same scan; a driver syncs as well, which takes its time.
        self.checks.set(self.checks.get() + 1);
        let opened = if self.checks.get().is_multiple_of(16) {
            Journal::open(place, &claim(), Box::new(|| {})).map(|(_journal, recovered)| recovered)
        } else {
            Reader::open(place).and_then(|mut reader| reader.recovered())
        };
        match opened {
            Ok(recovered) => {
                assert!(self.is_prefix(recovered), "{what}: opened to something that never was");
                true
            }
            Err(error) => {
                assert!(
                    matches!(
                        error,
                        OpenError::Damaged { .. }
                            | OpenError::Missing { .. }
                            | OpenError::NewerSchema { .. }
                            | OpenError::OlderSchema { .. }
                    ),
                    "{what}: {error:?}"
                );
                let refused = matches!(class, Ok(Integrity::Unrecoverable) | Err(_));
                assert!(refused, "{what}: a driver refuses ({error}) what counts as {class:?}");
                false
            }
        }
    }

    /// True if everything that decides is as it once was, but for rows that are named as bad.
    fn is_prefix(&self, found: Recovered) -> bool {
        let found = facts(found);
        let bad = |kind: RowKind| found.unreadable.iter().filter(move |row| row.kind == kind);
        self.states.iter().any(|state| {
            let mut records = state.records.clone();
            records.retain(|record| {
                bad(RowKind::Record).all(|row| row.key != record.slot.to_string())
            });
            (found.records == records)
                && (found.shape == state.shape)
                && (found.group_holds == state.group_holds)
                && (found.rollouts == state.rollouts)
                && (found.serial == state.serial)
        })
    }
}

/// A log that is cut or turned anywhere gives a prefix: each of its frames carries a sum of all before it.
#[test]
fn any_fault_in_the_log_gives_a_prefix() {
    let home = home();
    let corpus = corpus(home.path());
    let place = home.path().join("copy");
    let len = corpus.log.len();
    for at in (0..len).step_by(1_237) {
        assert!(corpus.check(&place, &corpus.db, &corpus.log[..at], &format!("log cut at {at}")));
        let mut turned = corpus.log.clone();
        turned[at] ^= 0x10;
        assert!(corpus.check(&place, &corpus.db, &turned, &format!("log turned at {at}")));
    }
}

/// A file that is cut or turned anywhere is refused, or opens to what was, with each bad row named.
#[test]
fn any_fault_in_the_file_is_noticed_or_harmless() {
    let home = home();
    let corpus = corpus(home.path());
    let place = home.path().join("copy");
    let (mut refused, mut opened) = (0, 0);
    let mut count = |did_open: bool| if did_open { opened += 1 } else { refused += 1 };
    let len = corpus.db.len();
    for at in (0..len).step_by(1_024) {
        count(corpus.check(&place, &corpus.db[..at], &[], &format!("file cut at {at}")));
    }
    // The first bytes of every page say what it holds; the rest is sampled.
    let heads = (0..len).step_by(4_096).flat_map(|page| (0..8).map(move |byte| page + byte));
    let samples = (0..len).step_by(577);
    for at in heads.chain(samples) {
        for bits in [0xff, 0x01] {
            let mut turned = corpus.db.clone();
            turned[at] ^= bits;
            count(corpus.check(&place, &turned, &[], &format!("file turned at {at} by {bits:#x}")));
        }
    }
    for page in (0..len).step_by(4_096) {
        let mut blank = corpus.db.clone();
        blank[page..page + 4_096].fill(0);
        count(corpus.check(&place, &blank, &[], &format!("page at {page} blank")));
    }
    assert!(refused > 50 && opened > 50, "{refused} refused, {opened} opened");
}
