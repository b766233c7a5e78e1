//! Updates on real processes: nothing that serves goes before what follows it can (R169, R174, D10, C10).

use std::collections::BTreeMap;

use rustix::process::Signal;

use crate::world::{World, group, node, until, until_true};

/// Three nodes that run `command`, with these settings of their update.
fn web(command: &str, update: &str) -> String {
    let restart = "[group.web.policy.restart]\nattempts = 2\ninitial = \"10ms\"\ncap = \"20ms\"\n";
    format!("{}{restart}[group.web.policy.update]\n{update}", group("web", 3, command))
}

const BESIDE: &str = "max_surge = 1\n";
const BEFORE: &str = r#"["sleep", "86398"]"#;
const AFTER: &str = r#"["sleep", "86399"]"#;

/// With one to spare and none to miss, another command never leaves fewer than three ready, nor more than four.
#[test]
fn an_update_with_surge_never_serves_with_less() {
    let mut world = World::new(&web(BEFORE, BESIDE));
    world.drive();
    world.until_state("converged");
    let before = world.pids();
    world.write(&web(AFTER, BESIDE));
    let (mut ready, mut alive) = (Vec::new(), Vec::new());
    until_true("every node is another one", || {
        let view = world.status();
        ready.push(view["ready"].as_u64().unwrap());
        alive.push(world.alive().values().map(Vec::len).sum::<usize>());
        let nodes = view["nodes"].as_array().unwrap();
        view["state"] == "converged" && nodes.iter().all(|node| node["attempt"] == 2)
    });
    assert!(ready.iter().all(|ready| *ready == 3), "{ready:?}");
    assert!(alive.iter().all(|alive| (3..=4).contains(alive)), "{alive:?}");
    let after = world.pids();
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after.iter().all(|(slot, pid)| before[slot] != *pid), "{before:?} {after:?}");
    until_true("the old leases are gone", || world.leases() == ["web-0.2", "web-1.2", "web-2.2"]);
}

/// A driver that is killed while a candidate is observed leaves an update that the next one finishes (R174).
#[test]
fn an_update_outlives_its_driver() {
    let mut world = World::new(&web(BEFORE, BESIDE));
    world.drive();
    world.until_state("converged");
    let before = world.pids();
    world.write(&web(AFTER, "max_surge = 1\nobservation = \"1m\"\n"));
    until_true("a candidate is observed", || {
        let view = world.status();
        node(&view, "web-0")["second"]["stage"] == "handed-off"
    });
    world.end_driver(Signal::KILL);
    let alive = world.alive();
    assert_eq!(alive["web-0"].len(), 2, "{alive:?}");
    let shown = world.expect(0, &["status", "FILE", "--problems"]).out;
    assert!(shown.contains("update from "), "{shown}");

    world.write(&web(AFTER, BESIDE));
    world.expect(0, &["up", "--yes", "FILE"]);
    let after = world.pids();
    assert!(after.iter().all(|(slot, pid)| before[slot] != *pid), "{before:?} {after:?}");
    assert!(alive["web-0"].contains(&after["web-0"]), "the candidate itself took over: {after:?}");
    until_true("the old leases are gone", || world.leases().len() == 3);
}

/// What is taken down takes its candidate along.
#[test]
fn going_down_takes_both_attempts() {
    let mut world = World::new(&web(BEFORE, BESIDE));
    world.drive();
    world.until_state("converged");
    world.write(&web(AFTER, "max_surge = 1\nobservation = \"1m\"\n"));
    until_true("a candidate runs", || world.alive()["web-0"].len() == 2);
    world.expect(0, &["down", "--yes", "FILE"]);
    assert_eq!(world.alive(), BTreeMap::new());
    until_true("no lease is left", || world.leases().is_empty());
}

