//! One driver per run: the lock, the fence, and what a stale driver may still do, which is nothing.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use checkpoint::{
    event::Subject,
    operation::{OperationWrite, Outcome},
    owner::OwnerClaim,
    paths::StatePaths,
    record::{GroupWrite, RecordWrite},
    step::StepWrite,
    store::{Commit, Journal, OpenError, StoreError},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{Fence, OperationId, StepId, Uuid},
    time::Timestamp,
};

use crate::world::{
    RUN, claim, event, first_commit, gone, home, keep, open, opened, put, shape_row, slot,
    step_commit,
};

fn refusal(dir: &Path, claim: &OwnerClaim) -> OpenError {
    Journal::open(dir, claim, Box::new(|| {})).err().unwrap()
}

/// R189: the second driver is refused, and told who drives since when.
#[test]
fn a_second_driver_is_refused_with_the_first_ones_pid() {
    let home = home();
    let dir = home.path().join("run");
    let first = OwnerClaim { pid: std::process::id(), ..claim() };
    let (journal, _) = Journal::open(&dir, &first, Box::new(|| {})).unwrap();
    let second = OwnerClaim { pid: 1, started: Timestamp::from_millis(5), ..claim() };
    let refused = refusal(&dir, &second);
    assert!(refused.to_string().contains(&format!("pid {}", first.pid)), "{refused}");
    let OpenError::Held { owner: Some(owner), .. } = refused else { panic!("{refused:?}") };
    assert_eq!((owner.pid, owner.started), (first.pid, first.started));
    assert_eq!(owner.fence, Fence::new(1));
    drop(journal);
    open(&dir);
}

/// R189: an owner that the lock is not of has ended, and whoever took the lock after it is not called by its name.
#[test]
fn a_second_driver_is_not_told_of_an_owner_that_has_ended() {
    let home = home();
    let dir = home.path().join("run");
    let ended = OwnerClaim { pid: u32::MAX, ..claim() };
    drop(Journal::open(&dir, &ended, Box::new(|| {})).unwrap());
    let lock = StatePaths::new(&dir).lock();
    let held = fs::File::open(lock).unwrap();
    held.lock().unwrap();
    let refused = refusal(&dir, &claim());
    assert!(matches!(refused, OpenError::Held { owner: None, .. }), "{refused:?}");
    assert!(!refused.to_string().contains("pid"), "{refused}");
}

/// D11: every claim gets the next fence and learns who was there before.
#[test]
fn each_driver_gets_the_next_fence() {
    let home = home();
    let dir = home.path().join("run");
    let (journal, recovered) = open(&dir);
    assert_eq!((journal.fence(), recovered.previous_owner), (Fence::new(1), None));
    drop(journal);
    for n in 2..5 {
        let (journal, recovered) = open(&dir);
        assert_eq!((journal.fence(), recovered.fence), (Fence::new(n), Fence::new(n)));
        assert_eq!(recovered.previous_owner.unwrap().fence, Fence::new(n - 1));
    }
}

