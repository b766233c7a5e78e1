//! `levelhead recovery` on real processes: listed, shown, gone on with, taken back and closed, with and without a
//! driver, and killed in the middle (R107, R121, R123, R136).

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, group, node, until_true};

const BEFORE: &str = r#"["sleep", "86398"]"#;
const AFTER: &str = r#"["sleep", "86399"]"#;

/// Three nodes whose successors are watched for `observation` before the next may go.
fn web(command: &str, observation: &str) -> String {
    let update =
        format!("[group.web.policy.update]\nmax_surge = 1\nobservation = \"{observation}\"\n");
    format!("{}{update}", group("web", 3, command))
}

/// A run whose update was broken off by a killed driver, with one candidate under watch.
fn broken_off() -> World {
    let mut world = World::new(&web(BEFORE, "1m"));
    world.drive();
    world.until_state("converged");
    world.write(&web(AFTER, "1m"));
    until_true("a candidate is watched", || {
        node(&world.status(), "web-0")["second"]["stage"] == "handed-off"
    });
    world.end_driver(Signal::KILL);
    world
}

fn listed(world: &World) -> Value {
    world.json(&["recovery", "--file", "FILE"])
}

/// The number of the only open operation.
fn only(world: &World) -> String {
    let view = listed(world);
    let open = view["operations"].as_array().unwrap();
    assert_eq!(open.len(), 1, "{view}");
    open[0]["id"].to_string()
}

fn shown(world: &World, id: &str) -> Value {
    world.json(&["recovery", "show", id, "--file", "FILE"])
}

/// R121, R122: what is open is listed with class, lane, owner, fence, goal, way back, and every step.
#[test]
fn what_is_open_is_listed_and_shown() {
    let world = broken_off();
    let id = only(&world);
    let view = listed(&world);
    assert_eq!(view["owner"]["drives"], false, "{view}");
    let one = &view["operations"][0];
    assert_eq!((one["group"].as_str(), one["direction"].as_str()), (Some("web"), Some("forward")));
    assert!(one["back_to"].as_str().unwrap().starts_with("3 nodes of revision "), "{one}");
    assert_eq!(one["modes"], serde_json::json!(["resume", "rollback", "release"]));
    assert_eq!(one["checkpoint"]["lane"], "complete", "{one}");
    let steps = one["steps"].as_array().unwrap();
    let made = steps.iter().find(|step| step["action"] == "CreateLease").unwrap();
    assert_eq!((made["inverse"].as_str(), made["nth"].as_u64()), (Some("DestroyLease"), Some(1)));
    assert_eq!(made["checkpoint"]["class"], "verification");
    assert_eq!(shown(&world, &id)["steps"], one["steps"]);
    let text = world.expect(0, &["recovery", "show", &id, "--file", "FILE"]).out;
    for part in
        ["operation ", "checkpoint web-0:verified: class verification", "undone by DestroyLease"]
    {
        assert!(text.contains(part), "{text}");
    }
    let missing = world.expect(65, &["recovery", "show", "999", "--file", "FILE"]);
    assert!(missing.err.contains("there is no operation 999"), "{missing:?}");
    world.expect(64, &["recovery", "show", "web", "--file", "FILE"]);
}

/// R84, R136: a dry run writes nothing, its command works when it is pasted, a wrong hash is 70, and what served serves
/// again without having been touched.
#[test]
fn what_is_shown_is_taken_back_without_a_driver() {
    let world = broken_off();
    let id = only(&world);
    let before = world.alive();
    let rollback = ["recovery", "rollback", &id, "--file", "FILE"];
    let dry = world.expect(0, &[&rollback[..], &["--dry-run"]].concat());
    assert!(dry.out.contains("web-0  (it stays, and the candidate beside it is ended"), "{dry:?}");
    assert_eq!(only(&world), id);
    let wrong = "0".repeat(64);
    let refused = world.expect(70, &[&rollback[..], &["--confirm", &wrong]].concat());
    assert!(refused.err.contains("nothing was changed"), "{refused:?}");
    assert_eq!(world.alive(), before);
    let next = dry.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    let done = world.paste(next);
    assert_eq!(done.code, 0, "{done:?}");
    let after = world.pids();
    assert!(after.iter().all(|(slot, pid)| before[slot].contains(pid)), "{before:?} {after:?}");
    let view = shown(&world, &id);
    assert_eq!(
        (view["status"].as_str(), view["restored"].as_bool()),
        (Some("compensated"), Some(true))
    );
    assert_eq!(world.paste(next).code, 65, "it is open no more");
    let command = &world.status()["groups"][0]["command"];
    assert_eq!(command, &serde_json::json!(["sleep", "86398"]));
}

