//! R196, C15, C16: a backup takes the place of a journal, or an empty one does; nothing is deleted, no fence comes
//! back, and a process that is killed anywhere leaves the journal of before or of after.

use std::{
    env, fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use checkpoint::{
    care::{
        backup::{self, BackupError},
        finding::Integrity,
        replace::{ReplaceError, Replaced, Replacement, Source},
        verify,
    },
    reader::Reader,
    scan::Recovered,
    store::OpenError,
};
use reconciler_core::{
    id::{Fence, Uuid},
    time::Timestamp,
};
use rustix::process::{Signal, getpid, kill_process};

use crate::world::{RUN, facts, files, first_commit, home, keep, open, some_life, step_commit};

const NOW: Timestamp = Timestamp::from_millis(1_796_000_000_000);
const CHILD_DIR: &str = "LEVELHEAD_TEST_REPLACE_DIR";
const CHILD_DEED: &str = "LEVELHEAD_TEST_REPLACE_DEED";

fn replacement(dir: &Path, source: Source, seen: u64) -> Replacement<'_> {
    Replacement { dir, source, run: Some(RUN), seen: Fence::new(seen), now: NOW }
}

fn replace(replacement: &Replacement<'_>) -> Replaced {
    let preview = replacement.preview().unwrap();
    replacement.confirm(preview.hash, &mut |_deed| {}).unwrap()
}

/// What a journal says, but for the fence and the events.
fn said(recovered: Recovered) -> Recovered {
    Recovered { events: Vec::new(), ..facts(recovered) }
}

fn read(dir: &Path) -> Recovered {
    said(Reader::open(dir).unwrap().recovered().unwrap())
}

/// A run with a backup of it, and a life after the backup; gives both states.
fn with_backup(home: &Path) -> (PathBuf, PathBuf, Recovered, Recovered) {
    let (dir, file) = (home.join("run"), home.join("copy.db"));
    let then = said(some_life(&dir));
    backup::make(&dir, &file, NOW).unwrap();
    let (mut journal, recovered) = open(&dir);
    for step in 21..=30 {
        keep(&mut journal, step_commit(step, 2, 2, recovered.fence)).unwrap();
    }
    drop(journal);
    let now = read(&dir);
    assert_ne!(then, now);
    (dir, file, then, now)
}

/// C16: what was is back, with a fence above the journal's, the backup's and the providers'.
#[test]
fn a_restored_journal_has_a_fence_above_all_that_are_known() {
    for (seen, expected) in [(0, 3), (2, 3), (40, 41)] {
        let home = home();
        let (dir, file, then, _now) = with_backup(home.path());
        let old = files(&dir);
        let replaced = replace(&replacement(&dir, Source::Backup(file), seen));
        assert_eq!(replaced.preview.fence, Fence::new(expected));
        assert_eq!(read(&dir), then);
        assert_eq!(verify::journal(&dir).unwrap().integrity, Integrity::Healthy);
        let aside = replaced.aside.unwrap().join("journal.db");
        assert!(fs::read(aside).unwrap() == old[&dir.join("journal.db")], "set aside as it was");
        let (_journal, recovered) = open(&dir);
        assert_eq!(recovered.fence, Fence::new(expected + 1));
        assert!(recovered.events.iter().any(|event| event.kind == "restored"));
    }
}

/// A driver that holds the run, another run, and a state that moved since it was shown refuse, and change nothing.
#[test]
fn a_restore_refuses_what_it_must() {
    let home = home();
    let (dir, file, _then, _now) = with_backup(home.path());
    let restore = replacement(&dir, Source::Backup(file.clone()), 0);
    let shown = restore.preview().unwrap();
    let (mut journal, recovered) = open(&dir);
    assert!(matches!(restore.preview(), Err(ReplaceError::Journal(OpenError::Held { .. }))));
    keep(&mut journal, step_commit(31, 2, 2, recovered.fence)).unwrap();
    drop(journal);
    let before = files(home.path());
    let refused = restore.confirm(shown.hash, &mut |_deed| {}).unwrap_err();
    assert!(matches!(refused, ReplaceError::Stale { .. }), "{refused:?}");
    let other = Replacement { run: Some(Uuid::from_bytes([8; 16])), ..restore.clone() };
    let refused = other.preview().unwrap_err();
    let is_other =
        |error: &ReplaceError| matches!(error, ReplaceError::Journal(OpenError::OtherRun { .. }));
    assert!(is_other(&refused), "{refused:?}");
    let nothing = Replacement { source: Source::Nothing, ..other.clone() };
    assert!(is_other(&nothing.preview().unwrap_err()));
    let elsewhere = home.path().join("other");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("lock"), format!("levelhead {}\n", Uuid::from_bytes([8; 16])))
        .unwrap();
    let foreign = Replacement { dir: &elsewhere, run: None, ..restore.clone() };
    let refused = foreign.preview().unwrap_err();
    assert!(matches!(refused, ReplaceError::Backup(BackupError::OtherRun { .. })), "{refused:?}");
    fs::remove_dir_all(elsewhere).unwrap();
    let elsewhere = home.path().join("copy-2.db");
    fs::write(&elsewhere, &before[&file][..9_000]).unwrap();
    let torn = Replacement { source: Source::Backup(elsewhere.clone()), ..restore };
    let refused = torn.preview().unwrap_err();
    assert!(matches!(refused, ReplaceError::Backup(_)), "{refused:?}");
    fs::remove_file(elsewhere).unwrap();
    assert!(files(home.path()) == before);
}

