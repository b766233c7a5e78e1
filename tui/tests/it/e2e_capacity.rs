//! Capacity that is declared: refused before the first effect, kept while nodes come and go, and seen in the journal.

use rustix::process::Signal;

use crate::world::{World, node, servers, until, until_true};

fn with_capacity(nodes: u32, groups: &str) -> String {
    format!("[provider.process.capacity]\nnodes = {nodes}\n{groups}")
}

/// R88, R92: a plan that asks for more is refused with what is asked, what is free and who holds it; nothing is done.
#[test]
fn a_plan_beyond_the_capacity_is_refused_before_its_first_effect() {
    let mut world = World::new(&with_capacity(3, &(servers("db", 1) + &servers("web", 1))));
    world.drive();
    world.until_state("converged");
    let before = world.leases();
    let done = world.expect(71, &["scale", "web=3", "--yes", "--file", "FILE"]);
    for words in ["3 nodes asked for", "2 of 3 free", "held by db (1)", "nothing was changed"] {
        assert!(done.err.contains(words), "{words}: {done:?}");
    }
    assert_eq!(world.leases(), before);
    world.expect(0, &["scale", "web=2", "--yes", "--file", "FILE"]);
    let owned = world.json(&["ownership", "status", "--file", "FILE"]);
    let owned = owned["owned"].as_array().unwrap();
    assert_eq!(owned.len(), 3);
    // Each of them went out on evidence that stands in the journal.
    assert!(owned.iter().all(|row| row["admission"]["capacity"]["nodes"] == 3), "{owned:?}");
    assert_eq!(world.end_driver(Signal::TERM), 143);
}

/// R89: a file whose groups ask for more than its provider has is not valid, and says where.
#[test]
fn a_file_beyond_its_capacity_is_refused_with_its_place() {
    let world = World::new(&with_capacity(2, &(servers("db", 1) + &servers("web", 2))));
    let done = world.expect(65, &["validate", "FILE"]);
    assert!(done.err.contains("group `web`") && done.err.contains("1 of 2 free"), "{done:?}");
    assert!(done.err.contains("count = 2"), "{done:?}");
    world.expect(65, &["up", "--yes", "FILE"]);
    assert!(world.leases().is_empty());
}

/// D16: a lease waits until what holds its room is gone, says so, and never takes more than there is.
#[test]
fn a_lease_waits_until_there_is_room() {
    let stubborn = "[group.old]\ncount = 2\n[group.old.boot]\nstop_grace = \"2s\"\nsettle = \"50ms\"\n\
                    command = [\"sh\", \"-c\", \"trap '' TERM; while :; do sleep 1; done\"]\n";
    let mut world = World::new(&with_capacity(2, stubborn));
    world.drive();
    world.until_state("converged");
    world.write(&with_capacity(2, &servers("new", 2)));
    let why = until("a new node waits for room", || {
        let view = world.status();
        let reason = node(&view, "new-0")["reason"].as_str().unwrap_or_default().to_owned();
        reason.contains("no capacity").then_some(reason)
    });
    assert!(why.contains("1 nodes asked for, 0 of 2 free; held by old (2)"), "{why}");
    until_true("the new nodes have taken the place of the old ones", || {
        // What was given back may wait to be swept.
        let mut leases = world.leases();
        leases.retain(|name| !name.starts_with('.'));
        assert!(leases.len() <= 2, "{leases:?}");
        let view = world.status();
        view["state"] == "converged" && view["ready"] == 2 && view["want"] == 2
    });
    assert_eq!(world.end_driver(Signal::TERM), 143);
}
