//! Drift and reasons as a person meets them: on the command line, with real processes.

use std::fs;

use serde_json::Value;

use crate::world::{World, servers};

/// The owner file of a lease.
fn owner(world: &World, lease: &str) -> std::path::PathBuf {
    world.state().join("providers/process").join(lease).join("owner.json")
}

/// R164: a newer controller's mark refuses a plan for its group with 71 and the command that leads on; other groups
/// can be planned, and nothing is touched.
#[test]
fn a_newer_mark_refuses_plans_of_its_group() {
    let world = World::new(&format!("{}{}", servers("db", 1), servers("web", 2)));
    world.expect(0, &["up", "--yes", "FILE"]);
    let pids = world.pids();
    let path = owner(&world, "web-0.1");
    let mut text: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let ours = text["fence"].clone();
    text["fence"] = 99.into();
    fs::write(&path, text.to_string()).unwrap();

    let refused = world.expect(71, &["scale", "web=3", "--dry-run", "--file", "FILE"]);
    assert!(refused.err.contains("web-0: fence:"), "{refused:?}");
    assert!(refused.err.contains("nothing was changed"), "{refused:?}");
    assert!(refused.err.contains("next: levelhead release web-0"), "{refused:?}");
    let plan = world.expect(0, &["scale", "db=2", "--dry-run", "--file", "FILE"]);
    assert!(plan.out.contains("drift: blocker web-0: fence:"), "{plan:?}");
    let json = world.json(&["scale", "db=2", "--dry-run", "--file", "FILE"]);
    let drift = json["drift"].as_array().unwrap().iter().find(|drift| drift["kind"] == "fence");
    assert_eq!(drift.unwrap()["repair"], "refused");
    assert_eq!(world.pids(), pids);

    text["fence"] = ours;
    fs::write(&path, text.to_string()).unwrap();
    world.expect(0, &["scale", "web=3", "--dry-run", "--file", "FILE"]);
}

/// P7, R162: a slot is explained in one line and in full; without a driver it is said that nobody looked.
#[test]
fn a_slot_is_explained_in_one_line_and_in_full() {
    let world = World::new(&servers("web", 2));
    world.expect(0, &["up", "--yes", "FILE"]);
    let short = world.expect(0, &["explain", "web", "--short", "--file", "FILE"]);
    assert_eq!(short.out.lines().count(), 2, "{short:?}");
    assert!(
        short.out.starts_with("web-0: ready; waits for the stable interval; due "),
        "{short:?}"
    );
    let full = world.expect(0, &["explain", "web-0", "--file", "FILE"]);
    for fact in [
        "rung                stabilising",
        "ready since",
        "stable at",
        "lease               web-0.1",
    ] {
        assert!(full.out.contains(fact), "{fact}: {full:?}");
    }
    let json = world.json(&["explain", "web-1", "--file", "FILE"]);
    let view = &json.as_array().unwrap()[0];
    assert_eq!((&view["slot"], &view["rung"]), (&"web-1".into(), &"stabilising".into()));
    let stage = view["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == "stage");
    assert_eq!(stage.unwrap()["text"], "handed-off");
    let unknown = world.expect(65, &["explain", "wbe-0", "--file", "FILE"]);
    assert!(unknown.err.contains("there is no slot or group `wbe-0`"), "{unknown:?}");
    let status = world.expect(0, &["status", "FILE"]);
    assert!(
        status.out.contains("nobody drives it") && !status.out.contains("drift:"),
        "{status:?}"
    );
    let drift = world.json(&["status", "FILE"])["drift"].clone();
    assert_eq!(drift[0]["kind"], "unobserved", "without a driver nothing is claimed: {drift}");
}

/// P6: a lease whose owner file is garbled holds its slot with the name of the file and the way out; the rest goes.
#[test]
fn a_garbled_owner_holds_its_slot_with_the_way_out() {
    let world = World::new(&servers("web", 2));
    world.expect(0, &["up", "--yes", "FILE"]);
    let path = owner(&world, "web-0.1");
    let text = fs::read(&path).unwrap();
    fs::write(&path, "{").unwrap();
    let down = world.expect(72, &["down", "--yes", "FILE"]);
    assert!(down.err.contains("hold web-0: cleanup.refused: "), "{down:?}");
    assert!(down.err.contains(&path.display().to_string()), "{down:?}");
    let way_out = down.err.lines().find_map(|line| line.strip_prefix("next: levelhead ")).unwrap();
    assert!(way_out.starts_with("release web-0 --confirm "), "{down:?}");
    assert_eq!(world.leases(), ["web-0.1"], "the other one went");

    fs::write(&path, text).unwrap();
    let words = way_out.split(" --state-dir ").next().unwrap();
    let words: Vec<&str> = words.split(' ').collect();
    world.expect(0, &words);
    world.expect(0, &["down", "--yes", "FILE"]);
    assert!(world.leases().is_empty());
}
