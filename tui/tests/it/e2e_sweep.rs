//! The driver is killed at many points of an up, of a down, of an update and of its way back; the next start makes good
//! (P2, R84, R123).

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use crate::world::{PATIENCE, World, group, servers, until_true};

/// How many kill points are tried where nothing else is said.
const POINTS_DEFAULT: u32 = 12;
const NODES: u32 = 20;

fn points() -> u32 {
    let given = env::var("LEVELHEAD_SWEEP_POINTS").ok();
    given.map_or(POINTS_DEFAULT, |points| points.parse().unwrap())
}

/// Runs `words` and kills them once `after` is over, unless they end before; true if they were killed.
fn broken_off(world: &World, words: &[&str], after: Duration) -> bool {
    let mut child = world.spawn("broken-off", words);
    let moment = Instant::now() + after;
    while Instant::now() < moment {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

fn timed(world: &World, words: &[&str]) -> Duration {
    let begun = Instant::now();
    world.expect(0, words);
    begun.elapsed()
}

/// What the journal says of `slot`, a line each.
fn told(world: &World, slot: &str) -> String {
    let mut lines = String::new();
    for event in world.events().iter().filter(|event| event["subject"] == slot) {
        writeln!(lines, "{} {} {}", event["at"], event["kind"], event["text"]).unwrap();
    }
    lines
}

/// After an up that was broken off: what lived is adopted, nothing is made twice, nothing is missing.
fn makes_good_up(world: &World, point: u32) {
    let lived: BTreeMap<String, Vec<i32>> = world.alive();
    world.expect(0, &["up", "--yes", "FILE"]);
    let pids = world.pids();
    assert_eq!(pids.len(), NODES as usize, "point {point}: {pids:?}");
    for (slot, before) in lived {
        let now = [pids[&slot]];
        assert_eq!(before, now, "point {point}: {slot} was not adopted: {}", told(world, &slot));
    }
    until_true("each node has one lease", || leases(world) == NODES);
}

/// How many leases there are. The rest of a creation that was broken off stands under a hidden name, and is none.
fn leases(world: &World) -> u32 {
    let named = world.leases().into_iter().filter(|name| !name.starts_with('.'));
    u32::try_from(named.count()).unwrap()
}

fn makes_good_down(world: &World, point: u32) {
    world.expect(0, &["down", "--yes", "FILE"]);
    assert!(world.alive().is_empty(), "point {point}: {:?}", world.alive());
    until_true("no lease is left", || world.leases().is_empty());
}

#[test]
fn a_sweep_of_kills_duplicates_and_loses_nothing() {
    let world = World::new(&servers("web", NODES));
    let (up, down) = (["up", "--yes", "FILE"], ["down", "--yes", "FILE"]);
    let (up_takes, down_takes) = (timed(&world, &up), timed(&world, &down));
    assert!(up_takes < PATIENCE && down_takes < PATIENCE);
    let points = points();
    let mut killed = 0;
    for point in 0..points {
        let share = |whole: Duration| whole * (2 * point + 1) / (2 * points);
        killed += u32::from(broken_off(&world, &up, share(up_takes)));
        makes_good_up(&world, point);
        killed += u32::from(broken_off(&world, &down, share(down_takes)));
        makes_good_down(&world, point);
    }
    assert!(killed >= points, "only {killed} of {} kills came in time", 2 * points);
}

/// Nodes of the sweep over updates: few, since each of its points is an update and its way back.
const UPDATED: u32 = 4;
/// How many kill points of each are tried where nothing else is said.
const UPDATES_DEFAULT: u32 = 3;

/// The nodes of the sweep over updates, of one of two revisions.
fn revision(nth: u32) -> String {
    let command = format!(r#"["sleep", "8639{nth}"]"#);
    let nodes = group("web", UPDATED, &command);
    format!("{nodes}[group.web.policy.update]\nmax_surge = 2\n")
}

/// The open operation of the group, if there is one.
fn open(world: &World) -> Option<String> {
    let view = world.json(&["recovery", "--file", "FILE"]);
    let open = view["operations"].as_array().unwrap();
    open.iter().find(|one| one["group"] == "web").map(|one| one["id"].to_string())
}

/// What the live shape runs, once everything is as it says.
fn runs(world: &World) -> String {
    assert_eq!(world.pids().len(), UPDATED as usize);
    until_true("each node has one lease", || leases(world) == UPDATED);
    world.status()["groups"][0]["command"][1].as_str().unwrap().to_owned()
}

/// An update that is killed is taken back by `recovery rollback`, which is killed as well: whoever comes next goes on
/// back, and forward work is not taken up again.
#[test]
fn a_sweep_of_kills_over_updates_and_their_way_back_loses_nothing() {
    let given = env::var("LEVELHEAD_SWEEP_POINTS").ok();
    let points = given.map_or(UPDATES_DEFAULT, |points| points.parse::<u32>().unwrap() / 4 + 1);
    let world = World::new(&revision(0));
    let up = ["up", "--yes", "FILE"];
    world.expect(0, &up);
    world.write(&revision(1));
    let takes = timed(&world, &up);
    let (mut killed, mut back) = (0, 0);
    for point in 0..points {
        let after = takes * (2 * point + 1) / (2 * points);
        let (old, new) = (1 + point % 2, 2 - point % 2);
        world.write(&revision(old));
        world.expect(0, &up);
        world.write(&revision(new));
        killed += u32::from(broken_off(&world, &up, after));
        let Some(id) = open(&world) else { continue };
        let rollback = ["recovery", "rollback", &id, "--yes", "--file", "FILE"];
        killed += u32::from(broken_off(&world, &rollback, after));
        let shown = || world.json(&["recovery", "show", &id, "--file", "FILE"]);
        if shown()["direction"] == "forward" {
            continue;
        }
        back += 1;
        if open(&world).is_some() {
            world.expect(0, &["recovery", "resume", &id, "--yes", "--file", "FILE"]);
        }
        assert_eq!(shown()["status"], "compensated", "point {point}: {}", shown());
        assert_eq!(runs(&world), format!("8639{old}"), "point {point}");
        let steps = shown()["steps"].as_array().unwrap().clone();
        let turned = steps.iter().position(|step| step["direction"] == "rollback");
        let after = turned.map_or(&[][..], |at| &steps[at..]);
        assert!(after.iter().all(|step| step["direction"] == "rollback"), "point {point}");
    }
    assert!(killed > 0 && back > 0, "{killed} kills came in time, {back} went back");
}
