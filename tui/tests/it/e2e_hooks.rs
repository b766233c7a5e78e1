//! Hooks on real processes: their order, a driver that dies while one runs, and what a failed one does (D7, R138).

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, group, node, until, until_true};

const HOOKS: [&str; 4] = ["pre_start", "post_start", "pre_stop", "post_stop"];
const BEFORE: &str = r#"["sleep", "86398"]"#;
const AFTER: &str = r#"["sleep", "86399"]"#;

/// One `web` node under `hooks`; each line of them is a hook.
fn web(command: &str, hooks: &str) -> String {
    let restart = "[group.web.policy.restart]\nattempts = 2\ninitial = \"10ms\"\ncap = \"20ms\"\n";
    let update = "[group.web.policy.update]\nmax_surge = 1\n";
    format!("{}{restart}{update}[group.web.policy.hooks]\n{hooks}", group("web", 1, command))
}

/// A hook that runs a script of the shell.
fn hook(point: &str, script: &str) -> String {
    format!("{point} = {{ command = [\"sh\", \"-c\", '{script}'], timeout = \"60s\" }}\n")
}

/// A hook that appends its name and its attempt to one file.
fn says(world: &World, point: &str) -> String {
    let path = world.dir().join("said").display().to_string();
    hook(point, &format!("echo $LEVELHEAD_HOOK $LEVELHEAD_ORDINAL >> {path}"))
}