/// A backup brings a run back where its state directory was lost.
#[test]
fn a_backup_restores_into_an_empty_place() {
    let home = home();
    let (_dir, file, then, _now) = with_backup(home.path());
    let place = home.path().join("fresh");
    let replaced =
        replace(&Replacement { run: None, ..replacement(&place, Source::Backup(file), 0) });
    assert_eq!((replaced.aside, replaced.preview.present), (None, None));
    assert_eq!(read(&place), then);
    open(&place);
}

/// C15: a damaged journal is set aside with its log and all, and what begins anew keeps the fence rising.
#[test]
fn a_damaged_journal_is_set_aside_and_never_deleted() {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let journal = dir.join("journal.db");
    fs::write(&journal, b"this is a letter".repeat(900)).unwrap();
    fs::write(dir.join("journal.db-wal"), b"and this is another").unwrap();
    let replaced = replace(&replacement(&dir, Source::Nothing, 6));
    assert_eq!(replaced.preview.present, Some(Integrity::Unrecoverable));
    let aside = replaced.aside.unwrap();
    assert!(fs::read(aside.join("journal.db")).unwrap() == b"this is a letter".repeat(900));
    assert!(fs::read(aside.join("journal.db-wal")).unwrap() == b"and this is another");
    let (_journal, recovered) = open(&dir);
    assert_eq!(recovered.fence, Fence::new(8));
    assert!(recovered.shape.is_none() && recovered.records.is_empty());
}

/// Runs only as the child of the next test: restores, and is killed before a deed.
#[test]
fn child_that_is_killed_while_it_restores() {
    let Some(home) = env::var_os(CHILD_DIR) else { return };
    let killed_before: u32 = env::var(CHILD_DEED).unwrap().parse().unwrap();
    let home = Path::new(&home);
    let dir = home.join("run");
    let restore = replacement(&dir, Source::Backup(home.join("copy.db")), 0);
    let hash = restore.preview().unwrap().hash;
    let mut deeds = 0;
    restore
        .confirm(hash, &mut |_deed| {
            if deeds == killed_before {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
            deeds += 1;
        })
        .unwrap();
}

/// R196: `kill -9` before any deed of a restore leaves the journal of before or of after, for a reader at once and for
/// the next driver, whether the old journal had a log or not; once it is the new one it stays that.
#[test]
fn a_killed_restore_leaves_the_old_journal_or_the_new_one() {
    for with_log in [false, true] {
        let (mut is_new, mut deed) = (false, 0);
        loop {
            let home = home();
            let (dir, _file, then, now) = with_backup(home.path());
            let mut before = now;
            if with_log {
                // A driver that was killed leaves its last commits in the log.
                let (mut journal, recovered) = open(&dir);
                keep(&mut journal, step_commit(31, 2, 3, recovered.fence)).unwrap();
                let left = files(&dir);
                before = read(&dir);
                drop(journal);
                for (path, bytes) in left {
                    fs::write(path, bytes).unwrap();
                }
                assert_eq!(read(&dir), before);
            }
            let killed = Command::new(env::current_exe().unwrap())
                .args(["--exact", "replace::child_that_is_killed_while_it_restores"])
                .env(CHILD_DIR, home.path())
                .env(CHILD_DEED, deed.to_string())
                .output()
                .unwrap()
                .status;
            let found = read(&dir);
            assert!(found == then || found == before, "killed before deed {deed}");
            assert!(!is_new || found == then, "what was new stays new, deed {deed}");
            is_new = found == then;
            let (journal, recovered) = open(&dir);
            assert_eq!(
                said(recovered.clone()),
                found,
                "a driver sees what a reader saw, deed {deed}"
            );
            assert!(recovered.fence > Fence::new(2));
            drop(journal);
            assert!(!dir.join("journal.db.next").exists());
            assert_eq!(verify::journal(&dir).unwrap().integrity, Integrity::Healthy);
            if is_new {
                let aside = fs::read_dir(dir.join("quarantine")).unwrap().count();
                assert_eq!(aside, 1, "the old journal and its log lie together, deed {deed}");
            }
            if killed.success() {
                assert!(is_new && deed > 8, "{deed} deeds");
                break;
            }
            assert_eq!(killed.signal(), Some(9));
            deed += 1;
        }
    }
}

/// C15: a driver on a journal that was restored writes as on any other.
#[test]
fn a_restored_journal_takes_commits() {
    let home = home();
    let (dir, file, _then, _now) = with_backup(home.path());
    replace(&replacement(&dir, Source::Backup(file), 0));
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, step_commit(21, 2, 1, recovered.fence)).unwrap();
    assert!(keep(&mut journal, first_commit()).is_err(), "a plan that the backup knows was used");
}
