//! When waiting is over: verbs end when only a person can lead on, name what is not there, and print commands that
//! work as they stand (P6, P7).

use serde_json::Value;

use crate::world::{Done, World, group, node, until, until_true};

const BEFORE: &str = r#"["sleep", "86398"]"#;
const AFTER: &str = r#"["sleep", "86399"]"#;

fn web(command: &str, update: &str) -> String {
    let restart = "[group.web.policy.restart]\nattempts = 2\ninitial = \"10ms\"\ncap = \"20ms\"\n";
    format!("{}{restart}[group.web.policy.update]\n{update}", group("web", 3, command))
}

/// A run whose update is paused after its first node.
fn paused() -> World {
    let slowly = "observation = \"1s\"\n";
    let mut world = World::new(&web(BEFORE, slowly));
    world.drive();
    world.until_state("converged");
    world.write(&web(AFTER, slowly));
    until_true("the first one goes", || world.status()["nodes"][0]["attempt"] == 2);
    world.expect(0, &["update", "web", "--pause", "--yes", "--file", "FILE"]);
    until_true("it is ready", || node(&world.status(), "web-0")["ready"] == true);
    world
}

/// The commands that were printed to go on with, as they stand.
fn printed(done: &Done) -> Vec<String> {
    let next = |line: &str| line.strip_prefix("next: ").map(str::to_owned);
    done.err.lines().chain(done.out.lines()).filter_map(next).collect()
}

/// 72: a verb that waits for a paused update ends, names what is not there, and its command lets the update go on.
#[test]
fn a_verb_does_not_wait_for_a_paused_update() {
    let world = paused();
    let up = world.expect(72, &["up", "--yes", "--timeout", "80s", "FILE"]);
    let told = "not there: web-1 and 1 more: of another revision; the update is paused";
    assert!(up.err.contains(told), "{up:?}");
    let next = printed(&up);
    assert!(next[0].starts_with("levelhead update web --resume --file "), "{next:?}");
    let plan = world.expect(0, &["plan", "FILE"]);
    assert!(!plan.out.contains("replaces"), "{plan:?}");
    let pasted = world.paste(&format!("{} --yes", next[0]));
    assert_eq!(pasted.code, 0, "{pasted:?}");
    assert!(node(&world.status(), "web-2")["attempt"] == 2);
}

/// R175: a node that is restarted in a pause keeps its attempt and its revision, and the plan says so before.
#[test]
fn a_restart_in_a_pause_keeps_the_revision() {
    let world = paused();
    let (view, pids) = (world.status(), world.pids());
    let rows = |view: &Value| node(view, "web-2")["attempt"].clone();
    let dry = world.expect(0, &["restart", "web-2", "--dry-run", "--file", "FILE"]);
    assert!(dry.out.contains("restart  web-2  (it begins anew as it was"), "{dry:?}");
    world.expect(72, &["restart", "web-2", "--yes", "--file", "FILE"]);
    assert_eq!(rows(&world.status()), rows(&view));
    assert_ne!(world.pids()["web-2"], pids["web-2"]);
    let explained = world.json(&["explain", "web-2", "--file", "FILE"]);
    let blocker = &explained[0]["blockers"][0];
    let way_out = blocker["way_out"].as_str().unwrap();
    assert!(way_out.contains("--state-dir") && way_out.contains("--file"), "{explained}");
}

/// P6: a stalled update bars neither fewer nodes nor a stop, and the way out that is printed works as it stands.
#[test]
fn a_stalled_update_bars_only_itself() {
    let update = "on_failure = \"hold\"\n";
    let mut world = World::new(&web(BEFORE, update));
    world.drive();
    world.until_state("converged");
    world.write(&web(r#"["false"]"#, update));
    let held = |view: &Value| {
        view["holds"].as_array().unwrap().iter().any(|hold| hold["subject"] == "web")
    };
    until_true("the update is held", || held(&world.status()));
    let up = world.expect(72, &["up", "--yes", "--timeout", "80s", "FILE"]);
    assert!(up.err.contains("hold web: update.stalled"), "{up:?}");
    world.expect(72, &["stop", "web-1", "--yes", "--file", "FILE"]);
    until_true("it rests", || node(&world.status(), "web-1")["stage"] == "endpoint-known");
    world.expect(72, &["scale", "web=2", "--yes", "--file", "FILE"]);
    until_true("one node is gone", || node(&world.status(), "web-2").is_null());
    let next = until("the way out is printed", || {
        let up = world.run(&["start", "web-1", "--yes", "--file", "FILE"]);
        printed(&up).into_iter().find(|next| next.starts_with("levelhead release web --confirm"))
    });
    // A hash that confirms something else is answered with the command that does it, whole.
    let wrong = "0".repeat(64);
    let stale = world.expect(70, &["release", "web", "--confirm", &wrong, "--file", "FILE"]);
    assert!(stale.err.contains(&next), "{next}: {stale:?}");
    let pasted = world.paste(&next);
    assert_eq!(pasted.code, 0, "{pasted:?}");
    assert!(pasted.out.contains("released web"), "{pasted:?}");
}

/// After a rollback the file says something else than what runs, and `status` says so.
#[test]
fn after_a_rollback_the_file_differs() {
    let world = World::new(&web(BEFORE, "max_surge = 1\n"));
    world.expect(0, &["up", "--yes", "FILE"]);
    assert_eq!(world.status()["file"]["revised"], Value::Array(Vec::new()));
    world.write(&web(r#"["false"]"#, "max_surge = 1\n"));
    world.expect(72, &["up", "--yes", "FILE"]);
    let view = world.status();
    assert_eq!(view["file"]["revised"][0][0], "web", "{view}");
    assert_eq!(view["file"]["revised"][0][2], view["groups"][0]["revision"]);
    let shown = world.expect(0, &["status", "FILE"]);
    assert!(shown.out.contains("says revision "), "{shown:?}");
    let explained = world.expect(0, &["explain", "web-0", "--file", "FILE"]);
    assert!(explained.err.contains("nobody drives it"), "{explained:?}");
}

/// A verb on a group that is not there lists those that are; a job that is switched off is not run silently.
#[test]
fn what_cannot_be_done_says_what_can() {
    let job = "[group.setup]\ncount = 1\nkind = \"job\"\npower = \"off\"\n\
               [group.setup.boot]\ncommand = [\"true\"]\n";
    let world = World::new(&format!("{}{job}", group("web", 1, BEFORE)));
    world.expect(0, &["up", "--yes", "FILE"]);
    let unknown = world.expect(65, &["update", "nope", "--pause", "--yes", "--file", "FILE"]);
    assert!(unknown.err.contains("the groups are: setup, web"), "{unknown:?}");
    let off = world.expect(65, &["run", "setup", "--yes", "--file", "FILE"]);
    assert!(off.err.contains("`setup` is switched off"), "{off:?}");
    assert!(off.err.contains("`levelhead start setup --file "), "{off:?}");
}