/// C16, R141: after a takeover a stale driver can neither append, renew, delete, nor end anything.
#[test]
fn a_stale_driver_can_write_nothing() {
    let freed = GroupWrite { group: slot(0).group, hold: None };
    let negatives: [(&str, Commit); 9] = [
        ("finalize", Commit { records: vec![gone(0, 9)], ..Commit::default() }),
        ("append", step_commit(2, 1, 1, Fence::new(1))),
        (
            "result",
            Commit {
                steps: vec![StepWrite {
                    step: StepId::new(1),
                    mark: StepMark::Verified,
                    failure: None,
                    result: "late".into(),
                    finished_at: None,
                }],
                ..Commit::default()
            },
        ),
        (
            "terminalize",
            Commit {
                operations: vec![OperationWrite::Close {
                    id: OperationId::new(1),
                    outcome: Outcome::Succeeded,
                    superseded_by: None,
                }],
                ..Commit::default()
            },
        ),
        ("renew", Commit { records: vec![put(0, 77)], ..Commit::default() }),
        ("delete", Commit { records: vec![RecordWrite::Remove(slot(0))], ..Commit::default() }),
        ("shape", Commit { shape: Some(shape_row(2, 9)), ..Commit::default() }),
        ("hold", Commit { groups: vec![freed], ..Commit::default() }),
        ("tell", Commit { events: vec![event(Subject::Run, "mine", 1)], ..Commit::default() }),
    ];
    for (what, commit) in negatives {
        let home = home();
        let dir = home.path().join("run");
        let (mut stale, recovered) = open(&dir);
        keep(&mut stale, first_commit()).unwrap();
        keep(&mut stale, step_commit(1, 1, 0, recovered.fence)).unwrap();
        // Somebody removed the lock file: now two processes can believe that they own the run.
        fs::remove_file(dir.join("lock")).unwrap();
        let (mut present, before) = open(&dir);
        let refused = keep(&mut stale, commit).unwrap_err();
        let fences = (Fence::new(1), Fence::new(2));
        let StoreError::Fenced { mine, present: found } = refused else { panic!("{refused:?}") };
        assert_eq!((mine, found), fences, "{what}");
        // And it stays refused, while the present driver goes on.
        let again = keep(&mut stale, Commit::default()).unwrap_err();
        assert!(matches!(again, StoreError::Fenced { .. }), "{what}");
        // The stale one has effects of its operation under way: that operation waits for their evidence.
        keep(&mut present, Commit { operations: vec![opened(2)], ..Commit::default() }).unwrap();
        keep(&mut present, step_commit(2, 2, 1, Fence::new(2))).unwrap();
        drop((stale, present));
        let (_journal, after) = open(&dir);
        assert_eq!(after.records.len(), before.records.len() + 1, "{what}");
        assert_eq!(after.shape, before.shape, "{what}");
        assert_eq!(after.open_operations[0].steps[0], before.open_operations[0].steps[0], "{what}");
    }
}

/// A state directory of another run is left alone.
#[test]
fn another_runs_journal_is_refused_unchanged() {
    let home = home();
    let dir = home.path().join("run");
    drop(open(&dir));
    let other = OwnerClaim { run: Uuid::from_bytes([9; 16]), ..claim() };
    let refused = refusal(&dir, &other);
    let OpenError::OtherRun { expected, found, .. } = refused else { panic!("{refused:?}") };
    assert_eq!((expected, found), (other.run, RUN));
    assert_eq!(open(&dir).0.fence(), Fence::new(2));
}

/// Section 8: directories 0700, files 0600, whatever the umask and whatever was there before.
#[test]
fn the_state_is_its_owners_alone() {
    let home = home();
    let dir = home.path().join("state").join("run");
    fs::create_dir_all(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    let (mut journal, _) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&dir), 0o700);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm", "lock"] {
        assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
    }
}

/// Section 8: rights that the owner took away are not given back, and nothing is written.
#[test]
fn what_bars_its_owner_is_refused_and_left_so() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for (name, narrow) in [("", 0o500), ("journal.db", 0o400), ("lock", 0o400)] {
        let home = home();
        let dir = home.path().join("run");
        drop(open(&dir));
        let path = if name.is_empty() { dir.clone() } else { dir.join(name) };
        fs::set_permissions(&path, fs::Permissions::from_mode(narrow)).unwrap();
        let before = fs::read(dir.join("journal.db")).unwrap();
        let refused = refusal(&dir, &claim());
        assert!(matches!(refused, OpenError::Narrow { .. }), "{name}: {refused:?}");
        assert_eq!(mode(&path), narrow, "{name}");
        assert_eq!(fs::read(dir.join("journal.db")).unwrap(), before);
        fs::set_permissions(&path, fs::Permissions::from_mode(narrow | 0o700)).unwrap();
        drop(open(&dir));
        assert_eq!(mode(&path) & 0o077, 0, "{name}");
    }
}

/// Links could lead a write to somebody else's file; none is followed.
#[test]
fn links_are_refused() {
    for name in ["journal.db", "journal.db-wal", "lock"] {
        let home = home();
        let (dir, target) = (home.path().join("run"), home.path().join("target"));
        fs::create_dir(&dir).unwrap();
        fs::write(&target, b"precious").unwrap();
        symlink(&target, dir.join(name)).unwrap();
        let refused = refusal(&dir, &claim());
        assert!(matches!(refused, OpenError::Unsafe { .. }), "{name}: {refused:?}");
        assert_eq!(fs::read(&target).unwrap(), b"precious");
    }
    let home = home();
    let (dir, link) = (home.path().join("run"), home.path().join("link"));
    drop(open(&dir));
    symlink(&dir, &link).unwrap();
    assert!(matches!(refusal(&link, &claim()), OpenError::Unsafe { .. }));
}
