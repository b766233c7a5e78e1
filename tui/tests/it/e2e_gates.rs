//! Groups that wait for each other, on real processes: up in order, down in reverse, and said so meanwhile.

use std::{collections::BTreeMap, fs, thread};

use serde_json::Value;

use crate::world::{World, node, until};

/// A group whose nodes note in one file of the run when they begin and when they are asked to end.
///
/// The note of the end comes late on purpose: who goes too early is seen.
fn noting(name: &str, count: u32, more: &str) -> String {
    let script = "echo \\\"$0 up\\\" >> \\\"$1\\\"; \
                  trap 'sleep 0.2; echo \\\"$0 down\\\" >> \\\"$1\\\"; exit 0' TERM; \
                  while :; do sleep 0.05; done";
    format!(
        "[group.{name}]\ncount = {count}\n{more}\n[group.{name}.boot]\n\
         command = [\"sh\", \"-c\", \"{script}\", \"{{slot}}\", \"NOTES\"]\nsettle = \"300ms\"\n\
         [group.{name}.policy]\nstable = \"30m\"\n"
    )
}

fn chain(world: &World, counts: [u32; 3]) -> String {
    let groups = [
        noting("db", counts[0], ""),
        noting("app", counts[1], "after = { db = \"ready\" }"),
        noting("front", counts[2], "after = { app = \"ready\" }"),
    ];
    groups.concat().replace("NOTES", &world.dir().join("notes").display().to_string())
}

/// The notes so far, in order: (slot, up or down).
fn notes(world: &World) -> Vec<(String, String)> {
    let text = fs::read_to_string(world.dir().join("notes")).unwrap_or_default();
    let pair = |line: &str| line.split_once(' ').map(|(s, w)| (s.to_owned(), w.to_owned()));
    text.lines().map(|line| pair(line).unwrap()).collect()
}

/// The groups of the notes of one word, each named once, in the order of their first note.
fn order(notes: &[(String, String)], word: &str) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for (slot, _) in notes.iter().filter(|(_, w)| w == word) {
        let group = slot.rsplit_once('-').unwrap().0;
        if groups.last().is_none_or(|last| last != group) {
            groups.push(group.to_owned());
        }
    }
    groups
}

fn reasons(view: &Value) -> BTreeMap<String, String> {
    let nodes = view["nodes"].as_array().unwrap().iter();
    let of = |node: &Value, key: &str| node[key].as_str().unwrap().to_owned();
    nodes.map(|node| (of(node, "slot"), of(node, "reason"))).collect()
}

/// R166 to R168: three groups come up one after another and go down in reverse, and the plan shows it before.
#[test]
fn a_chain_comes_up_in_order_and_goes_in_reverse() {
    let world = World::new("");
    world.write(&chain(&world, [2, 2, 1]));
    let plan = world.json(&["plan", "FILE"]);
    let steps = plan["steps"].as_array().unwrap();
    let create = steps.iter().find(|step| step["key"] == "app-0.1.CreateLease").unwrap();
    let after: Vec<_> =
        create["after"].as_array().unwrap().iter().map(|k| k.as_str().unwrap()).collect();
    let opened = ["db-0.1.BootstrapConvergenceObserved", "db-1.1.BootstrapConvergenceObserved"];
    assert_eq!(after, opened);

    world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(order(&notes(&world), "up"), ["db", "app", "front"]);
    world.expect(0, &["down", "--yes", "FILE"]);
    assert_eq!(order(&notes(&world), "down"), ["front", "app", "db"]);
    assert_eq!(notes(&world).len(), 10);
    assert!(world.alive().is_empty());
}

/// R168: fewer nodes go from the dependents first, and dropped groups as well.
#[test]
fn fewer_nodes_go_from_the_dependents_first() {
    let world = World::new("");
    world.write(&chain(&world, [2, 2, 2]));
    world.expect(0, &["up", "--yes", "FILE"]);
    world.expect(0, &["scale", "db=1", "app=1", "front=1", "--yes", "--file", "FILE"]);
    assert_eq!(order(&notes(&world), "down"), ["front", "app", "db"]);
    fs::remove_file(world.dir().join("notes")).unwrap();
    let alone = world.expect(65, &["rm", "db", "--yes", "--file", "FILE"]);
    assert!(alone.err.contains("group `app` waits for `db`"), "{alone:?}");
    world.expect(0, &["rm", "db", "app", "front", "--yes", "--file", "FILE"]);
    assert_eq!(order(&notes(&world), "down"), ["front", "app", "db"]);
    assert!(world.alive().is_empty());
}

/// R167, P7: who waits says for whom; what runs is not touched when what it depends on falters.
#[test]
fn who_waits_says_so_and_what_runs_stays() {
    let mut world = World::new("");
    world.write(&chain(&world, [1, 1, 0]));
    world.expect(0, &["up", "--yes", "FILE"]);
    world.expect(0, &["stop", "db", "--yes", "--file", "FILE"]);
    let before = world.pids();
    assert_eq!(before.keys().collect::<Vec<_>>(), ["app-0"]);
    let more = world.expect(72, &["scale", "app=2", "--yes", "--file", "FILE"]);
    assert!(more.err.contains("not there: app-1: waits for db (0 of 1 ready, 1 off)"), "{more:?}");
    assert!(more.err.contains("next: levelhead start db --file "), "{more:?}");
    let why = reasons(&world.status());
    assert_eq!(why["app-1"], "waits for db (0 of 1 ready, 1 off)");
    assert_eq!(world.pids(), before);

    world.drive();
    world.expect(0, &["start", "db", "--yes", "--file", "FILE"]);
    let view = world.until_state("converged");
    assert_eq!(node(&view, "app-1")["ready"], true);
    assert_eq!(world.pids()["app-0"], before["app-0"]);
}

/// A gate is passed by the driver alone, however the groups come in: together in one file, or one by one.
#[test]
fn a_gate_opens_under_a_driver() {
    let mut world = World::new("");
    world.write(&chain(&world, [1, 1, 1]));
    world.drive();
    let view = until("everything is ready", || {
        let view = world.status();
        (view["state"] == "converged").then_some(view)
    });
    assert_eq!(view["ready"], 3);
    assert_eq!(order(&notes(&world), "up"), ["db", "app", "front"]);
    thread::scope(|scope| {
        let down = scope.spawn(|| world.expect(0, &["down", "--yes", "FILE"]));
        down.join().unwrap();
    });
    assert_eq!(order(&notes(&world), "down"), ["front", "app", "db"]);
}
