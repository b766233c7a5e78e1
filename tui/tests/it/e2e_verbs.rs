//! Each verb that changes a run, by hand of its plan: a dry run shows what it would do and changes nothing, and the
//! hash that it printed does exactly that, once (R84, R85).

use std::fs;

use serde_json::Value;

use crate::{
    census::Census,
    e2e_life::counters,
    world::{World, kill, node, servers, until_true},
};

/// A job that does its work at once.
const SETUP: &str = "[group.setup]\nkind = \"job\"\ncount = 1\n\
                     [group.setup.boot]\ncommand = [\"true\"]\nsettle = \"20ms\"\n";

/// A hash that no plan has.
const NO_PLAN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a run amounts to for whoever asks whether something changed.
fn standing(world: &World) -> (Census, Vec<String>, Option<String>) {
    let journal = world.state().join("journal.db").exists().then(|| counters(world));
    (world.alive(), world.leases(), journal)
}

/// Shows `words`, tries a wrong hash, and carries out what was printed; gives the plan.
fn confirmed(world: &World, words: &[&str], file: &[&str]) -> Value {
    let before = standing(world);
    let with = |more: &[&'static str]| [words, more, file].concat();
    let plan = world.json(&with(&["--dry-run"]));
    let shown = world.expect(0, &with(&["--dry-run"]));
    let wrong = world.expect(70, &with(&["--confirm", NO_PLAN]));
    assert!(wrong.err.contains("what the plan was made from has changed"), "{wrong:?}");
    let asked = world.expect(71, &with(&[]));
    assert_eq!(standing(world), before, "{words:?} changed something before it was confirmed");

    let next = shown.out.lines().find_map(|line| line.strip_prefix("next: "));
    let next = next.unwrap_or_else(|| panic!("{words:?} leads on: {shown:?}"));
    let hash = plan["hash"].as_str().unwrap();
    let leads = format!("levelhead {} --confirm {hash} ", words.join(" "));
    assert!(next.starts_with(&leads), "{next} against {leads}");
    assert!(asked.err.contains(next), "nobody can be asked, and the way on is printed: {asked:?}");
    let done = world.paste(next);
    assert_eq!(done.code, 0, "{next}: {done:?}");
    plan
}

#[test]
fn every_verb_shows_its_plan_and_does_what_its_hash_stands_for() {
    let world = World::new(&format!("{}{SETUP}", servers("web", 2)));
    let named: &[&str] = &["--file", "FILE"];
    let count = |plan: &Value, what: &str| plan[what].as_u64();

    let up = confirmed(&world, &["up"], &["FILE"]);
    assert_eq!(count(&up, "create"), Some(3));
    let first = world.pids();
    assert_eq!(first.len(), 2);

    let stop = confirmed(&world, &["stop", "web"], named);
    assert_eq!((count(&stop, "stop"), world.alive().len()), (Some(2), 0));
    confirmed(&world, &["start", "web-1"], named);
    assert_eq!(world.pids().keys().collect::<Vec<_>>(), ["web-1"]);
    confirmed(&world, &["start", "web"], named);
    let started = world.pids();
    let restart = confirmed(&world, &["restart", "web-0"], named);
    assert_eq!(count(&restart, "restart"), Some(1));
    let restarted = world.pids();
    assert_ne!(restarted["web-0"], started["web-0"]);
    assert_eq!(restarted["web-1"], started["web-1"]);

    let scale = confirmed(&world, &["scale", "web=3"], named);
    assert_eq!((count(&scale, "create"), world.pids().len()), (Some(1), 3));
    let run = confirmed(&world, &["run", "setup"], named);
    assert_eq!(count(&run, "restart"), Some(1));
    assert_eq!(node(&world.status(), "setup-0")["attempt"], 2);
    let rm = confirmed(&world, &["rm", "setup"], named);
    assert_eq!(count(&rm, "destroy"), Some(1));
    assert_eq!(world.status()["groups"].as_array().unwrap().len(), 1);

    let up = confirmed(&world, &["up"], &["FILE"]);
    assert_eq!((count(&up, "create"), count(&up, "destroy")), (Some(1), Some(1)));
    let down = confirmed(&world, &["down"], &["FILE"]);
    assert_eq!(count(&down, "destroy"), Some(3));
    assert!(world.alive().is_empty() && world.leases().is_empty());
}

/// R86, R87: `plan` and `up --dry-run` show one plan, `apply` and `up` carry it out alike, and none is both.
#[test]
fn up_is_plan_and_apply_in_one() {
    let world = World::new(&servers("web", 1));
    let shown = world.json(&["up", "--dry-run", "FILE"]);
    assert_eq!(shown, world.json(&["plan", "FILE"]));
    let hash = shown["hash"].as_str().unwrap();
    world.expect(64, &["up", "--dry-run", "--confirm", hash, "FILE"]);
    world.expect(64, &["up", "--confirm", hash, "--yes", "FILE"]);
    assert!(!world.state().join("journal.db").exists(), "nothing was begun");
    world.expect(0, &["up", "--confirm", hash, "FILE"]);
    let before = standing(&world);
    let again = world.expect(0, &["apply", "--confirm", hash, "FILE"]);
    assert!(again.err.contains("already succeeded"), "{again:?}");
    assert_eq!(standing(&world), before);
}

/// The same of a run that has a driver: a plan that another change overtook does nothing, of `up` and `down` as well.
#[test]
fn what_up_and_down_showed_is_refused_once_something_moved() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    let hash = |words: &[&str]| world.json(words)["hash"].as_str().unwrap().to_owned();
    let down = hash(&["down", "--dry-run", "FILE"]);
    world.expect(0, &["scale", "web=2", "--yes", "--file", "FILE"]);
    let up = hash(&["up", "--dry-run", "FILE"]);
    world.expect(0, &["stop", "web-1", "--yes", "--file", "FILE"]);
    let before = standing(&world);
    for words in [["down", "--confirm", &down, "FILE"], ["up", "--confirm", &up, "FILE"]] {
        let refused = world.expect(70, &words);
        assert!(refused.err.contains("the live generation is 3"), "{refused:?}");
    }
    assert_eq!(standing(&world), before);
    world.expect(64, &["down", "--dry-run", "--confirm", &down, "FILE"]);
    world.expect(64, &["down", "--confirm", &down, "--yes", "FILE"]);
    assert_eq!(standing(&world), before);
}

