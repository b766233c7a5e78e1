//! Looking after the journal with the real program: what is checked, copied, put back and set aside, and that no node
//! is harmed by any of it.

use std::{fs, path::Path};

use serde_json::Value;

use crate::world::{World, servers, until};

/// Every file that a journal consists of or leaves behind, with its bytes.
fn journal_files(world: &World) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(world.state())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Turns every `from` of the journal's file into `to`, byte for byte.
fn turn(path: &Path, from: &str, to: &str) {
    let mut bytes = fs::read(path).unwrap();
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter_map(|(at, found)| (found == from.as_bytes()).then_some(at))
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    fs::write(path, bytes).unwrap();
}

/// R196: healthy is 0, degraded 73, unrecoverable 66; a check works beside a driver.
#[test]
fn a_check_tells_three_classes_apart() {
    let mut world = World::new(&servers("web", 2));
    world.expect(66, &["journal", "verify"]);
    world.drive();
    world.expect(0, &["up", "--yes", "FILE"]);
    let report = world.json(&["journal", "verify"]);
    assert_eq!(
        (&report["integrity"], &report["manifest"]["rows"]["record"]),
        (&"healthy".into(), &2.into())
    );
    world.end_driver(rustix::process::Signal::TERM);
    let journal = world.state().join("journal.db");
    let whole = fs::read(&journal).unwrap();
    turn(&journal, "\"name\":\"handed-off\"", "\"name\":\"handed-oof\"");
    let degraded = world.expect(73, &["journal", "verify"]);
    assert!(degraded.out.contains("record     web-0"), "{degraded:?}");
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, &bytes[..bytes.len() / 2]).unwrap();
    let lost = world.expect(66, &["journal", "verify"]);
    assert!(lost.out.contains("unrecoverable") && lost.err.contains("journal restore"), "{lost:?}");
    fs::write(&journal, whole).unwrap();
    world.expect(0, &["down", "--yes", "FILE"]);
}

/// C15: every verb that meets a damaged journal refuses with 66 and the commands that go on, and changes no file; what
/// `quarantine` begins anew keeps the fence, and no node is ended by it (C4).
#[test]
fn a_damaged_journal_is_left_alone_until_it_is_set_aside() {
    let mut world = World::new(&servers("web", 2));
    world.expect(0, &["up", "--yes", "FILE"]);
    let pids = world.pids();
    let journal = world.state().join("journal.db");
    let whole = fs::read(&journal).unwrap();
    let mut bytes = whole.clone();
    bytes[4_096..].fill(0x5a);
    fs::write(&journal, &bytes).unwrap();
    let before = journal_files(&world);
    for words in [
        &["up", "--yes", "FILE"] as &[&str],
        &["driver", "FILE"],
        &["status", "FILE"],
        &["plan", "FILE"],
        &["down", "--yes", "FILE"],
        &["events", "FILE"],
    ] {
        let refused = world.expect(66, words);
        for way in
            ["journal verify", "journal restore", "journal quarantine", "nothing was changed"]
        {
            assert!(refused.err.contains(way), "{words:?}: {refused:?}");
        }
        assert!(journal_files(&world) == before, "{words:?} changed a file");
    }
    let shown = world.json(&["journal", "quarantine"]);
    let hash = shown["hash"].as_str().unwrap();
    world.expect(70, &["journal", "quarantine", "--confirm", &"0".repeat(64)]);
    assert!(journal_files(&world) == before);
    world.expect(0, &["journal", "quarantine", "--confirm", hash]);
    let aside = fs::read_dir(world.state().join("quarantine")).unwrap().next().unwrap().unwrap();
    assert!(fs::read(aside.path().join("journal.db")).unwrap() == bytes, "kept as it was");
    world.drive();
    let view = world.status();
    assert!(view["driver"]["fence"].as_u64().unwrap() > 1, "{view}");
    assert_eq!(
        view["drift"].as_array().unwrap().iter().filter(|d| d["kind"] == "unmanaged").count(),
        2
    );
    assert_eq!(world.pids(), pids, "an orphan is left alone");
    world.end_driver(rustix::process::Signal::TERM);
    // The journal as it was before is put back by hand: its fence is old now, and the driver rises above it.
    fs::write(&journal, whole).unwrap();
    world.expect(0, &["down", "--yes", "FILE"]);
}

