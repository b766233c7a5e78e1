//! The headless driver: told to stop, begun again, and what it makes of its file.

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, kill, node, servers, until, until_true};

/// A driver that is told to stop leaves the nodes running, and the next one goes on with them.
#[test]
fn a_driver_that_is_told_to_stop_leaves_the_nodes_to_the_next() {
    let mut world = World::new(&servers("web", 2));
    world.drive();
    world.until_state("converged");
    let pids = world.pids();
    assert_eq!(world.end_driver(Signal::TERM), 143);
    assert_eq!(world.pids(), pids);
    world.drive();
    world.until_state("converged");
    assert_eq!(world.end_driver(Signal::INT), 130);
    assert_eq!(world.pids(), pids);
    assert_eq!(world.status()["state"], "unattended");

    // What died while nobody looked is made good by the next start.
    kill(pids["web-0"]);
    world.drive();
    let view = until("web-0 is there again", || {
        let view = world.status();
        (node(&view, "web-0")["attempt"] == 2 && view["state"] == "converged").then_some(view)
    });
    assert_eq!(node(&view, "web-1")["attempt"], 1);
    assert_eq!(world.pids()["web-1"], pids["web-1"]);
}

/// A changed file is applied while the driver runs.
#[test]
fn an_edit_of_the_file_is_applied_by_the_driver() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    let generation = world.until_state("converged")["generation"].clone();
    let first = world.pids();
    world.write(&servers("web", 3));
    until_true("three nodes are ready", || world.status()["ready"] == 3);
    assert_ne!(world.status()["generation"], generation);
    assert_eq!(world.pids()["web-0"], first["web-0"]);
    world.write(&servers("api", 1));
    until_true("one group has gone and another has come", || {
        let view = world.status();
        let nodes = view["nodes"].as_array().unwrap();
        view["state"] == "converged" && nodes.iter().all(|node| node["slot"] == "api-0")
    });
    assert_eq!(world.pids().into_keys().collect::<Vec<_>>(), ["api-0"]);
}

/// A count that was set live outlives the driver while the file stays as it was (D14).
#[test]
fn a_live_count_outlives_the_driver_if_the_file_did_not_change() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    world.expect(0, &["scale", "web=3", "--yes", "--file", "FILE"]);
    let pids = world.pids();
    assert_eq!(world.end_driver(Signal::TERM), 143);
    world.drive();
    let view = world.until_state("converged");
    assert_eq!((&view["want"], &view["ready"]), (&3.into(), &3.into()), "{view}");
    assert_eq!(world.pids(), pids);
    assert_eq!(view["file"]["differs"], serde_json::json!([["web", 1, 3]]));
}

/// A content that is not valid changes nothing, is told once, and the next valid one counts (D14).
#[test]
fn a_broken_file_keeps_the_last_good_shape() {
    let mut world = World::new(&servers("web", 2));
    world.drive();
    let generation = world.until_state("converged")["generation"].clone();
    let pids = world.pids();
    let events = world.events().len();
    world.look_through_a_copy();
    world.write("[group.web]\ncount = \"many\"\n");
    let view = until("the driver tells of its file", || {
        let view = world.status();
        view["file"]["problem"].is_string().then_some(view)
    });
    assert_eq!((&view["generation"], &view["state"]), (&generation, &"converged".into()));
    assert_eq!(world.pids(), pids);
    let told: Vec<Value> = world.events().split_off(events);
    let about: Vec<&Value> = told.iter().filter(|e| e["kind"] == "file").collect();
    assert_eq!(about.len(), 1, "{told:?}");

    world.write(&servers("web", 3));
    until_true("the next content counts", || world.status()["ready"] == 3);
    assert_eq!(world.status()["file"]["problem"], Value::Null);
}
