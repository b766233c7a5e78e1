//! R127, R196: a backup is one private file of one moment that vouches for itself, and overwrites nothing.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use checkpoint::{
    care::{
        PartError,
        backup::{self, BackupError},
        finding::Integrity,
        verify,
    },
    store::OpenError,
};
use reconciler_core::time::Timestamp;
use rusqlite::Connection;

use crate::world::{files, first_commit, home, keep, open, some_life, step_commit};

const NOW: Timestamp = Timestamp::from_millis(1_796_000_000_000);

/// A copy beside a live driver has every commit that was acknowledged before it, and none of them half.
#[test]
fn a_backup_beside_a_driver_has_all_that_was_acknowledged() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    for step in 1..=10 {
        keep(&mut journal, step_commit(step, 1, 0, recovered.fence)).unwrap();
        let target = home.path().join(format!("{step}.db"));
        let manifest = backup::make(&dir, &target, NOW).unwrap();
        assert_eq!((manifest.rows["step"], manifest.fence), (step, recovered.fence));
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        let report = verify::backup(&target).unwrap();
        assert_eq!(report.integrity, Integrity::Healthy, "{report:?}");
    }
    drop(journal);
    let left: Vec<_> = files(home.path()).into_keys().collect();
    let names = "ten backups, the journal, its lock and the one of the open operation";
    assert_eq!(left.len(), 13, "{names}: {left:?}");
}

/// R127: what stands is not overwritten, and what was begun and failed is taken away.
#[test]
fn a_backup_overwrites_nothing() {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let target = home.path().join("copy.db");
    fs::write(&target, "a letter").unwrap();
    let before = files(home.path());
    let refused = backup::make(&dir, &target, NOW).unwrap_err();
    assert!(matches!(refused, BackupError::File(PartError::Exists(_))), "{refused:?}");
    std::os::unix::fs::symlink(home.path().join("elsewhere"), home.path().join("link.db")).unwrap();
    assert!(backup::make(&dir, &home.path().join("link.db"), NOW).is_err());
    assert!(backup::make(&dir, &home.path().join("no/such/place.db"), NOW).is_err());
    fs::remove_file(home.path().join("link.db")).unwrap();
    assert!(files(home.path()) == before);
}

/// R196: a journal that a driver would refuse gives no backup, since it would pass for a good one.
#[test]
fn an_unrecoverable_journal_gives_no_backup() {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.execute("UPDATE shape SET shape = x'7b7d'", []).unwrap();
    drop(db);
    let refused = backup::make(&dir, &home.path().join("copy.db"), NOW).unwrap_err();
    assert!(matches!(refused, BackupError::Unsound(_)), "{refused:?}");
    assert!(!home.path().join("copy.db").exists());
}

/// R196: a backup of which any byte of a row turned is found out, and so is one that was cut.
#[test]
fn a_changed_backup_is_found_out() {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let target = home.path().join("copy.db");
    backup::make(&dir, &target, NOW).unwrap();
    let whole = fs::read(&target).unwrap();
    let unrecoverable = |path: &Path| {
        verify::backup(path).is_ok_and(|report| report.integrity == Integrity::Unrecoverable)
    };
    let db = Connection::open(&target).unwrap();
    db.execute("UPDATE event SET count = count + 1 WHERE seq = 1", []).unwrap();
    drop(db);
    assert!(unrecoverable(&target));
    fs::write(&target, &whole[..whole.len() - 4_096]).unwrap();
    assert!(unrecoverable(&target));
    fs::write(&target, &whole).unwrap();
    assert!(!unrecoverable(&target));
    let db = Connection::open(&target).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    assert!(matches!(verify::backup(&target), Err(OpenError::NewerSchema { found: 99, .. })));
}

/// A backup in a journal's place would bring an old fence back: it is refused, and the way is named.
#[test]
fn a_backup_is_no_journal() {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let target = home.path().join("copy.db");
    backup::make(&dir, &target, NOW).unwrap();
    fs::copy(&target, dir.join("journal.db")).unwrap();
    let refused = checkpoint::reader::Reader::open(&dir).err().unwrap();
    assert!(refused.to_string().contains("journal restore"), "{refused}");
}