fn said(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.dir().join("said")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn all(world: &World) -> String {
    HOOKS.map(|point| says(world, point)).concat()
}

fn held(world: &World) -> bool {
    let view = world.status();
    let nodes = view["nodes"].as_array().unwrap();
    nodes.iter().any(|node| node["hold"] == "hook.unknown")
}

/// Confirms the end of a hold by what the command itself says to type.
fn release(world: &World, subject: &str) {
    let shown = world.expect(0, &["release", subject, "--file", "FILE"]).out;
    let hash = shown.split_whitespace().skip_while(|word| *word != "--confirm").nth(1);
    let hash = hash.unwrap_or_else(|| panic!("it names no hash: {shown}"));
    world.expect(0, &["release", subject, "--confirm", hash, "--file", "FILE"]);
}

/// The hooks that are shown in advance are those that run, in their order, through a life and an update.
#[test]
fn hooks_run_in_their_order_through_a_life() {
    let world = World::new("");
    world.write(&web(BEFORE, &all(&world)));
    let valid = world.expect(0, &["validate", "FILE"]).out;
    assert!(valid.contains("hooks of web: pre-start, post-start, pre-stop, post-stop"), "{valid}");
    let plan = world.expect(0, &["plan", "FILE"]).out;
    assert!(plan.contains("pre-start x1, post-start x1"), "{plan}");
    world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(said(&world), ["pre-start 1", "post-start 1"]);
    world.write(&web(AFTER, &all(&world)));
    world.expect(0, &["up", "--yes", "FILE"]);
    let updated = ["pre-start 2", "post-start 2", "pre-stop 1", "post-stop 1"];
    until_true("the old attempt is gone", || world.leases() == ["web-0.2"]);
    assert_eq!(said(&world)[2..], updated, "what is new is up before what is old goes");
    world.expect(0, &["stop", "web", "--yes", "--file", "FILE"]);
    world.expect(0, &["start", "web", "--yes", "--file", "FILE"]);
    let again = ["pre-stop 2", "post-stop 2", "pre-start 2", "post-start 2"];
    assert_eq!(said(&world)[6..], again, "a second session runs its own");
    world.expect(0, &["down", "--yes", "FILE"]);
    assert_eq!(said(&world)[10..], ["pre-stop 2", "post-stop 2"]);
    let events = world.expect(0, &["events", "FILE"]).out;
    assert!(events.contains("the pre-start hook completed"), "{events}");
    assert!(world.leases().is_empty());
}

/// A driver that is killed while a hook runs: the next one waits for it, holds the node, and never repeats it.
#[test]
fn a_hook_whose_driver_is_killed_is_held_and_not_repeated() {
    let mut world = World::new("");
    let gate = world.dir().join("gate");
    let path = world.dir().join("said").display().to_string();
    let script = format!(
        "echo begun >> {path}; while [ ! -e {} ]; do sleep 0.05; done; echo ended >> {path}",
        gate.display()
    );
    world.write(&web(BEFORE, &hook("post_start", &script)));
    world.drive();
    until_true("the hook runs", || said(&world) == ["begun"]);
    let shown = until("status says so", || {
        let view = world.status();
        (node(&view, "web-0")["pending"] == "hook-post-start").then_some(view)
    });
    assert_eq!(shown["ready"], 0, "{shown}");
    world.end_driver(Signal::KILL);
    world.drive();
    until_true("the next driver looks", || {
        world.expect(0, &["explain", "web-0", "--file", "FILE"]).out.contains("hook-post-start")
    });
    assert_eq!(said(&world), ["begun"]);
    fs::write(&gate, "").unwrap();
    until_true("the hook ends by itself", || said(&world) == ["begun", "ended"]);
    until_true("its end is in doubt", || node(&world.status(), "web-0")["hold"] == "hook.unknown");
    let why = world.expect(0, &["explain", "web-0", "--file", "FILE"]).out;
    for part in ["post-start", "nobody saw how it ended", "levelhead release web-0"] {
        assert!(why.contains(part), "{why}");
    }
    release(&world, "web-0");
    world.until_state("converged");
    assert_eq!(said(&world), ["begun", "ended"], "it counts as run");
    assert_eq!(node(&world.status(), "web-0")["attempt"], 1);
}

/// A driver that is killed once a hook has ended, or before it began, neither repeats nor skips it.
#[test]
fn a_killed_driver_repeats_no_hook_and_skips_none() {
    let mut world = World::new("");
    world.write(&web(BEFORE, &all(&world)));
    for kills in 1..6 {
        world.drive();
        until_true("it came further", || said(&world).len() + 1 >= kills.min(3) || held(&world));
        world.end_driver(Signal::KILL);
    }
    world.drive();
    // A kill may come just while a hook runs; which one is chance, that it is not repeated is not.
    for _ in HOOKS {
        until_true("it ends", || world.status()["state"] == "converged" || held(&world));
        if held(&world) {
            release(&world, "web-0");
        }
    }
    world.until_state("converged");
    assert_eq!(said(&world), ["pre-start 1", "post-start 1"], "each once");
}

/// A failed start hook fails its attempts, and a failed stop hook keeps nobody.
#[test]
fn failed_hooks_fail_starts_and_delay_stops() {
    let mut world = World::new("");
    world.write(&web(BEFORE, &hook("pre_start", "echo no disk; exit 4")));
    world.drive();
    until_true("its attempts are used up", || {
        node(&world.status(), "web-0")["hold"] == "restart.crash-loop"
    });
    let why = world.expect(0, &["explain", "web-0", "--file", "FILE"]).out;
    assert!(why.contains("the pre-start hook exited with 4: no disk"), "{why}");
    world.write(&web(BEFORE, &hook("pre_stop", "exit 5")));
    release(&world, "web-0");
    world.until_state("converged");
    world.expect(0, &["stop", "web", "--yes", "--file", "FILE"]);
    assert!(world.pids().is_empty());
    let events = world.expect(0, &["events", "FILE"]).out;
    assert!(events.contains("goes on without its pre-stop hook"), "{events}");
}

/// R138: an update that fails after a hook of it completed is not taken back by itself; one whose hook failed is.
#[test]
fn a_completed_hook_keeps_a_failed_update_from_going_back() {
    let mut world = World::new("");
    world.write(&web(BEFORE, ""));
    world.drive();
    world.until_state("converged");
    let serving = world.pids();
    let broken = web(r#"["/nowhere/at/all"]"#, &hook("pre_start", "exit 7"));
    world.write(&broken);
    until_true("it went back", || {
        let told = world.events_of("update", "group/web");
        let back = |event: &Value| event["text"].as_str().unwrap().contains("; back to ");
        told.iter().any(back) && world.status()["state"] == "converged"
    });
    assert_eq!(world.pids(), serving);

    world.write(&web(r#"["/nowhere/at/all"]"#, &says(&world, "pre_start")));
    let held = until("the group is held", || {
        let view = world.status();
        let holds = view["holds"].as_array().unwrap();
        let held = holds.iter().any(|hold| hold["code"] == "rollback.irreversible-hook");
        held.then_some(view)
    });
    assert!(held["ready"] == 1 && world.pids() == serving, "{held}");
    let why = world.expect(0, &["status", "FILE", "--problems"]).out;
    assert!(why.contains("cannot be taken back") && why.contains("levelhead release web"), "{why}");
    // The way out: another file, or the release of the group.
    world.write(&web(AFTER, &says(&world, "pre_start")));
    until_true("the next file is followed", || {
        let view = world.status();
        view["state"] == "converged" && node(&view, "web-0")["attempt"] != 1
    });
    assert_ne!(world.pids(), serving);
}
