//! The lease on an open operation: finite, renewed by writes, and taken by nobody before its end.

use checkpoint::{
    lease::LeaseRow,
    operation::{OperationWrite, Outcome},
    owner::OwnerClaim,
    reader::Reader,
    step::StepWrite,
    store::{Commit, Journal, OpenError, Store as _},
};
use reconciler_core::{
    checkpoint::StepMark,
    id::{OperationId, StepId},
    time::Timestamp,
};
use std::path::Path;

use crate::world::{claim, first_commit, home, keep, open, opened, step_commit};

/// Half an hour in, so that every lease of 900 s fits before and after.
const NOON: u64 = 1_800_000;

fn lease(dir: &Path) -> LeaseRow {
    Reader::open(dir).unwrap().leases().unwrap().into_iter().next().unwrap()
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn begun(dir: &Path) -> Journal {
    let (mut journal, _) = open(dir);
    keep(&mut journal, Commit { at: at(NOON), ..first_commit() }).unwrap();
    journal
}

/// A driver of another machine: no lock here says anything of the one that was before it.
fn stranger(started: u64) -> OwnerClaim {
    OwnerClaim {
        pid: 9,
        host: "there".to_owned(),
        machine: "other".to_owned(),
        started: at(started),
        ..claim()
    }
}

fn dies(journal: Journal) {
    // As a process that was killed: its lock goes with it, and it gives nothing back.
    std::mem::forget(journal);
}

/// R143: 900 s from the opening, and from each write to the operation; no write has a sync of its own for it.
#[test]
fn a_lease_is_finite_and_renewed_by_each_write_to_its_operation() {
    let home = home();
    let dir = home.path().join("run");
    let mut journal = begun(&dir);
    let first = lease(&dir);
    assert_eq!(first.lease.until, at(NOON + 900_000));
    assert_eq!(first.lease.owner.as_str(), "4711@here");
    let before = journal.stats().syncs;
    let fence = journal.fence();
    let step = Commit { at: at(NOON + 300_000), ..step_commit(1, 1, 0, fence) };
    keep(&mut journal, step).unwrap();
    assert_eq!(lease(&dir).lease.until, at(NOON + 1_200_000));
    assert_eq!(journal.stats().syncs, before + 1);
    // A clock that went back lengthens nothing: the lease ends 900 s from the present again.
    let back = Commit { at: at(NOON), ..step_commit(2, 1, 1, fence) };
    keep(&mut journal, back).unwrap();
    assert_eq!(lease(&dir).lease.until, at(NOON + 900_000));
}

/// R143: a lease that is not over is nobody else's, and the refusal names its holder and changes nothing.
#[test]
fn nobody_elsewhere_takes_an_operation_before_its_lease_is_over() {
    let home = home();
    let dir = home.path().join("run");
    let journal = begun(&dir);
    dies(journal);
    std::fs::remove_file(dir.join("lock")).unwrap();
    let refused = Journal::open(&dir, &stranger(NOON + 900_000), Box::new(|| {})).unwrap_err();
    assert!(refused.to_string().contains("4711@here"), "{refused}");
    let OpenError::Leased { lease: held, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(held.lease.until, at(NOON + 900_000));
    assert_eq!(lease(&dir), *held);
    assert_eq!(Reader::open(&dir).unwrap().owner().unwrap().unwrap().fence.get(), 1);
    let (journal, recovered) = open_as(&dir, &stranger(NOON + 900_001));
    assert_eq!(recovered.leases, [*held]);
    let taken = lease(&dir);
    assert_eq!((taken.lease.owner.as_str(), taken.lease.handoffs), ("9@there", 1));
    assert_eq!(taken.lease.fence, journal.fence());
}

/// The lock of the run dies with its process: on the same machine nobody waits for a lease of the dead.
#[test]
fn who_takes_the_lock_on_the_same_machine_waits_for_no_lease() {
    let home = home();
    let dir = home.path().join("run");
    drop_killed(begun(&dir), &dir);
    let (_journal, recovered) = open_as(&dir, &OwnerClaim { started: at(NOON + 1), ..claim() });
    assert_eq!(recovered.open_operations.len(), 1);
    assert_eq!(lease(&dir).lease.until, at(NOON + 900_001));
}

/// R143: after the machine started anew, another process under another name of the host, with the lock gone, waits for
/// no lease of the dead: the name of the machine says that they were here.
#[test]
fn a_machine_that_started_anew_waits_for_no_lease_of_its_own() {
    let home = home();
    let dir = home.path().join("run");
    dies(begun(&dir));
    std::fs::remove_file(dir.join("lock")).unwrap();
    let (pid, host) = (9, "renamed".to_owned());
    let anew = OwnerClaim { pid, host, started: at(NOON + 1), ..claim() };
    let (journal, recovered) = open_as(&dir, &anew);
    assert_eq!(recovered.open_operations.len(), 1);
    let taken = lease(&dir);
    assert_eq!((taken.lease.owner.as_str(), taken.lease.handoffs), ("9@renamed", 1));
    assert_eq!((taken.lease.fence, taken.lease.until), (journal.fence(), at(NOON + 900_001)));
}

/// R143: where no machine has a name, two without one may be two machines: nobody is taken for dead.
#[test]
fn a_machine_without_a_name_proves_nobodys_end() {
    let home = home();
    let dir = home.path().join("run");
    let nameless = |started| OwnerClaim { machine: String::new(), ..stranger(started) };
    let (mut journal, _) = open_as(&dir, &nameless(NOON));
    keep(&mut journal, Commit { at: at(NOON), ..first_commit() }).unwrap();
    dies(journal);
    std::fs::remove_file(dir.join("lock")).unwrap();
    for early in [nameless(NOON + 900_000), OwnerClaim { started: at(NOON + 1), ..claim() }] {
        let refused = Journal::open(&dir, &early, Box::new(|| {})).unwrap_err();
        assert!(matches!(refused, OpenError::Leased { .. }), "{refused:?}");
    }
    let (journal, _) = open_as(&dir, &nameless(NOON + 900_001));
    assert_eq!(lease(&dir).lease.fence, journal.fence());
}

/// A driver that ends in good order gives its leases back: another machine may go on at once.
#[test]
fn a_driver_that_stops_gives_its_leases_back() {
    let home = home();
    let dir = home.path().join("run");
    drop(begun(&dir));
    let (journal, _) = open_as(&dir, &stranger(NOON));
    assert_eq!(journal.fence().get(), 2);
}

/// The lease ends with its operation.
#[test]
fn a_closed_operation_has_no_lease() {
    let home = home();
    let dir = home.path().join("run");
    let mut journal = begun(&dir);
    keep(&mut journal, Commit { operations: vec![opened(2)], ..Commit::default() }).unwrap();
    let close = OperationWrite::Close {
        id: OperationId::new(1),
        outcome: Outcome::Succeeded,
        superseded_by: None,
    };
    keep(&mut journal, Commit { operations: vec![close], ..Commit::default() }).unwrap();
    let left: Vec<_> = Reader::open(&dir).unwrap().leases().unwrap();
    assert_eq!(left.iter().map(|row| row.operation.get()).collect::<Vec<_>>(), [2]);
}

/// R142: effects under way leave a lock on their operation, which goes with their evidence.
#[test]
fn the_lock_of_an_operation_spans_effect_and_evidence() {
    let home = home();
    let dir = home.path().join("run");
    let mut journal = begun(&dir);
    let fence = journal.fence();
    assert!(!is_locked(&dir, 1));
    keep(&mut journal, step_commit(1, 1, 0, fence)).unwrap();
    keep(&mut journal, step_commit(2, 1, 1, fence)).unwrap();
    let evidence = |step| StepWrite {
        step: StepId::new(step),
        mark: StepMark::Verified,
        failure: None,
        result: "ok".into(),
        finished_at: Some(at(5)),
    };
    keep(&mut journal, Commit { steps: vec![evidence(1)], ..Commit::default() }).unwrap();
    assert!(is_locked(&dir, 1), "one of two is still under way");
    keep(&mut journal, Commit { steps: vec![evidence(2)], ..Commit::default() }).unwrap();
    assert!(!is_locked(&dir, 1));
    // What was refused never went out.
    keep(&mut journal, step_commit(1, 1, 0, fence)).unwrap_err();
    assert!(!is_locked(&dir, 1));
}

/// R142: the lock of an operation that is broken off goes with its name, but not before what is under way has ended.
#[test]
fn an_operation_that_is_broken_off_leaves_no_lock() {
    let home = home();
    let dir = home.path().join("run");
    let mut journal = begun(&dir);
    let fence = journal.fence();
    let ended = |step| StepWrite {
        step: StepId::new(step),
        mark: StepMark::Verified,
        failure: None,
        result: "ok".into(),
        finished_at: Some(at(5)),
    };
    let name = dir.join("operations/1.lock");
    keep(&mut journal, step_commit(1, 1, 0, fence)).unwrap();
    let off = OperationWrite::Break { id: OperationId::new(1) };
    keep(&mut journal, Commit { operations: vec![off], ..Commit::default() }).unwrap();
    assert!(is_locked(&dir, 1), "one is under way");
    keep(&mut journal, Commit { steps: vec![ended(1)], ..Commit::default() }).unwrap();
    assert!(!name.exists());

    keep(&mut journal, Commit { operations: vec![opened(2)], ..Commit::default() }).unwrap();
    keep(&mut journal, step_commit(2, 2, 1, fence)).unwrap();
    keep(&mut journal, Commit { steps: vec![ended(2)], ..Commit::default() }).unwrap();
    let name = dir.join("operations/2.lock");
    assert!(name.exists() && !is_locked(&dir, 2));
    let all = OperationWrite::Abandon { group: "web".parse().unwrap() };
    keep(&mut journal, Commit { operations: vec![all], ..Commit::default() }).unwrap();
    assert!(!name.exists());
}

/// What stands in the place of a lock, and is none, is named.
#[test]
fn what_stands_in_the_place_of_a_lock_is_named() {
    let home = home();
    let dir = home.path().join("run");
    drop(begun(&dir));
    std::fs::create_dir_all(dir.join("operations/9.lock")).unwrap();
    let refused = Journal::open(&dir, &claim(), Box::new(|| {})).unwrap_err();
    let why = std::error::Error::source(&refused).unwrap().to_string();
    assert!(why.contains("operations/9.lock"), "{refused}: {why}");
}

pub(crate) fn is_locked(dir: &Path, operation: u64) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let Ok(file) = std::fs::File::open(dir.join(format!("operations/{operation}.lock"))) else {
        return false;
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
}

fn open_as(dir: &Path, claim: &OwnerClaim) -> (Journal, checkpoint::scan::Recovered) {
    Journal::open(dir, claim, Box::new(|| {})).unwrap()
}

/// Ends a journal as a kill does, as far as one process can: the file of its lock is another one afterwards.
fn drop_killed(journal: Journal, dir: &Path) {
    dies(journal);
    std::fs::rename(dir.join("lock"), dir.join("lock.dead")).unwrap();
    std::fs::copy(dir.join("lock.dead"), dir.join("lock")).unwrap();
}

/// P4: a lease that nobody can read is taken anew with its operation, and stops neither the run nor its other leases.
#[test]
fn a_lease_that_cannot_be_read_is_taken_anew() {
    let home = home();
    let dir = home.path().join("run");
    drop(begun(&dir));
    let db = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
    assert_eq!(db.execute("UPDATE operation_lease SET owner = ''", []).unwrap(), 1);
    drop(db);
    let (journal, recovered) = open(&dir);
    assert_eq!(recovered.unreadable.len(), 1);
    assert_eq!(lease(&dir).lease.fence, journal.fence());
}

/// P2: what is on disk is answered as kept, whatever becomes of the lock afterwards; with a lock in doubt nothing more
/// is written.
#[test]
fn what_is_on_disk_is_kept_although_its_lock_cannot_go() {
    let home = home();
    let dir = home.path().join("run");
    let mut journal = begun(&dir);
    let fence = journal.fence();
    keep(&mut journal, step_commit(1, 1, 0, fence)).unwrap();
    let evidence = StepWrite {
        step: StepId::new(1),
        mark: StepMark::Verified,
        failure: None,
        result: "ok".into(),
        finished_at: Some(at(5)),
    };
    // A directory stands where the name of the lock stood: it cannot be taken away as a file.
    let name = dir.join("operations/1.lock");
    std::fs::rename(&name, dir.join("operations/elsewhere")).unwrap();
    std::fs::create_dir(&name).unwrap();
    let close = OperationWrite::Close {
        id: OperationId::new(1),
        outcome: Outcome::Succeeded,
        superseded_by: None,
    };
    let last = Commit { steps: vec![evidence], operations: vec![close], ..Commit::default() };
    keep(&mut journal, last).unwrap();
    let refused = keep(&mut journal, Commit { operations: vec![opened(2)], ..Commit::default() });
    let refused = refused.unwrap_err();
    assert!(matches!(refused, checkpoint::store::StoreError::Lock(_)), "{refused:?}");
    drop(journal);
    let row = Reader::open(&dir).unwrap().operation(OperationId::new(1)).unwrap().unwrap().row;
    assert!(row.closed_at.is_some());
    assert!(Reader::open(&dir).unwrap().operation(OperationId::new(2)).unwrap().is_none());
}
