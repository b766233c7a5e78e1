//! Several commands on one run: one driver at a time, everything else through it, and each hash good for once.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::unix::net::UnixListener,
};

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::{
    e2e_life::counters,
    world::{World, code, ended, servers, until_true},
};

fn hash(plan: &Value) -> String {
    plan["hash"].as_str().unwrap().to_owned()
}

/// A second driver is refused and told who has the run (D15); nothing changes by that.
#[test]
fn a_second_driver_is_refused_and_told_who_drives() {
    let mut world = World::new(&servers("web", 1));
    let pid = world.drive();
    world.until_state("converged");
    let before = world.pids();
    let refused = world.expect(71, &["driver", "FILE"]);
    assert!(refused.err.contains(&pid.to_string()), "{refused:?}");
    assert!(refused.err.contains("driving since 20"), "{refused:?}");
    assert_eq!(world.pids(), before);
    assert_eq!(world.status()["driver"]["pid"], pid);
}

/// Beside a driver, looks and changes go through it.
#[test]
fn commands_beside_a_driver_go_through_it() {
    let mut world = World::new(&servers("web", 1));
    let pid = world.drive();
    let fence = world.until_state("converged")["driver"]["fence"].clone();
    assert_eq!(world.json(&["plan", "FILE"])["empty"], true);
    world.expect(0, &["scale", "web=3", "--yes", "--file", "FILE"]);
    assert_eq!(world.pids().len(), 3);
    let view = world.status();
    assert_eq!(view["driver"]["pid"], pid);
    assert_eq!(view["driver"]["fence"], fence);
    assert_eq!(view["state"], "converged");
    let dry = world.json(&["scale", "web=2", "--dry-run", "--file", "FILE"]);
    assert_eq!((&dry["destroy"], &dry["unchanged"]), (&1.into(), &2.into()), "{dry}");
    assert_eq!(world.pids().len(), 3, "a dry run changes nothing");
    world.expect(0, &["scale", "web=2", "--confirm", &hash(&dry), "--file", "FILE"]);
    assert_eq!(world.pids().len(), 2);
    world.expect(0, &["down", "--yes", "FILE"]);
    assert!(world.alive().is_empty());
    until_true("no lease is left", || world.leases().is_empty());
}

/// What is shown is what runs: a plan's hash confirms it once, also without a driver (P3, R84, R85).
#[test]
fn a_plan_is_confirmed_by_its_hash_and_only_once() {
    let world = World::new(&servers("web", 2));
    let plan = world.json(&["plan", "FILE"]);
    assert_eq!(plan["create"], 2);
    assert!(!world.state().join("journal.db").exists(), "a plan writes nothing");
    assert_eq!(world.expect(2, &["plan", "FILE", "--detailed-exitcode"]).code, 2);
    let hash = hash(&plan);
    assert_eq!(world.json(&["plan", "FILE"])["hash"], hash.as_str());
    world.expect(0, &["apply", "FILE", "--confirm", &hash]);
    let pids = world.pids();
    assert_eq!(pids.len(), 2);
    let written = counters(&world);
    // R106: what is done is done, and doing it again changes nothing.
    let again = world.expect(0, &["apply", "FILE", "--confirm", &hash]);
    assert!(again.err.contains("already succeeded"), "{again:?}");
    assert!(again.err.contains("nothing was changed"), "{again:?}");
    assert_eq!(world.pids(), pids);
    assert_eq!(counters(&world), written);
    // It is good for one use all the same: once something else was declared, it does not do it a second time.
    world.expect(0, &["scale", "web=1", "--yes", "--file", "FILE"]);
    let (pids, written) = (world.pids(), counters(&world));
    let up = ["scale", "web=2", "--confirm", &hash, "--file", "FILE"];
    let used = world.expect(70, &up);
    assert!(used.err.contains("good for one use"), "{used:?}");
    assert_eq!((world.pids(), counters(&world)), (pids, written));
}

/// A plan that was overtaken by another change is refused, with what moved (C14).
#[test]
fn a_plan_that_was_overtaken_is_refused_and_says_what_moved() {
    let world = World::new(&servers("web", 1));
    world.expect(0, &["up", "--yes", "FILE"]);
    let stale = hash(&world.json(&["scale", "web=4", "--dry-run", "--file", "FILE"]));
    world.expect(0, &["scale", "web=2", "--yes", "--file", "FILE"]);
    let (pids, written) = (world.pids(), counters(&world));
    let refused = world.expect(70, &["scale", "web=4", "--confirm", &stale, "--file", "FILE"]);
    assert!(refused.err.contains("the live generation is 2"), "{refused:?}");
    assert!(refused.err.contains("lately: run: shape: generation 1 -> 2"), "{refused:?}");
    assert_eq!(world.pids(), pids);
    assert_eq!(counters(&world), written);
}