/// R107: resumed beside a driver or without one, it goes on under the same operation.
#[test]
fn what_is_resumed_goes_on_under_the_same_operation() {
    let world = broken_off();
    let id = only(&world);
    world.write(&web(AFTER, "100ms"));
    let resume = ["recovery", "resume", &id, "--file", "FILE"];
    let hash = world.json(&[&resume[..], &["--dry-run"]].concat())["hash"].clone();
    let hash = hash.as_str().unwrap();
    let late =
        world.expect(75, &[&resume[..], &["--confirm", hash, "--timeout", "500ms"]].concat());
    assert!(late.err.contains("not converged"), "{late:?}");
    assert_eq!(only(&world), id, "it is the same operation");
}

/// Through the socket of a live driver: taken back while it drives, and closed where it stands.
#[test]
fn a_live_driver_takes_back_what_it_was_told() {
    let mut world = broken_off();
    let before = world.alive();
    world.drive();
    let id = only(&world);
    assert_eq!(listed(&world)["owner"]["drives"], true);
    world.expect(0, &["recovery", "rollback", &id, "--yes", "--file", "FILE"]);
    let after = world.pids();
    assert!(after.iter().all(|(slot, pid)| before[slot].contains(pid)), "{before:?} {after:?}");
    until_true("it is closed", || shown(&world, &id)["status"] == "compensated");
    let again = world.expect(65, &["recovery", "resume", &id, "--yes", "--file", "FILE"]);
    assert!(again.err.contains("is not open"), "{again:?}");
}

/// Beside a driver a confirmation that comes twice has the same answer, whatever it was for.
#[test]
fn what_was_confirmed_beside_a_driver_is_open_no_more() {
    let mut world = broken_off();
    world.drive();
    assert_eq!(world.end_driver(Signal::TERM), 143);
    // It ended in good order: its operation can be taken over, and both ways of that are ready.
    let shown = world.expect(0, &["ownership", "status", "--file", "FILE"]);
    for target in ["--to resume", "--to rollback"] {
        assert!(shown.out.lines().any(|line| line.contains(target)), "{target}: {shown:?}");
    }
    world.drive();
    let id = only(&world);
    let release = ["recovery", "release", &id, "--file", "FILE"];
    let dry = world.expect(0, &[&release[..], &["--dry-run"]].concat());
    let next = dry.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    assert_eq!(world.paste(next).code, 0);
    let again = world.paste(next);
    assert_eq!(again.code, 65, "{again:?}");
    assert!(again.err.contains("is not open"), "{again:?}");
}

/// A release closes the operation and touches nothing; the next driver plans what is missing anew.
#[test]
fn what_is_released_is_closed_where_it_stands() {
    let mut world = broken_off();
    let (id, before) = (only(&world), world.alive());
    world.expect(71, &["recovery", "release", &id, "--file", "FILE"]);
    let dry = world.expect(0, &["recovery", "release", &id, "--dry-run", "--file", "FILE"]);
    let next = dry.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    assert_eq!(world.paste(next).code, 0);
    // Confirmed twice, it is answered like any other that is open no more.
    let again = world.paste(next);
    assert_eq!(again.code, 65, "{again:?}");
    assert!(again.err.contains("is not open"), "{again:?}");
    assert_eq!(world.alive(), before);
    assert_eq!(shown(&world, &id)["status"], "interrupted");
    world.expect(0, &["recovery", "--file", "FILE"]);
    world.write(&web(AFTER, "100ms"));
    world.drive();
    let newer = (id.parse::<u64>().unwrap() + 1).to_string();
    until_true("another operation goes on", || {
        world.run(&["recovery", "show", &newer, "--file", "FILE"]).code == 0
    });
}
