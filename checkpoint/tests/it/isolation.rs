//! One bad row never hides the others.

use checkpoint::{reader::Reader, store::Commit, unreadable::RowKind};
use reconciler_core::checkpoint::CheckpointError;
use rusqlite::Connection;

use crate::world::{first_commit, home, keep, open, put, slot, step_commit};

/// C17: one of a thousand records has an unknown stage; 999 load, one is named.
#[test]
fn one_bad_record_is_reported_and_the_others_load() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    let records = (0..1_000).map(|index| put(index, 5)).collect();
    keep(&mut journal, Commit { records, ..Commit::default() }).unwrap();
    drop(journal);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    let spoil = "UPDATE record SET record = \
                 CAST(replace(CAST(record AS TEXT), '\"new\"', '\"molten\"') AS BLOB), sum = NULL \
                 WHERE slot = 'web-437'";
    assert_eq!(db.execute(spoil, []).unwrap(), 1);
    drop(db);
    let (_journal, recovered) = open(&dir);
    assert_eq!(recovered.records.len(), 999);
    let [bad] = recovered.unreadable.as_slice() else { panic!("{:?}", recovered.unreadable) };
    assert_eq!((bad.kind, bad.key.as_str()), (RowKind::Record, "web-437"));
    assert!(bad.why.as_str().contains("molten"), "{bad:?}");
}

/// A record under another slot's name, or under no slot's name, is not believed either.
#[test]
fn a_record_under_a_wrong_name_is_reported() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    let records = (0..3).map(|index| put(index, 5)).collect();
    keep(&mut journal, Commit { records, ..Commit::default() }).unwrap();
    drop(journal);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.execute("UPDATE record SET slot = 'db-9' WHERE slot = 'web-0'", []).unwrap();
    db.execute("UPDATE record SET slot = 'not a slot' WHERE slot = 'web-1'", []).unwrap();
    drop(db);
    let recovered = Reader::open(&dir).unwrap().recovered().unwrap();
    let mut keys: Vec<_> = recovered.unreadable.iter().map(|bad| bad.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["db-9", "not a slot"]);
    assert_eq!(recovered.records.len(), 1);
    assert_eq!(recovered.records[0].slot, slot(2));
}

/// R120: an unknown checkpoint comes back as an error beside its step, never as a guess.
#[test]
fn an_unknown_checkpoint_is_an_error_of_its_step() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    for n in 1..=3 {
        let index = u32::try_from(n).unwrap();
        keep(&mut journal, step_commit(n, 1, index, recovered.fence)).unwrap();
    }
    drop(journal);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    let long = "y".repeat(300);
    for (step, text) in [(1, "web-1:melted"), (2, ""), (3, long.as_str())] {
        db.execute("UPDATE step SET checkpoint = ?2 WHERE id = ?1", (step, text)).unwrap();
    }
    drop(db);
    let (_journal, recovered) = open(&dir);
    let found: Vec<_> =
        recovered.open_operations[0].steps.iter().map(|step| step.checkpoint.clone()).collect();
    let expected = [
        CheckpointError::Unknown("web-1:melted".into()),
        CheckpointError::Empty,
        CheckpointError::Oversize(300),
    ];
    assert_eq!(found, expected.map(Err));
}
