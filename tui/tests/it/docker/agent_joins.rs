//! Containers that never join: what they wrote last stands in the reason, bounded, and without secrets.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use super::{
    agent::JOIN,
    fleet::{Fleet, group, provider},
    tls_door::TlsDoor,
};
use crate::world::until;

/// What the program of a test needs of this machine.
const LIBRARIES: &str =
    "binds = [\"/lib64:/lib64:ro\", \"/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu:ro\"]";
/// One attempt, and little time to join.
const BRIEF: &str = "restart = { attempts = 1 }\ntimeouts = { bootstrap = \"3s\" }\n";

/// A node of `command` that joins by its agent; `options` are its provider's, `address` is what the agent is told.
fn joining(options: &str, address: &str, command: &str) -> String {
    let provider = provider(options).replace("init = true\n", "");
    let agent = format!("[agent]\nlisten = \"127.0.0.1:0\"\n{address}\n");
    agent + &provider + &group("web", 1, command, JOIN) + BRIEF
}

/// The text of the hold in which the slot ends.
fn held(fleet: &mut Fleet) -> String {
    fleet.world.drive();
    until("the slot is held", || {
        let view = fleet.world.status();
        let held = view["holds"].as_array()?.first()?.clone();
        (held["code"] == "restart.crash-loop").then(|| held["text"].as_str().unwrap().to_owned())
    })
}

fn ends(fleet: &Fleet) {
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// P7: an agent that cannot reach its driver, as where that listens on the machine's loopback address alone, says so, and
/// the failure of its node quotes it.
#[test]
fn an_agent_that_cannot_reach_its_driver_is_quoted() {
    let test = "an_agent_that_cannot_reach_its_driver_is_quoted";
    let options = format!("networks = [\"none\"]\n{LIBRARIES}");
    let file = joining(&options, "", r#"["sleep", "3600"]"#);
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    let why = held(&mut fleet);
    assert!(why.contains("it did not join in time; its last lines: "), "{why}");
    assert!(why.contains("the driver cannot be reached: Connection refused"), "{why}");
    assert!(why.len() <= 1_100, "it is bounded: {why}");
    let told = fleet.world.expect(0, &["explain", "web-0", "--file", "FILE"]).out;
    assert!(told.contains("the driver cannot be reached"), "{told}");
    ends(&fleet);
}

/// P7: so is one that meets somebody else in its driver's place, whose certificate it does not take.
#[test]
fn an_agent_that_meets_another_certificate_is_quoted() {
    let test = "an_agent_that_meets_another_certificate_is_quoted";
    let door = TlsDoor::open(PathBuf::from("/nowhere"));
    let address = format!("address = \"127.0.0.1:{}\"", door.address.port());
    let options = format!("networks = [\"host\"]\n{LIBRARIES}");
    let file = joining(&options, &address, r#"["sleep", "3600"]"#);
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    let why = held(&mut fleet);
    assert!(why.contains("it did not join in time; its last lines: "), "{why}");
    assert!(why.contains("certificate"), "{why}");
    ends(&fleet);
}

/// P7: an agent that is no program, one that is not there, and a command that is not there are each told in the words of
/// who tried to run them.
#[test]
fn what_cannot_be_run_is_quoted() {
    let test = "what_cannot_be_run_is_quoted";
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("agent");
    fs::write(&source, "this is no program").unwrap();
    fs::set_permissions(&source, fs::Permissions::from_mode(0o755)).unwrap();
    let no_program = format!("networks = [\"none\"]\nagent_source = \"{}\"", source.display());
    let not_there = "networks = [\"none\"]\nagent_path = \"/nowhere\"".to_owned();
    let in_reach = format!("networks = [\"host\"]\n{LIBRARIES}");
    let rows = [
        (no_program, r#"["sleep", "3600"]"#, "exec format error"),
        (not_there, r#"["sleep", "3600"]"#, "no such file or directory"),
        (in_reach, r#"["/nowhere/at-all"]"#, "cannot start /nowhere/at-all: No such file"),
    ];
    for (options, command, quoted) in rows {
        let Some(mut fleet) = Fleet::new(test, &joining(&options, "", command)) else { return };
        let why = held(&mut fleet);
        assert!(why.contains(quoted), "{quoted}: {why}");
        ends(&fleet);
    }
}

/// P8: what a workload wrote that never passed its startup probe is quoted without the secrets that it had.
#[test]
fn who_never_starts_up_is_quoted_without_its_secrets() {
    let test = "who_never_starts_up_is_quoted_without_its_secrets";
    let canary = "canary-e07d42";
    let says = r#"["sh", "-c", "echo waits for the store with key $API_KEY; exec sleep 3600"]"#;
    let web = group("web", 1, says, "join = { mode = \"probe\" }")
        .replace("settle", "secret_env = { API_KEY = \"file:key\" }\nsettle");
    let file = provider("networks = [\"none\"]")
        + &web
        + BRIEF
        + "[group.web.policy.probes]\n\
           startup = { exec = [\"false\"], interval = \"100ms\", failures = 100 }\n";
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    let key = fleet.world.dir().join("key");
    fs::write(&key, canary).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let why = held(&mut fleet);
    assert!(why.contains("it did not join in time; its last lines: waits for the store"), "{why}");
    assert!(why.contains("[redacted]") && !why.contains(canary), "{why}");
    ends(&fleet);
}
