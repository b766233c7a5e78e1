//! A journal that is broken, foreign or newer is refused and left exactly as it is.

use std::{fs, path::Path};

use checkpoint::{
    reader::Reader,
    store::{Journal, OpenError},
};
use rusqlite::Connection;

use crate::world::{claim, first_commit, home, keep, open, step_commit};

/// A run with something in it, closed.
fn some_run(dir: &Path) {
    let (mut journal, recovered) = open(dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, step_commit(1, 1, 0, recovered.fence)).unwrap();
}

/// Both a driver and a reader refuse, and the file keeps its bytes.
fn check(dir: &Path, expect: impl Fn(&OpenError) -> bool) {
    let path = dir.join("journal.db");
    let before = fs::read(&path).unwrap();
    let refused = Journal::open(dir, &claim(), Box::new(|| {})).err().unwrap();
    assert!(expect(&refused), "{refused:?}");
    let refused = Reader::open(dir).and_then(|mut reader| reader.recovered()).err().unwrap();
    assert!(expect(&refused), "{refused:?}");
    assert!(fs::read(&path).unwrap() == before, "the file was changed");
}

fn is_damaged(error: &OpenError) -> bool {
    matches!(error, OpenError::Damaged { .. })
}

#[test]
fn rubbish_is_not_replaced() {
    let home = home();
    fs::write(home.path().join("journal.db"), "this is a letter, not a database".repeat(300))
        .unwrap();
    check(home.path(), is_damaged);
}

#[test]
fn a_broken_page_is_damage() {
    let home = home();
    let dir = home.path().join("run");
    some_run(&dir);
    let path = dir.join("journal.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4_096..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    check(&dir, is_damaged);
}

/// C15: state that was lost does not pass for a run that never was.
#[test]
fn a_journal_that_was_emptied_is_damage() {
    let home = home();
    let dir = home.path().join("run");
    some_run(&dir);
    fs::write(dir.join("journal.db"), b"").unwrap();
    let refused = Journal::open(&dir, &claim(), Box::new(|| {})).err().unwrap();
    assert!(is_damaged(&refused), "{refused:?}");
    assert!(refused.to_string().contains("it is empty, although a journal was kept here"));
}

#[test]
fn somebody_elses_database_is_refused() {
    let home = home();
    let db = Connection::open(home.path().join("journal.db")).unwrap();
    db.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    drop(db);
    let refused = Reader::open(home.path()).err().unwrap();
    assert!(is_damaged(&refused), "{refused:?}");
    let refused = Journal::open(home.path(), &claim(), Box::new(|| {})).err().unwrap();
    assert!(is_damaged(&refused), "{refused:?}");
    let db = Connection::open(home.path().join("journal.db")).unwrap();
    let tables: i64 =
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

/// Section 8: a newer schema is refused by drivers and readers alike.
#[test]
fn a_newer_schema_is_refused() {
    let home = home();
    let dir = home.path().join("run");
    some_run(&dir);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    db.execute("INSERT INTO migration VALUES (99, 'from the future')", []).unwrap();
    drop(db);
    check(&dir, |error| matches!(error, OpenError::NewerSchema { found: 99, .. }));
}

#[test]
fn a_changed_migration_history_is_refused() {
    let home = home();
    let dir = home.path().join("run");
    some_run(&dir);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.execute("UPDATE migration SET digest = 'other' WHERE version = 1", []).unwrap();
    drop(db);
    check(&dir, is_damaged);
}

/// A shape that cannot be read leaves nothing to decide with.
#[test]
fn an_unreadable_shape_is_damage() {
    let home = home();
    let dir = home.path().join("run");
    some_run(&dir);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.execute("UPDATE shape SET shape = x'7b7d'", []).unwrap();
    drop(db);
    let refused = Journal::open(&dir, &claim(), Box::new(|| {})).err().unwrap();
    assert!(is_damaged(&refused), "{refused:?}");
}
