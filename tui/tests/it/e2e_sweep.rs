//! The driver is killed at many points of an up and of a down; the next start makes good (P2, R84).

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use crate::world::{PATIENCE, World, servers, until_true};

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
    // The rest of a creation that was broken off stands under a hidden name, and is no lease.
    let leases = || world.leases().into_iter().filter(|name| !name.starts_with('.')).count();
    until_true("each node has one lease", || leases() == NODES as usize);
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
