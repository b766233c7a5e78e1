//! Stop, start, restart, rm and run on real processes: each shown, confirmed by a hash, and kept across drivers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, node, servers, until, until_true};

/// A group of one job that runs `script`.
fn job(name: &str, script: &str) -> String {
    format!(
        "[group.{name}]\ncount = 1\nkind = \"job\"\n[group.{name}.boot]\n\
         command = [\"sh\", \"-c\", \"{script}\"]\nsettle = \"100ms\"\n\
         [group.{name}.policy]\nstable = \"30m\"\n\
         [group.{name}.policy.restart]\nattempts = 2\ninitial = \"50ms\"\njitter = 0\n"
    )
}

fn ports(view: &Value) -> BTreeMap<String, String> {
    let nodes = view["nodes"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    nodes.map(|node| (text(&node["slot"]), text(&node["endpoint"]))).collect()
}

/// The most nodes that were without their workload at a time, as the journal tells it.
fn most_away(world: &World) -> usize {
    let mut away = BTreeSet::new();
    let mut most = 0;
    for event in world.events() {
        let (slot, text) = (event["subject"].to_string(), event["text"].as_str().unwrap());
        if text.ends_with("handed-off -> endpoint-known") {
            away.insert(slot);
        } else if text.ends_with("-> handed-off") {
            away.remove(&slot);
        }
        most = most.max(away.len());
    }
    most
}

/// A stopped group keeps leases and ports, rests as it is wanted, also under another driver, and starts again on them.
#[test]
fn a_stopped_group_rests_until_it_is_started() {
    let mut world = World::new(&servers("web", 2));
    world.expect(0, &["up", "--yes", "FILE"]);
    let (ports_before, leases) = (ports(&world.status()), world.leases());

    let shown = world.json(&["stop", "web", "--dry-run", "--file", "FILE"]);
    assert_eq!((shown["stop"].as_u64(), shown["steps"].as_array().unwrap().len()), (Some(2), 2));
    assert_eq!(world.alive().len(), 2, "a dry run changes nothing (R84)");
    let hash = shown["hash"].as_str().unwrap();
    world.expect(0, &["stop", "web", "--confirm", hash, "--file", "FILE"]);
    assert!(world.alive().is_empty());
    assert_eq!(world.leases(), leases);
    let again = world.expect(0, &["stop", "web", "--confirm", hash, "--file", "FILE"]);
    assert!(again.err.contains("already succeeded"), "{again:?}");

    // Live edits survive drivers (D14): nothing is started by one that comes later.
    world.drive();
    let view = world.until_state("converged");
    assert_eq!(node(&view, "web-0")["stage"], "endpoint-known");
    assert_eq!(node(&view, "web-0")["reason"], "switched off: rests without a workload");
    assert_eq!((view["groups"][0]["off"].as_u64(), view["want"].as_u64()), (Some(2), Some(0)));
    let told = world.expect(0, &["status", "FILE"]).out;
    assert!(told.contains("has 0 nodes switched off, live are 2"), "the loser is named: {told}");
    assert!(world.alive().is_empty());
    world.expect(0, &["start", "web-1", "--yes", "--file", "FILE"]);
    assert_eq!(world.pids().keys().collect::<Vec<_>>(), ["web-1"]);
    world.end_driver(Signal::TERM);
    world.expect(0, &["start", "web", "--yes", "--file", "FILE"]);
    assert_eq!(world.pids().keys().collect::<Vec<_>>(), ["web-0", "web-1"]);
    assert_eq!((ports(&world.status()), world.leases()), (ports_before, leases));
    let view = world.status();
    assert!(["web-0", "web-1"].iter().all(|slot| node(&view, slot)["attempt"] == 1), "{view}");
}

/// A restart ends and starts one node after another on its own lease, while every other one runs.
#[test]
fn a_restart_is_one_after_another() {
    let world = World::new(&servers("web", 3));
    world.expect(0, &["up", "--yes", "FILE"]);
    let (before, leases) = (world.pids(), world.leases());
    world.expect(0, &["restart", "web", "--yes", "--file", "FILE"]);
    assert_eq!(most_away(&world), 1, "one at a time");
    let after = world.pids();
    assert!(before.iter().all(|(slot, pid)| after[slot] != *pid), "{before:?} {after:?}");
    assert_eq!(world.leases(), leases);

    world.expect(0, &["restart", "web-1", "--yes", "--file", "FILE"]);
    let now = world.pids();
    let changed: Vec<_> =
        after.iter().filter(|(s, pid)| now[*s] != **pid).map(|(s, _)| s).collect();
    assert_eq!(changed, ["web-1"]);
    let up = world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(world.pids(), now, "applying the file begins nothing anew: {up:?}");
}

/// A driver that is killed in the middle of a restart leaves it to the next one: each node begins anew once, and none
/// twice at a time (R102).
#[test]
fn a_restart_outlives_its_driver() {
    let mut world = World::new(&servers("web", 3));
    world.drive();
    world.until_state("converged");
    let before = world.pids();
    world.expect(0, &["restart", "web", "--yes", "--detach", "--file", "FILE"]);
    until_true("the first has begun anew", || {
        world.alive().get("web-0").is_some_and(|pids| !pids.contains(&before["web-0"]))
    });
    world.end_driver(Signal::KILL);
    assert!(world.alive().values().all(|pids| pids.len() == 1), "{:?}", world.alive());
    world.drive();
    world.until_state("converged");
    let after = world.pids();
    assert!(before.iter().all(|(slot, pid)| after[slot] != *pid), "{before:?} {after:?}");
}

/// `rm` takes a group away, live; the file still has it, and `up` brings it back.
#[test]
fn a_removed_group_is_gone_until_the_file_is_applied() {
    let world = World::new(&format!("{}{}", servers("web", 1), servers("api", 2)));
    world.expect(0, &["up", "--yes", "FILE"]);
    let before = world.pids();
    let shown = world.expect(0, &["rm", "api", "--dry-run", "--file", "FILE"]);
    assert!(shown.out.contains("next: levelhead rm api --confirm "), "{shown:?}");
    world.expect(0, &["rm", "api", "--yes", "--file", "FILE"]);
    assert_eq!(
        world.pids().into_iter().collect::<Vec<_>>(),
        [("web-0".to_owned(), before["web-0"])]
    );
    let view = world.status();
    assert_eq!(view["groups"].as_array().unwrap().len(), 1);
    assert_eq!(view["file"]["differs"], serde_json::json!([["api", 2, 0]]));
    world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(world.pids().len(), 3);
    for (words, code) in [
        (&["stop", "wub", "--yes", "--file", "FILE"][..], 65),
        (&["restart", "web-7", "--yes", "--file", "FILE"], 65),
        (&["run", "web", "--yes", "--file", "FILE"], 65),
        (&["rm", "wub", "--yes", "--file", "FILE"], 65),
        (&["stop", "web", "--file", "FILE"], 71),
        (&["stop", "--yes", "--file", "FILE"], 64),
    ] {
        world.expect(code, words);
    }
}

/// A job that exits with 0 completes its node; nothing runs it again until someone asks, and then as a fresh attempt.
#[test]
fn a_job_completes_and_runs_again_when_asked() {
    let mut world = World::new(&job("setup", "echo ran >> ../../../../count"));
    let ran = |world: &World| {
        fs::read_to_string(world.dir().join("count")).unwrap_or_default().lines().count()
    };
    world.expect(0, &["up", "--yes", "FILE"]);
    let view = world.status();
    let setup = node(&view, "setup-0");
    assert_eq!(
        (setup["completed"].as_bool(), setup["stage"].as_str()),
        (Some(true), Some("dormant"))
    );
    assert_eq!(setup["reason"], "completed: its workload ended well");
    assert_eq!(view["groups"][0]["completed"], 1);
    assert_eq!(ran(&world), 1);
    world.expect(0, &["up", "--yes", "FILE"]);
    world.drive();
    world.until_state("converged");
    assert_eq!(ran(&world), 1, "what is done stays done");

    world.expect(0, &["run", "setup", "--yes", "--file", "FILE"]);
    assert_eq!(ran(&world), 2);
    assert_eq!(node(&world.status(), "setup-0")["attempt"], 2);
    assert!(world.alive().is_empty());
}

/// A job that takes long is under way, also once its node counts as stable: who waits for it comes up at its end.
#[test]
fn a_long_job_is_waited_for() {
    let setup = job("setup", "sleep 1").replace("30m", "100ms");
    let web = servers("web", 1).replacen('\n', "\nafter = { setup = \"completed\" }\n", 1);
    let world = World::new(&format!("{setup}{web}"));
    let up = world.expect(0, &["up", "--yes", "FILE"]);
    assert!(up.err.contains("converged: 2 of 2 nodes ready"), "{up:?}");
    assert_eq!(world.pids().keys().collect::<Vec<_>>(), ["web-0"]);
}

/// A job that fails is tried as often as its policy allows and then held; mended, it completes.
#[test]
fn a_job_that_fails_is_held() {
    let world = World::new(&job("setup", "exit 3"));
    let up = world.expect(72, &["up", "--yes", "FILE"]);
    let view = world.status();
    let setup = node(&view, "setup-0");
    assert_eq!(
        (setup["hold"].as_str(), setup["failures"].as_u64()),
        (Some("restart.crash-loop"), Some(2))
    );
    assert!(up.err.contains("exited with status 3"), "{up:?}");
    world.write(&job("setup", "exit 0"));
    world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(node(&world.status(), "setup-0")["completed"], true);
}

/// A job whose end nobody saw is held with its lease, and a release lets it run again (clarification 11).
#[test]
fn a_job_whose_end_nobody_saw_is_held() {
    let mut world = World::new(&job("setup", "until [ -e ../../../../go ]; do sleep 0.05; done"));
    world.drive();
    until_true("the job runs", || world.alive().len() == 1);
    until_true("it is ready", || node(&world.status(), "setup-0")["ready"] == true);
    let lease = world.leases();
    world.end_driver(Signal::KILL);
    fs::write(world.dir().join("go"), "").unwrap();
    until_true("the job is over", || world.alive().is_empty());
    world.drive();
    let view = world.until_state("held");
    assert_eq!(node(&view, "setup-0")["hold"], "job.exit-unknown", "{view}");
    assert_eq!(world.leases(), lease);
    let shown = world.expect(0, &["release", "setup-0", "--file", "FILE"]);
    let hash = shown.out.split("--confirm ").nth(1).unwrap();
    let hash = hash.split_whitespace().next().unwrap().to_owned();
    world.expect(0, &["release", "setup-0", "--confirm", &hash, "--file", "FILE"]);
    let view = until("the job is complete", || {
        let view = world.status();
        (view["state"] == "converged").then_some(view)
    });
    assert_eq!(node(&view, "setup-0")["attempt"], 2);
}
