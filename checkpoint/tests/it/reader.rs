//! Looking without owning.

use std::{fs, os::unix::fs::PermissionsExt as _, time::SystemTime};

use checkpoint::{
    paths::StatePaths,
    reader::{Reader, is_locked},
    store::OpenError,
};
use reconciler_core::id::Fence;

use crate::world::{RUN, claim, facts, first_commit, home, keep, open, plan, step_commit};

#[test]
fn without_a_journal_there_is_nothing_to_read() {
    let home = home();
    for dir in [home.path().join("nowhere"), home.path().to_owned()] {
        assert!(matches!(Reader::open(&dir), Err(OpenError::Missing { .. })));
        assert!(!is_locked(&dir).unwrap());
    }
}

/// R101: a reader sees every kept commit beside the live driver, and what it sees is whole.
#[test]
fn a_reader_sees_what_is_kept_beside_the_driver() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    let mut reader = Reader::open(&dir).unwrap();
    assert!(reader.is_locked().unwrap());
    assert_eq!(reader.owner().unwrap().unwrap().pid, claim().pid);
    assert!(reader.is_used(&plan(1)).unwrap());
    assert!(!reader.is_used(&plan(2)).unwrap());
    for step in 1..=30 {
        keep(&mut journal, step_commit(step, 1, 0, recovered.fence)).unwrap();
        let seen = reader.recovered().unwrap();
        assert_eq!(seen.last_pass.get(), step);
        assert_eq!(seen.open_operations[0].steps.len() as u64, step);
        assert_eq!(reader.passes(1).unwrap()[0].pass.get(), step);
    }
    assert_eq!(reader.operations(9).unwrap().len(), 1);
    drop(journal);
    assert!(!reader.is_locked().unwrap());
    assert_eq!(reader.recovered().unwrap().last_pass.get(), 30);
}

/// Reading never writes: no fence moves, no byte of the file changes; also without a log beside it.
#[test]
fn reading_changes_nothing() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, recovered) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, step_commit(1, 1, 0, recovered.fence)).unwrap();
    drop(journal);
    let path = dir.join("journal.db");
    assert!(!dir.join("journal.db-wal").exists());
    let state = || -> (Vec<u8>, SystemTime) {
        (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap())
    };
    let before = state();
    let seen = Reader::open(&dir).unwrap().recovered().unwrap();
    assert_eq!(seen.fence, Fence::new(1));
    assert!(state() == before);
    let (_journal, recovered) = open(&dir);
    assert_eq!(facts(recovered), facts(seen));
}

/// A directory that cannot be written can still be read. (Root can always write, so there it proves less.)
#[test]
fn a_read_only_directory_can_be_read() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    drop(journal);
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o500)).unwrap();
    let seen = Reader::open(&dir).and_then(|mut reader| reader.recovered());
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(seen.unwrap().serial.get(), 1);
}

#[test]
fn state_stands_where_xdg_says() {
    let run = "demo".parse().unwrap();
    let at = |state: Option<&str>, home: Option<&str>| {
        let variable = |name: &str| match name {
            "XDG_STATE_HOME" => state.map(Into::into),
            _ => home.map(Into::into),
        };
        StatePaths::of_run_in(variable, &run, RUN).map(|paths| paths.socket().display().to_string())
    };
    let own = "levelhead/demo-07070707/control.sock";
    assert_eq!(at(Some("/s"), Some("/h")).unwrap(), format!("/s/{own}"));
    assert_eq!(at(None, Some("/h")).unwrap(), format!("/h/.local/state/{own}"));
    assert_eq!(at(Some("relative"), Some("/h")).unwrap(), format!("/h/.local/state/{own}"));
    at(None, None).unwrap_err();
}
