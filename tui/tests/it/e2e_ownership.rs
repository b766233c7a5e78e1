//! Ownership on the command line: what is shown, what can be pasted, and what a stale handoff changes.

use rustix::process::Signal;

use crate::world::{World, group, node, until_true};

/// R145: the printed command takes an abandoned operation over once, and names what moved the second time.
#[test]
fn an_abandoned_operation_is_handed_over_by_the_printed_command() {
    // A node that never comes up leaves its operation open.
    let mut world = World::new(&group("web", 1, r#"["false"]"#));
    world.drive();
    until_true("the node has failed", || {
        let view = world.status();
        node(&view, "web-0")["last_error"].is_string()
    });
    // Beside a driver nothing is handed over, whatever the lease says.
    let words = |file: &str| {
        let shown = world.json(&["ownership", "status", "--file", file]);
        let lease = shown["leases"][0].clone();
        let text = |name: &str| {
            lease[name].as_str().map_or_else(|| lease[name].to_string(), str::to_owned)
        };
        ["operation", "plan", "fence", "owner", "until"].map(text)
    };
    let [operation, plan, fence, owner, until] = words("FILE");
    let asked = |to: &str| {
        let parts = ["ownership", "handoff", &operation, "--plan", &plan, "--fence", &fence];
        let rest = ["--owner", &owner, "--until", &until, "--to", to, "--file", "FILE"];
        parts.into_iter().chain(rest).map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |world: &World, words: &[String]| {
        world.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let held = run(&world, &asked("resume"));
    assert_eq!(held.code, 71, "{held:?}");
    assert_eq!(world.end_driver(Signal::TERM), 143);
    // It ended in good order: its lease is over, and the command stands ready.
    let shown = world.expect(0, &["ownership", "status", "--file", "FILE"]);
    let next = shown.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    assert!(next.contains("ownership handoff"), "{shown:?}");
    let done = world.paste(next);
    assert_eq!(done.code, 0, "{done:?}");
    let again = world.paste(next);
    assert_eq!(again.code, 70, "{again:?}");
    assert!(again.err.contains("nothing was changed"), "{again:?}");
    // The next driver goes on with it, under a fence above the one of the handoff.
    world.drive();
    let after = world.json(&["ownership", "status", "--file", "FILE"]);
    assert!(after["leases"][0]["fence"].as_u64() > fence.parse::<u64>().ok().map(|n| n + 1));
    assert_eq!(world.end_driver(Signal::TERM), 143);
}
