//! R196: three classes of integrity, each for its own faults, and a check that writes nothing.

use std::{fs, path::Path};

use checkpoint::{
    care::{
        finding::Integrity,
        verify::{self, Report},
    },
    operation::{OperationStatus, OperationWrite, Outcome},
    reader::Reader,
    scan::Recovered,
    store::{Commit, Journal, OpenError},
};
use reconciler_core::id::OperationId;
use rusqlite::Connection;

use crate::world::{claim, facts, files, first_commit, home, keep, open, some_life, step_commit};

/// A run in which `spoil` was done, checked; it changed no byte.
fn spoilt(spoil: &str) -> (Report, bool) {
    let home = home();
    let dir = home.path().join("run");
    some_life(&dir);
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.execute_batch(spoil).unwrap();
    drop(db);
    let before = files(&dir);
    let report = verify::journal(&dir).unwrap();
    assert_eq!(files(&dir).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(files(&dir) == before, "a check writes nothing");
    (report, Journal::open(&dir, &claim(), Box::new(|| {})).is_ok())
}

#[test]
fn a_whole_journal_is_healthy() {
    let (report, opens) = spoilt("SELECT 1");
    assert_eq!((report.integrity, opens), (Integrity::Healthy, true), "{report:?}");
    let manifest = report.manifest.unwrap();
    assert_eq!((manifest.fence.get(), manifest.generation.get()), (1, 1));
    assert_eq!(manifest.rows["step"], 20);
}

/// R196: a row that is history, or that is looked for at the providers, is named, and a driver still goes on.
#[test]
fn a_bad_row_that_nothing_is_decided_on_degrades() {
    for (spoil, place, key) in [
        ("UPDATE record SET record = x'7b7d' WHERE slot = 'web-1'", "record", "web-1"),
        (
            "UPDATE record SET record = CAST(replace(CAST(record AS TEXT), '1', '2') AS BLOB) WHERE slot = 'web-1'",
            "record",
            "web-1",
        ),
        ("UPDATE step SET checkpoint = 'half-done:web-1' WHERE id = 7", "step", "7"),
        ("UPDATE step SET kind = 'StartBootstrap' WHERE id = 7", "step", "7"),
        ("UPDATE step SET operation = 99 WHERE id = 7", "step", "7"),
        ("UPDATE operation SET checkpoint = 'dreaming' WHERE id = 1", "operation", "1"),
        ("UPDATE operation SET closed_at = 9 WHERE id = 1", "operation", "1"),
    ] {
        let (report, opens) = spoilt(spoil);
        assert_eq!((report.integrity, opens), (Integrity::Degraded, true), "{spoil}: {report:?}");
        assert!(
            report.findings.iter().all(|found| (found.place, found.key.as_str()) == (place, key)),
            "{spoil}: {report:?}"
        );
    }
}

/// R196: without the owner, the present shape or the plans that were used, nothing may be decided.
#[test]
fn what_nothing_can_be_decided_without_is_unrecoverable() {
    for (spoil, place) in [
        ("UPDATE owner SET fence = 0", "owner"),
        ("UPDATE shape SET shape = x'7b7d'", "shape"),
        ("UPDATE used_plan SET serial = 7", "used_plan"),
        ("UPDATE migration SET digest = 'other' WHERE version = 2", "pages"),
        ("DROP INDEX event_of_subject", "schema"),
        ("CREATE TABLE songs (title TEXT)", "schema"),
    ] {
        let (report, _opens) = spoilt(spoil);
        assert_eq!(report.integrity, Integrity::Unrecoverable, "{spoil}: {report:?}");
        assert!(report.findings.iter().any(|found| found.place == place), "{spoil}: {report:?}");
    }
    // A fence that fell is found by what it was written on, also without a sum.
    let (report, _opens) = spoilt("UPDATE owner SET fence = 0, sum = NULL");
    assert_eq!(report.integrity, Integrity::Unrecoverable);
    assert!(report.findings[0].what.as_str().contains("higher fence"), "{report:?}");
}

/// C15: a check beside a live driver sees one moment, and disturbs nothing.
#[test]
fn a_check_beside_a_driver_is_of_one_moment() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    for step in 1..=20 {
        keep(&mut journal, step_commit(step, 1, 0, recovered.fence)).unwrap();
        let report = verify::journal(&dir).unwrap();
        assert_eq!(report.integrity, Integrity::Healthy, "{report:?}");
        assert_eq!(report.manifest.unwrap().rows["step"], step);
    }
}