/// A command that never runs is taken back: what served goes on serving, and the exit code says so (C10, D4).
#[test]
fn an_update_that_fails_is_taken_back() {
    let world = World::new(&web(BEFORE, BESIDE));
    world.expect(0, &["up", "--yes", "FILE"]);
    let before = world.pids();
    world.write(&web(r#"["false"]"#, BESIDE));
    let plan = world.expect(0, &["plan", "FILE"]);
    assert!(plan.out.contains("at least 3 of 3 serve, at most 4 exist at once"), "{plan:?}");
    let done = world.expect(72, &["up", "--yes", "FILE"]);
    assert!(done.err.contains("goes back to what served before"), "{done:?}");
    assert_eq!(world.pids(), before);
    let told = until("the update is told of", || {
        let told = world.events_of("update", "group/web");
        (told.len() >= 3).then_some(told)
    });
    let told: Vec<&str> = told.iter().filter_map(|event| event["text"].as_str()).collect();
    let why = "has failed: web-0: the workload exited with status 1";
    assert!(told[1].contains(why), "{told:?}");
    until_true("no other lease is left", || world.leases().len() == 3);
}

/// An operator pauses an update, lets it go on, and takes it back, each under a plan that was shown.
#[test]
fn an_operator_has_the_last_word_on_an_update() {
    let mut world = World::new(&web(BEFORE, BESIDE));
    world.drive();
    world.until_state("converged");
    let before = world.pids();
    let verb = |what: &'static str| ["update", "web", what, "--file", "FILE"];
    let refused = world.expect(65, &[&verb("--pause")[..], &["--yes"]].concat());
    assert!(refused.err.contains("there is no update of `web` under way"), "{refused:?}");
    assert!(refused.err.contains("next: no update is under way"), "{refused:?}");
    world.expect(64, &["update", "web", "--file", "FILE"]);

    world.write(&web(AFTER, "max_surge = 1\nobservation = \"4s\"\n"));
    until_true("a candidate is observed", || {
        node(&world.status(), "web-0")["second"]["stage"] == "handed-off"
    });
    let dry = world.json(&[&verb("--pause")[..], &["--dry-run"]].concat());
    let hash = dry["hash"].as_str().unwrap();
    world.expect(0, &[&verb("--pause")[..], &["--confirm", hash]].concat());
    until_true("the candidate that had begun took over", || {
        let view = world.status();
        node(&view, "web-0")["attempt"] == 2 && node(&view, "web-0")["second"].is_null()
    });
    let view = world.status();
    assert_eq!(view["groups"][0]["update"]["paused"], true);
    assert!(node(&view, "web-1")["reason"].as_str().unwrap().contains("the update is paused"));
    assert_eq!(world.pids()["web-1"], before["web-1"]);

    let shown = |what| world.json(&[&verb(what)[..], &["--dry-run"]].concat())["hash"].clone();
    let hash = shown("--resume");
    let resume = ["--confirm", hash.as_str().unwrap(), "--detach"];
    world.expect(0, &[&verb("--resume")[..], &resume].concat());
    until_true("the next candidate runs", || world.alive()["web-1"].len() == 2);
    // The candidate is looked at all the time, so what was shown may be overtaken: then it is shown anew.
    until_true("the rollback that was shown is done", || {
        let hash = shown("--rollback");
        let confirm = ["--confirm", hash.as_str().unwrap()];
        world.run(&[&verb("--rollback")[..], &confirm].concat()).code == 0
    });
    let after = world.pids();
    assert_ne!(after["web-0"], before["web-0"], "what was replaced is replaced again");
    assert_eq!((after["web-1"], after["web-2"]), (before["web-1"], before["web-2"]));
    assert_eq!(node(&world.status(), "web-0")["attempt"], 3);
}

/// A paused update that is taken back goes back at once: what goes back goes on (R175, C10).
#[test]
fn a_paused_update_is_taken_back() {
    let slowly = "max_surge = 1\nobservation = \"1s\"\n";
    let mut world = World::new(&web(BEFORE, slowly));
    world.drive();
    world.until_state("converged");
    let before = world.status()["nodes"][0]["revision"].clone();
    world.write(&web(AFTER, slowly));
    until_true("one node is another", || world.status()["nodes"][0]["attempt"] == 2);
    let paused = world.run(&["update", "web", "--pause", "--yes", "--detach", "--file", "FILE"]);
    assert_eq!(paused.code, 0, "{paused:?}");
    world
        .expect(0, &["update", "web", "--rollback", "--yes", "--timeout", "60s", "--file", "FILE"]);
    let view = world.until_state("converged");
    let nodes = view["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| node["revision"] == before), "{view}");
}

/// P6: the way out that is printed for a group works also where slots of it are held.
#[test]
fn the_way_out_of_a_stalled_update_works_as_printed() {
    let update = "max_surge = 1\non_failure = \"hold\"\n";
    let mut world = World::new(&web(BEFORE, update));
    world.drive();
    world.until_state("converged");
    world.write(&web(r#"["false"]"#, update));
    let held = |name: &str| {
        let view = world.status();
        let holds = view["holds"].as_array().unwrap().clone();
        holds.into_iter().find(|hold| hold["subject"] == name)
    };
    let slot = until("a slot is held", || held("web-0"));
    let group = until("the group is held", || held("web"));
    assert_ne!(slot["way_out"], group["way_out"]);
    let released = world.paste(group["way_out"].as_str().unwrap());
    assert_eq!(released.code, 0, "{released:?}");
    assert!(released.out.contains("released web"), "{released:?}");
}
