//! Nodes that die and nodes that cannot live, under a driver that keeps the run.

use std::time::Duration;

use serde_json::Value;

use crate::world::{World, group, kill, node, servers, until};

/// A group whose command ends at once with a failure.
fn hopeless(name: &str) -> String {
    let group = group(name, 1, r#"["sh", "-c", "echo cannot live; exit 3"]"#);
    format!("{group}[group.{name}.policy.restart]\nattempts = 3\ninitial = \"200ms\"\njitter = 0\n")
}

/// The command that a line `next: …` names, without the program's name.
fn next_command(text: &str, verb: &str) -> Vec<String> {
    let start = format!("next: levelhead {verb} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start));
    let line = line.unwrap_or_else(|| panic!("no `{start}` in {text}"));
    std::iter::once(verb).chain(line.split(' ')).map(ToOwned::to_owned).collect()
}

fn run(world: &World, words: &[String]) -> crate::world::Done {
    world.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn times(events: &[Value]) -> Vec<u64> {
    let at = |event: &Value| {
        let at = &event["at"];
        at.as_u64().or_else(|| at.as_str()?.parse().ok()).unwrap()
    };
    events.iter().map(at).collect()
}

/// A killed node is noticed, told, and replaced; its siblings do not feel it (P4, D6).
#[test]
fn a_killed_node_is_replaced_and_its_siblings_stay() {
    let mut world = World::new(&servers("web", 3));
    world.expect(0, &["up", "--yes", "FILE"]);
    world.drive();
    world.until_state("converged");
    let before = world.pids();
    kill(before["web-1"]);
    let view = until("web-1 is ready again", || {
        let view = world.status();
        let again = node(&view, "web-1");
        (again["attempt"] == 2 && again["ready"] == true).then_some(view)
    });
    assert_eq!(node(&view, "web-1")["failures"], 1);
    let after = world.pids();
    assert_ne!(after["web-1"], before["web-1"]);
    for sibling in ["web-0", "web-2"] {
        assert_eq!(after[sibling], before[sibling]);
        assert_eq!(node(&view, sibling)["attempt"], 1);
    }
    let told = world.events_of("failure", "web-1");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(world.events_of("failure", "web-0").is_empty());
}

/// A node that fails at once is tried as often as its policy allows, after growing delays, and then held (D5);
/// the others come up (P4); the printed command leaves the hold, and only with the right hash (P6).
#[test]
fn a_node_that_cannot_live_is_held_until_it_is_released() {
    let world = World::new(&format!("{}{}", servers("web", 2), hopeless("bad")));
    let up = world.expect(72, &["up", "--yes", "FILE"]);
    let view = world.status();
    assert_eq!(node(&view, "bad-0")["hold"], "restart.crash-loop", "{view}");
    assert_eq!(node(&view, "bad-0")["failures"], 3);
    assert_eq!(world.pids().keys().collect::<Vec<_>>(), ["web-0", "web-1"]);

    let logs = world.expect(0, &["logs", "bad-0", "--file", "FILE"]);
    assert!(logs.out.contains("cannot live") && logs.err.contains("bad-0.3/"), "{logs:?}");
    let failed = times(&world.events_of("failure", "bad-0"));
    assert_eq!(failed.len(), 3, "{failed:?}");
    let least = |ms: u64| Duration::from_millis(ms);
    let gaps: Vec<Duration> = failed.windows(2).map(|w| least(w[1] - w[0])).collect();
    assert!(gaps[0] >= least(200) && gaps[1] >= least(400), "{gaps:?}");

    let mut words = next_command(&up.err, "release");
    let place = words.iter().position(|word| word == "--confirm").unwrap() + 1;
    let hash = std::mem::replace(&mut words[place], "0".repeat(64));
    let refused = run(&world, &words);
    assert_eq!(refused.code, 70, "{refused:?}");
    assert_eq!(node(&world.status(), "bad-0")["hold"], "restart.crash-loop");
    words[place] = hash;
    let released = run(&world, &words);
    assert_eq!(released.code, 0, "{released:?}");
    assert_eq!(node(&world.status(), "bad-0")["hold"], Value::Null);
    let used = run(&world, &words);
    assert_ne!(used.code, 0, "a hold is left once: {used:?}");

    // The cause is mended, so the slot comes up; the others do not move.
    let before = world.pids();
    world.write(&format!("{}{}", servers("web", 2), servers("bad", 1)));
    world.expect(0, &["up", "--yes", "FILE"]);
    let after = world.pids();
    assert!(before.iter().all(|(slot, pid)| after[slot] == *pid), "{before:?} {after:?}");
    assert_eq!(after.len(), 3);
    world.write(&hopeless("bad"));
    world.expect(72, &["up", "--yes", "FILE"]);
    world.expect(0, &["down", "--yes", "FILE"]);
    until("nothing is left, the kept output neither", || world.leases().is_empty().then_some(()));
}

/// A hold that stands beside a driver is left through that driver, which goes on at once.
#[test]
fn a_release_beside_a_driver_is_taken_up_by_it() {
    let mut world = World::new(&hopeless("bad"));
    world.drive();
    let view = world.until_state("held");
    let shown = world.expect(0, &["release", "bad-0", "--file", "FILE"]);
    let words = next_command(&shown.out, "release");
    let released = run(&world, &words);
    assert_eq!(released.code, 0, "{released:?}");
    let first = node(&view, "bad-0")["attempt"].as_u64().unwrap();
    until("it is tried and held again", || {
        let view = world.status();
        let attempt = node(&view, "bad-0")["attempt"].as_u64().unwrap();
        (attempt >= first + 3 && view["state"] == "held").then_some(())
    });
}