/// C15: a driver and a reader that refuse a damaged journal leave the directory as they found it, log and all.
#[test]
fn a_refusal_changes_nothing_in_the_directory() {
    let refused = |dir: &Path| {
        let before = files(dir);
        let driver = Journal::open(dir, &claim(), Box::new(|| {})).err().unwrap();
        assert!(matches!(driver, OpenError::Damaged { .. }), "{driver:?}");
        let reader =
            checkpoint::reader::Reader::open(dir).and_then(|mut reader| reader.recovered());
        let reader = reader.err().unwrap();
        assert!(
            matches!(reader, OpenError::Damaged { .. } | OpenError::Missing { .. }),
            "{reader:?}"
        );
        assert_eq!(files(dir).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
        assert!(files(dir) == before);
    };
    let home = home();
    let dir = home.path().join("log");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, step_commit(1, 1, 0, recovered.fence)).unwrap();
    // As a power cut leaves it: the commits stand in the log, and the file was torn.
    let copy = home.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for (path, bytes) in files(&dir) {
        fs::write(copy.join(path.file_name().unwrap()), bytes).unwrap();
    }
    drop(journal);
    let mut bytes = fs::read(copy.join("journal.db")).unwrap();
    bytes[..100].fill(0x5a);
    fs::write(copy.join("journal.db"), bytes).unwrap();
    assert!(fs::metadata(copy.join("journal.db-wal")).unwrap().len() > 0);
    // The log has a good first page, so that the file is read through it.
    for spoil in [Some(0x00), None] {
        if let Some(byte) = spoil {
            let mut log = fs::read(copy.join("journal.db-wal")).unwrap();
            log[..32].fill(byte);
            fs::write(copy.join("journal.db-wal"), log).unwrap();
        } else {
            fs::remove_file(copy.join("journal.db-wal")).unwrap();
        }
        refused(&copy);
    }
    // A bad shape, known only after the whole file was read.
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.execute("UPDATE shape SET shape = x'7b7d'", []).unwrap();
    drop(db);
    refused(&dir);
    // A journal that is gone although one was kept here.
    fs::remove_file(dir.join("journal.db")).unwrap();
    refused(&dir);
}

/// A journal of the schema before sums: the same rows, none of them with one.
fn older(dir: &Path) {
    let path = dir.join("journal.db");
    let new = dir.join("new.db");
    fs::rename(&path, &new).unwrap();
    let db = Connection::open(&path).unwrap();
    let migrations = [
        include_str!("../../src/schema/0001_journal.sql"),
        include_str!("../../src/schema/0002_rollout.sql"),
    ];
    db.pragma_update(None, "application_id", 0x4c76_4864).unwrap();
    db.execute_batch("CREATE TABLE migration (\n    version INTEGER PRIMARY KEY,\n    digest TEXT NOT NULL\n) STRICT")
        .unwrap();
    for sql in migrations {
        db.execute_batch(sql).unwrap();
    }
    db.execute("ATTACH ?1 AS new", [new.to_str().unwrap()]).unwrap();
    let copied = "INSERT INTO migration SELECT * FROM new.migration WHERE version < 3;
        INSERT INTO owner SELECT only_row, run, name, pid, started_at, host, fence FROM new.owner;
        INSERT INTO shape SELECT generation, shape, source, who, plan, file_digest, at FROM new.shape;
        INSERT INTO used_plan SELECT hash, serial, at FROM new.used_plan;
        INSERT INTO operation SELECT id, node_group, plan, fence, status, checkpoint, superseded_by, goals,
            opened_at, updated_at, closed_at FROM new.operation;
        INSERT INTO step SELECT id, operation, slot, ordinal, attempt, provider, kind, idem, fence, timeout,
            command, checkpoint, CASE rank WHEN 7 THEN 4 ELSE rank END, result, started_at, finished_at
            FROM new.step;
        INSERT INTO record SELECT slot, record FROM new.record;
        INSERT INTO event SELECT * FROM new.event;
        INSERT INTO pass SELECT * FROM new.pass";
    db.execute_batch(copied).unwrap();
    db.pragma_update(None, "user_version", 2).unwrap();
    drop(db);
    fs::remove_file(new).unwrap();
}