/// R85: a plan that is stale says what moved, from what to what: one that was kept, and one that the driver showed.
#[test]
fn a_stale_plan_names_what_moved() {
    let mut world = World::new(&servers("web", 2));
    world.drive();
    world.until_state("converged");
    let kept = world.expect(0, &["plan", "FILE", "--json"]).out;
    let path = world.dir().join("plan.json");
    std::fs::write(&path, kept).unwrap();
    let edit = ["scale", "web=3", "--file", "FILE"];
    let shown = hash(&world.json(&[&edit[..], &["--dry-run"]].concat()));
    world.expect(0, &["restart", "web-1", "--yes", "--file", "FILE"]);

    let file = path.to_str().unwrap();
    let of_kept = world.expect(70, &["apply", "FILE", "--plan", file]);
    let of_shown = world.expect(70, &[&edit[..], &["--confirm", &shown]].concat());
    for refused in [of_kept, of_shown] {
        for line in ["live generation: 1 -> 2", "web-1: round 0 -> 1"] {
            assert!(refused.err.contains(line), "{line}: {refused:?}");
        }
        assert!(!refused.err.contains("web-0:"), "what stayed is not named: {refused:?}");
    }
    let done = world.expect(70, &["apply", "FILE", "--plan", file, "--json"]);
    let error: Value = serde_json::from_str(done.err.lines().last().unwrap()).unwrap();
    assert!(error["error"]["details"].to_string().contains("round 0 -> 1"), "{error}");
}

/// Answers calls as a driver would, in order, and breaks the connection where there is no answer.
fn answer_calls(listener: &UnixListener, answers: &[Option<String>]) {
    for answer in answers {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4096];
        assert!(stream.read(&mut asked).unwrap() > 0);
        let Some(body) = answer else { continue };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    }
}

/// P2: whoever has the run when a driver ends that was asked is asked the same, and nothing is done twice.
#[test]
fn a_change_outlives_the_driver_that_it_was_asked_of() {
    for broken_off in [1, 3] {
        let world = World::new(&servers("web", 1));
        world.expect(0, &["up", "--yes", "FILE"]);
        let plan =
            world.expect(0, &["scale", "web=2", "--dry-run", "--json", "--file", "FILE"]).out;
        let lock = File::open(world.state().join("lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let listener = UnixListener::bind(world.state().join("control.sock")).unwrap();
        let mut asking = world.spawn("asking", &["scale", "web=2", "--yes", "--file", "FILE"]);
        let health = || Some("{}".to_owned());
        let calls = [health(), Some(plan), health(), None];
        let mut calls = calls[..=broken_off].to_vec();
        calls[broken_off] = None;
        answer_calls(&listener, &calls);
        drop((lock, listener));
        assert_eq!(code(ended(&mut asking)), 0, "broken off at call {broken_off}");
        assert_eq!(world.pids().len(), 2);
        assert_eq!(world.events_of("shape", "run").len(), 2, "the change was made once");
    }
}

/// P2: a driver that dies while it is asked leaves the run to whoever asks: a process that it was just starting holds
/// its lock and its socket a moment longer, and what breaks off there was never taken up.
#[test]
fn who_asks_a_driver_that_dies_takes_the_run() {
    let world = World::new(&servers("web", 1));
    world.expect(0, &["up", "--yes", "FILE"]);
    let lock = File::open(world.state().join("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let socket = world.state().join("control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut asking = world.spawn("asking", &["scale", "web=2", "--yes", "--file", "FILE"]);
    drop(listener.accept().unwrap());
    drop((lock, listener));
    assert_eq!(code(ended(&mut asking)), 0);
    assert_eq!(world.pids().len(), 2);
}

/// P2: of two verbs without a driver the second goes on by itself when the first, whose driver it used, gives up.
#[test]
fn the_second_of_two_verbs_outlives_the_first() {
    let world = World::new(&servers("web", 3));
    world.expect(0, &["up", "--yes", "FILE"]);
    let mut first = world.spawn("first", &["restart", "web", "--yes", "--file", "FILE"]);
    until_true("the first one drives", || world.status()["driver"].is_object());
    world.expect(0, &["scale", "web=6", "--yes", "--file", "FILE"]);
    assert_eq!(world.pids().len(), 6);
    let first = code(ended(&mut first));
    assert!(first == 73 || first == 0, "{first}");
}