/// R196, C4, C16: what a backup does not know is reported and left alone, and its old fence does not come back.
#[test]
fn a_restored_run_harms_no_node_that_its_backup_does_not_know() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.expect(0, &["up", "--yes", "FILE"]);
    world.expect(0, &["journal", "backup", "one.db"]);
    world.expect(65, &["journal", "backup", "one.db"]);
    world.expect(0, &["journal", "verify", "one.db"]);
    world.expect(0, &["scale", "web=2", "--yes", "--file", "FILE"]);
    world.expect(71, &["journal", "restore", "one.db"]);
    world.end_driver(rustix::process::Signal::KILL);
    let pids = world.pids();
    let later = world.dir().join("later.db");
    world.expect(0, &["journal", "backup", "later.db"]);
    let shown = world.json(&["journal", "restore", "one.db", "--dry-run"]);
    let hash = shown["hash"].as_str().unwrap().to_owned();
    let done = world.json(&["journal", "restore", "one.db", "--confirm", &hash]);
    let fence = done["preview"]["fence"].as_u64().unwrap();
    world.expect(70, &["journal", "restore", "one.db", "--confirm", &hash]);
    world.drive();
    let view = until("the node without a record is told of", || {
        Some(world.status()).filter(|view| view["drift"].to_string().contains("web-1"))
    });
    assert!(view["driver"]["fence"].as_u64().unwrap() > fence, "{view}");
    assert_eq!(world.pids(), pids, "the node that the backup does not know runs on");
    world.end_driver(rustix::process::Signal::TERM);
    // The later backup knows it: with it the run is whole again.
    let shown = world.json(&["journal", "restore", later.to_str().unwrap()]);
    world.expect(
        0,
        &[
            "journal",
            "restore",
            later.to_str().unwrap(),
            "--confirm",
            shown["hash"].as_str().unwrap(),
        ],
    );
    world.expect(0, &["up", "--yes", "--timeout", "60s", "FILE"]);
    assert_eq!(
        fs::read_dir(world.state().join("quarantine")).unwrap().count(),
        2,
        "nothing is deleted"
    );
    world.expect(0, &["down", "--yes", "FILE"]);
}

/// R192: compaction is shown, confirmed, backed up, and refused beside a driver; the run goes on as before.
#[test]
fn a_compacted_run_goes_on() {
    let mut world = World::new(&servers("web", 2));
    world.drive();
    world.expect(0, &["up", "--yes", "FILE"]);
    world.expect(71, &["journal", "compact"]);
    world.end_driver(rustix::process::Signal::TERM);
    let words = ["journal", "compact", "--keep", "4"];
    let shown = world.json(&words);
    let confirm = [&words[..], &["--confirm", shown["hash"].as_str().unwrap()]].concat();
    let done = world.json(&confirm);
    assert_eq!(done["integrity"], "healthy");
    assert!(done["bytes"].as_u64().unwrap() <= done["preview"]["bytes"].as_u64().unwrap());
    world.expect(0, &["journal", "verify", done["backup"].as_str().unwrap()]);
    world.expect(70, &confirm);
    assert!(world.events().len() <= 5, "four, and that of the compaction");
    let pids = world.pids();
    world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(world.pids(), pids);
    world.expect(0, &["down", "--yes", "FILE"]);
}

/// Rows are shown as tables and as JSON, also where the desired-state file is lost; wrong words have their exit code.
#[test]
fn rows_are_shown_to_people_and_to_programs() {
    let world = World::new(&servers("web", 1));
    world.expect(0, &["up", "--yes", "FILE"]);
    fs::rename(world.file(), world.dir().join("away.toml")).unwrap();
    for what in ["operations", "steps", "events", "passes", "records", "web-0"] {
        let table = world.expect(0, &["journal", "inspect", what]).out;
        assert!(table.lines().count() > 1, "{what}: {table}");
        let lines = world.expect(0, &["journal", "inspect", what, "--json"]).out;
        assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
    }
    let all = world.expect(0, &["journal", "export"]).out;
    assert!(all.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{all}");
    world.expect(0, &["journal", "export", "rows.jsonl"]);
    assert_eq!(fs::read_to_string(world.dir().join("rows.jsonl")).unwrap(), all);
    world.expect(65, &["journal", "export", "rows.jsonl"]);
    world.expect(65, &["journal", "inspect", "weather"]);
    world.expect(64, &["journal", "mend"]);
    world.expect(66, &["journal", "restore", "rows.jsonl"]);
    fs::rename(world.dir().join("away.toml"), world.file()).unwrap();
    world.expect(0, &["down", "--yes", "FILE"]);
}