/// R196: an older journal is read by nobody but the next driver, which brings it up and loses nothing.
#[test]
fn an_older_journal_is_brought_up_whole() {
    let home = home();
    let dir = home.path().join("run");
    let mut before = some_life(&dir);
    // Ways back were not written down yet; inverses are.
    for open in &mut before.open_operations {
        open.row.compensation = None;
    }
    older(&dir);
    assert!(matches!(verify::journal(&dir), Err(OpenError::OlderSchema { found: 2, .. })));
    let (journal, recovered) = open(&dir);
    // An older program wrote no leases; this one took them as it opened the journal.
    let before = Recovered { leases: Vec::new(), ..before };
    assert_eq!(facts(recovered), facts(before));
    drop(journal);
    let report = verify::journal(&dir).unwrap();
    assert_eq!(report.integrity, Integrity::Healthy, "{report:?}");
}

/// R120, R196: an operation that nobody can read is shown as it stands, is closed by its number or with its group, and
/// after that the journal is whole: what could not be read says no more than is known.
#[test]
fn a_journal_is_whole_again_once_a_bad_operation_is_closed() {
    let long = "x".repeat(300);
    for spoil in [
        "UPDATE operation SET checkpoint = 'dreaming' WHERE id = 2".to_owned(),
        "UPDATE operation SET checkpoint = '' WHERE id = 2".to_owned(),
        format!("UPDATE operation SET checkpoint = '{long}' WHERE id = 2"),
        "UPDATE operation SET direction = 'sideways' WHERE id = 2".to_owned(),
        "UPDATE operation SET rollback_plan = 'none' WHERE id = 2".to_owned(),
        "UPDATE operation SET sum = sum + 1 WHERE id = 2".to_owned(),
        "UPDATE operation SET status = 'dreaming' WHERE id = 2".to_owned(),
        "UPDATE step SET checkpoint = 'half-done:web-1' WHERE operation = 2".to_owned(),
        "UPDATE step SET direction = 'sideways' WHERE operation = 2".to_owned(),
        "UPDATE step SET inverse = 'Undo' WHERE operation = 2".to_owned(),
    ] {
        for by_number in [true, false] {
            let home = home();
            let dir = home.path().join("run");
            some_life(&dir);
            let (mut journal, recovered) = open(&dir);
            keep(&mut journal, step_commit(21, 2, 0, recovered.fence)).unwrap();
            drop(journal);
            let db = Connection::open(dir.join("journal.db")).unwrap();
            assert!(db.execute(&spoil, []).unwrap() > 0, "{spoil}");
            drop(db);
            let id = OperationId::new(2);
            let reader = Reader::open(&dir).unwrap();
            let bad = reader.unreadable(id).unwrap();
            assert!(bad.iter().all(|bad| bad.operation == Some(id)), "{spoil}: {bad:?}");
            let stands = reader.operation_as_it_stands(id).unwrap();
            assert!(stands.contains(&("node_group", "web".into())), "{spoil}: {stands:?}");
            drop(reader);
            let (mut journal, _) = open(&dir);
            let write = if by_number {
                OperationWrite::Break { id }
            } else {
                OperationWrite::Abandon { group: "web".parse().unwrap() }
            };
            keep(&mut journal, Commit { operations: vec![write], ..Commit::default() }).unwrap();
            drop(journal);
            let row = Reader::open(&dir).unwrap().operation(id).unwrap().expect(&spoil).row;
            assert_eq!(row.status, OperationStatus::Closed(Outcome::Interrupted), "{spoil}");
            row.checkpoint.expect(&spoil);
            let report = verify::journal(&dir).unwrap();
            assert_eq!(report.integrity, Integrity::Healthy, "{spoil}: {report:?}");
            let other = Reader::open(&dir).unwrap().operation(OperationId::new(1)).unwrap();
            assert_eq!(other.unwrap().row.closed_at.is_none(), by_number, "{spoil}");
        }
    }
}
