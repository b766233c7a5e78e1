//! The life of a run: up, again, other counts, another command, down; on real processes.

use std::{
    collections::BTreeMap,
    fs,
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use checkpoint::reader::Reader;
use serde_json::Value;

use crate::world::{World, group, node, servers, until, until_true};

/// Everything that a journal counts, but the fence, which rises with each owner.
pub(crate) fn counters(world: &World) -> String {
    let found = Reader::open(world.state()).unwrap().recovered().unwrap();
    let generation = found.shape.as_ref().map(|row| row.shape.generation);
    format!(
        "{generation:?} {:?} {:?} {:?} {:?} {:?}",
        found.serial,
        found.last_pass,
        found.next_operation,
        found.next_step,
        found.events.last().map(|event| (event.seq, event.count)),
    )
}

fn ports(view: &Value) -> Vec<SocketAddr> {
    let nodes = view["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| node["endpoint"].as_str().unwrap().trim_start_matches("http=").parse().unwrap())
        .collect()
}

fn slots(pids: &BTreeMap<String, i32>) -> Vec<&str> {
    pids.keys().map(String::as_str).collect()
}

/// The shipped example comes up, stays as it is when asked again (R73), and goes without a trace (D8).
#[test]
fn the_example_comes_up_once_and_goes_without_a_trace() {
    let world = World::new("");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/local.toml");
    let example = fs::read_to_string(example).unwrap();
    // Of its own: an identity, and nodes that do not become stable while the test looks.
    let text = example
        .replace("6c1f3a52-8f0b-4b9e-9d4e-2a7c51e0d9b4", world.uuid())
        .replace("stable = \"10s\" ", "stable = \"30m\" ");
    assert_eq!(text.matches(world.uuid()).count(), 1);
    world.write_raw(&format!("{text}\n[group.worker.policy]\nstable = \"30m\"\n"));

    world.expect(0, &["up", "--yes", "FILE"]);
    let pids = world.pids();
    assert_eq!(slots(&pids), ["web-0", "web-1", "web-2", "worker-0", "worker-1"]);
    let view = world.status();
    let ports = ports(&view);
    assert!(ports.iter().all(|port| TcpStream::connect(port).is_ok()), "{ports:?}");
    let (events, written) = (world.events(), counters(&world));

    let again = world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(world.pids(), pids, "{again:?}");
    assert_eq!(world.events(), events);
    assert_eq!(counters(&world), written);
    assert_eq!(world.status()["generation"], view["generation"]);

    world.expect(0, &["down", "--yes", "FILE"]);
    assert!(world.alive().is_empty());
    until_true("no lease is left", || world.leases().is_empty());
    let listening: Vec<_> = ports.iter().filter(|port| TcpStream::connect(port).is_ok()).collect();
    assert!(listening.is_empty(), "{listening:?} still listen");
}

/// More nodes take the next indices, fewer take away the highest, and the others are not touched (D9).
#[test]
fn counts_grow_and_shrink_at_the_high_end() {
    let world = World::new(&servers("web", 3));
    world.expect(0, &["up", "--yes", "FILE"]);
    let three = world.pids();

    world.expect(0, &["scale", "web=5", "--yes", "--file", "FILE"]);
    let five = world.pids();
    assert_eq!(slots(&five), ["web-0", "web-1", "web-2", "web-3", "web-4"]);
    assert!(three.iter().all(|(slot, pid)| five[slot] == *pid), "{three:?} {five:?}");

    world.expect(0, &["scale", "web=2", "--yes", "--file", "FILE"]);
    let two = world.pids();
    assert_eq!(slots(&two), ["web-0", "web-1"]);
    assert!(two.iter().all(|(slot, pid)| five[slot] == *pid), "{five:?} {two:?}");
}

/// Another command replaces each node, and at no instant has a slot two processes (D10).
#[test]
fn another_command_replaces_each_node_without_an_overlap() {
    let world = World::new(&servers("web", 3));
    world.expect(0, &["up", "--yes", "FILE"]);
    let before = world.pids();
    world.write(&group("web", 3, r#"["sleep", "86399"]"#));
    let over = AtomicBool::new(false);
    let twins = thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut twins = Vec::new();
            while !over.load(Ordering::Relaxed) {
                twins.extend(world.alive().into_iter().filter(|(_, pids)| pids.len() > 1));
            }
            twins
        });
        let done = world.run(&["up", "--yes", "FILE"]);
        over.store(true, Ordering::Relaxed);
        assert_eq!(done.code, 0, "{done:?}");
        sampler.join().unwrap()
    });
    assert!(twins.is_empty(), "{twins:?}");
    let after = world.pids();
    assert_eq!(slots(&after), slots(&before));
    assert!(after.iter().all(|(slot, pid)| before[slot] != *pid), "{before:?} {after:?}");
    let view = world.status();
    for slot in after.keys() {
        assert_eq!(node(&view, slot)["attempt"], 2, "{slot}");
    }
    let lease = until("the old leases are gone", || {
        let leases = world.leases();
        (leases.len() == 3).then_some(leases)
    });
    assert_eq!(lease, ["web-0.2", "web-1.2", "web-2.2"]);
}
