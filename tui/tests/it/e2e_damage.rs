//! Rows of a journal that nobody can read, met on the command line: named, kept from harm, and mended by what is printed
//! (R120, R196, P4, P6).

use rustix::process::Signal;

use crate::world::{World, group, node, until_true};

/// Three nodes whose update was broken off by a killed driver, with one candidate under watch.
fn broken_off() -> World {
    let web = |seconds: u32| {
        let update = "[group.web.policy.update]\nmax_surge = 1\nobservation = \"1m\"\n";
        format!("{}{update}", group("web", 3, &format!("[\"sleep\", \"{seconds}\"]")))
    };
    let mut world = World::new(&web(86_396));
    world.drive();
    world.until_state("converged");
    world.write(&web(86_397));
    until_true("a candidate is watched", || {
        node(&world.status(), "web-0")["second"]["stage"] == "handed-off"
    });
    world.end_driver(Signal::KILL);
    world
}

/// Changes rows of the journal behind the program's back.
fn spoil(world: &World, sql: &str) {
    let db = rusqlite::Connection::open(world.state().join("journal.db")).unwrap();
    assert_eq!(db.execute(sql, []).unwrap(), 1, "{sql}");
}

/// R120, R196: an operation that nobody can read is listed, shown and refused with the way out; a dry run of that
/// writes nothing, the printed command closes it without touching a node, and then the journal is whole.
#[test]
fn an_unreadable_operation_is_led_out_of_by_what_is_printed() {
    for (damage, why) in [
        ("direction = 'sideways'", "`sideways` is no direction"),
        ("checkpoint = 'half-done'", "checkpoint `half-done` is not known"),
    ] {
        let world = broken_off();
        let alive = world.alive();
        spoil(&world, &format!("UPDATE operation SET {damage} WHERE status = 'active'"));
        let bad = world.expect(73, &["journal", "verify"]).out;
        assert!(bad.contains("degraded       operation  2") && bad.contains(why), "{bad}");
        for words in [&["recovery"][..], &["recovery", "show", "2"]] {
            let shown = world.expect(0, &[words, &["--file", "FILE"]].concat()).out;
            assert!(shown.contains(why), "{shown}");
            assert!(shown.contains("  can be: release\n"), "nothing else: {shown}");
        }
        let shown = world.json(&["recovery", "show", "2", "--file", "FILE"]);
        assert_eq!(shown["modes"], serde_json::json!(["release"]), "{shown}");
        for verb in ["resume", "rollback"] {
            let words = ["recovery", verb, "2", "--dry-run", "--file", "FILE"];
            let refused = world.expect(71, &words);
            assert!(refused.err.contains("recovery release 2"), "{refused:?}");
        }
        let release = ["recovery", "release", "2", "--dry-run", "--file", "FILE"];
        let dry = world.expect(0, &release).out;
        let wrong = ["recovery", "release", "2", "--confirm", &"0".repeat(64), "--file", "FILE"];
        let refused = world.expect(70, &wrong);
        assert!(refused.err.contains("nothing was changed"), "{refused:?}");
        assert_eq!(world.expect(73, &["journal", "verify"]).out, bad, "neither wrote anything");
        let next = dry.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
        let done = world.paste(next);
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(world.alive(), alive, "no node was touched");
        let left = world.json(&["recovery", "--file", "FILE"]);
        assert_eq!(
            (&left["operations"], &left["unread"]),
            (&serde_json::json!([]), &serde_json::json!([]))
        );
        let closed = world.json(&["recovery", "show", "2", "--file", "FILE"]);
        assert_eq!(closed["status"], "interrupted", "{closed}");
        world.expect(0, &["journal", "verify"]);
    }
}

/// P4, R96: one row of ownership that nobody can read is named and left out, stops no driver, and is made anew by it.
#[test]
fn a_bad_ownership_row_is_named_and_made_anew_by_the_next_driver() {
    let mut world = World::new(&group("web", 2, r#"["sleep", "86395"]"#));
    world.expect(0, &["up", "--yes", "FILE"]);
    let pids = world.pids();
    spoil(&world, "UPDATE ownership SET sum = sum + 1 WHERE slot = 'web-1'");
    let bad = world.expect(73, &["journal", "verify"]).out;
    assert!(bad.contains("degraded       ownership  web-1"), "{bad}");
    let status = ["ownership", "status", "--file", "FILE"];
    let shown = world.expect(0, &status);
    assert!(shown.out.contains("web-0 ") && !shown.out.contains("web-1 "), "{shown:?}");
    let view = world.json(&status);
    assert_eq!(view["unreadable"][0]["slot"], "web-1", "{view}");
    world.drive();
    let view = world.json(&status);
    let slots: Vec<_> = view["owned"].as_array().unwrap().iter().map(|row| &row["slot"]).collect();
    assert_eq!(slots, ["web-0", "web-1"], "{view}");
    assert_eq!(view["unreadable"], serde_json::json!([]));
    world.expect(0, &["journal", "verify"]);
    world.until_state("converged");
    assert_eq!(world.pids(), pids);
    assert_eq!(world.end_driver(Signal::TERM), 143);
}
