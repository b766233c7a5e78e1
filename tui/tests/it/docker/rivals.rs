//! Several drivers on one engine: of runs of their own, and of one run from two places.

use std::collections::BTreeMap;

use super::fleet::{Fleet, sleepers};
use crate::world::until_true;

/// P4, C12: two runs with the same groups on one engine keep to their own; what is lost to one is none of the other's, and
/// the end of one leaves the other whole.
#[test]
fn two_runs_on_one_engine_keep_to_their_own() {
    let test = "two_runs_on_one_engine_keep_to_their_own";
    let Some(mut one) = Fleet::new(test, &sleepers(3)) else { return };
    let Some(mut other) = Fleet::new(test, &sleepers(3)) else { return };
    one.world.drive();
    other.world.drive();
    for fleet in [&one, &other] {
        fleet.world.until_state("converged");
    }
    let (mine, theirs) = (one.ids(), other.ids());
    assert!(mine.values().all(|id| theirs.values().all(|other| other != id)));
    one.ask(super::engine::remove(&one.docker, &mine["web-1"]));
    one.until_replaced("web-1", &mine["web-1"]);
    one.world.until_state("converged");
    one.world.expect(0, &["scale", "web=1", "--file", "FILE", "--yes"]);
    assert_eq!(other.ids(), theirs);
    one.world.expect(0, &["down", "FILE", "--yes"]);
    one.is_bare();
    let view = other.world.until_state("converged");
    assert_eq!((other.ids(), &view["orphans"]), (theirs, &serde_json::json!([])), "{view}");
    other.world.expect(0, &["down", "FILE", "--yes"]);
    other.is_bare();
}

/// P5, D11: a driver of the same run with another state directory, and so with a lower fence, changes nothing that the
/// first one made.
#[test]
fn a_second_driver_of_one_run_from_elsewhere_changes_nothing() {
    let test = "a_second_driver_of_one_run_from_elsewhere_changes_nothing";
    let Some(mut fleet) = Fleet::new(test, &sleepers(0)) else { return };
    // Drivers came before the one that makes the nodes, so that its fence is higher than any of the second's.
    for _ in 0..4 {
        fleet.world.drive();
        fleet.world.end_driver(rustix::process::Signal::TERM);
    }
    fleet.world.write(&sleepers(2));
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    let elsewhere = tempfile::tempdir().unwrap();
    let rival = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_levelhead"));
        command.arg("--state-dir").arg(elsewhere.path().join("state")).args(words);
        let output = command.arg(fleet.world.file()).output().unwrap();
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), shown(&output.stdout) + &shown(&output.stderr))
    };
    for words in [["up", "--yes", "--timeout=20s"], ["down", "--yes", "--timeout=20s"]] {
        let (code, said) = rival(&words);
        assert!(code != Some(0), "{words:?}: {said}");
        assert_eq!(fleet.ids(), before, "{words:?}: {said}");
    }
    until_true("the first goes on", || fleet.world.status()["state"] == "converged");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    assert_eq!(fleet.nodes(), BTreeMap::new());
    fleet.is_bare();
}