/// R83: a plan without a look says so, in words and as data; what happened meanwhile is not in it, and it confirms
/// nothing.
#[test]
fn an_offline_plan_looks_at_nothing_and_says_so() {
    let world = World::new(&servers("web", 2));
    world.expect(0, &["up", "--yes", "FILE"]);
    kill(world.pids()["web-1"]);
    until_true("the node is gone", || world.alive().len() == 1);
    let before = standing(&world);
    let unseen = world.json(&["plan", "--offline", "FILE"]);
    assert_eq!((&unseen["offline"], &unseen["empty"]), (&Value::Bool(true), &Value::Bool(true)));
    let seen = world.json(&["plan", "FILE"]);
    assert_eq!((&seen["offline"], &seen["empty"]), (&Value::Bool(false), &Value::Bool(false)));
    let told = world.expect(0, &["plan", "--offline", "FILE"]);
    assert!(told.out.contains("offline: this is what the journal says; nobody looked"), "{told:?}");
    assert!(!told.out.contains("--confirm"), "{told:?}");
    world.write(&servers("web", 3));
    let wider = world.json(&["plan", "--offline", "FILE"]);
    assert_eq!(wider["create"], 1);
    fs::write(world.dir().join("kept.json"), wider.to_string()).unwrap();
    let kept = world.dir().join("kept.json").display().to_string();
    let refused = world.expect(65, &["apply", "--plan", &kept, "FILE"]);
    assert!(refused.err.contains("made without a look"), "{refused:?}");
    world.expect(64, &["plan", "--offline", "--attach", "nowhere.sock", "FILE"]);
    assert_eq!(standing(&world), before);
}
