//! Wrong words and wrong files: the documented exit code, the place of the fault, and nothing done.

use serde_json::Value;

use crate::world::{Done, World, servers};

fn error(done: &Done) -> Value {
    let line = done.err.lines().last().unwrap();
    serde_json::from_str::<Value>(line).unwrap()["error"].clone()
}

/// A file that is not valid is refused with line and column of each fault.
#[test]
fn a_bad_file_is_refused_with_the_place_of_its_faults() {
    let world =
        World::new("[group.web]\ncount = \"many\"\n[group.web.boot]\ncomand = [\"true\"]\n");
    let refused = world.expect(65, &["validate", "FILE"]);
    assert!(refused.err.contains("cluster.toml:5:9"), "{refused:?}");
    assert!(refused.err.contains("cluster.toml:7:1"), "{refused:?}");
    let refused = world.expect(65, &["validate", "FILE", "--json"]);
    let error = error(&refused);
    assert_eq!(error["code"], 65);
    assert!(error["details"].to_string().contains("\"line\":5"), "{error}");
    world.expect(65, &["up", "--yes", "FILE"]);
    assert!(!world.state().exists(), "nothing is written for a file that is not valid");
}

/// R80: a plan that was kept is done as it was shown, and refused if a byte of it was changed; nothing is written.
#[test]
fn a_kept_plan_is_done_and_a_changed_one_refused() {
    let world = World::new(&servers("web", 2));
    let kept = world.expect(0, &["plan", "FILE", "--json"]).out;
    let file = world.file().with_file_name("plan.json");
    let path = file.to_str().expect("a path");
    for (from, to) in [
        ("\"timeout_ms\":1", "\"timeout_ms\":2"),
        ("web-0.1.", "web-0.2."),
        ("{", ""),
        ("\"to\":2", "\"to\":1"),
        ("\"create\":2", "\"create\":1"),
        ("\"kind\":\"create\"", "\"kind\":\"destroy\""),
        ("wanted, and not there", "nothing happens"),
        ("\"unchanged\":0", "\"unchanged\":7"),
        ("\"observed\":\"", "\"observed\":\"{}"),
    ] {
        assert!(kept.contains(from), "{from}: {kept}");
        std::fs::write(&file, kept.replacen(from, to, 1)).expect("written");
        let refused = world.expect(65, &["apply", "FILE", "--plan", path]);
        assert!(refused.err.contains("plan.json"), "{refused:?}");
    }
    world.expect(65, &["apply", "FILE", "--plan", "gone.json"]);
    world.expect(64, &["apply", "FILE"]);
    assert!(!world.state().join("journal.db").exists(), "a refusal leaves no trace");
    std::fs::write(&file, kept).expect("written");
    world.expect(0, &["apply", "FILE", "--plan", path]);
    assert_eq!(world.pids().len(), 2);
    let text = world.expect(0, &["status", "FILE", "--fixture"]).out;
    let lines = text.lines().filter(|line| line.starts_with("web-") && line.contains("lease="));
    assert_eq!(lines.count(), 2, "a line per slot: {text}");
    // R106: done again it changes nothing, and once something else was declared it is used up.
    let again = world.expect(0, &["apply", "FILE", "--plan", path]);
    assert!(again.err.contains("already succeeded"), "{again:?}");
    world.expect(0, &["down", "--yes", "FILE"]);
    world.expect(70, &["apply", "FILE", "--plan", path]);
    assert!(world.pids().is_empty());
}

/// What cannot be read is told as such, and broken syntax hides no fault in silence.
#[test]
fn what_the_next_look_may_find_is_said() {
    let world = World::new("[group.web]\ncount = \n");
    let broken = world.expect(65, &["validate", "FILE"]);
    assert!(broken.err.contains("may hold more"), "{broken:?}");
    let gone = world.expect(65, &["validate", "gone.toml"]);
    assert!(!gone.err.contains("places above"), "{gone:?}");
    assert!(gone.err.contains("next: `levelhead init"), "{gone:?}");
}

/// A run that was never driven has no events, and that is no fault.
#[test]
fn a_run_without_a_journal_has_no_events() {
    let world = World::new(&servers("web", 1));
    assert_eq!(world.expect(0, &["events", "FILE"]).out, "");
}

/// With `--json` stderr is one object, also where a plan was made before the failure.
#[test]
fn a_failure_is_one_object_for_programs() {
    let world = World::new(&servers("web", 1));
    for words in [&["up", "FILE", "--json"][..], &["driver", "gone.toml", "--log-format", "json"]] {
        let refused = world.run(words);
        let value: Value = serde_json::from_str(&refused.err).expect("one object");
        assert_eq!(value["error"]["code"], refused.code, "{refused:?}");
    }
}

/// A file that is gone hides neither its driver nor what it says of it.
#[test]
fn a_file_that_is_gone_does_not_hide_its_run() {
    let mut world = World::new(&servers("web", 1));
    world.drive();
    world.until_state("converged");
    std::fs::remove_file(world.file()).unwrap();
    let told = || world.run(&["status", "FILE", "--json"]);
    crate::world::until_true("the driver noticed it", || {
        let view: Value = serde_json::from_str(&told().out).unwrap_or_default();
        view["driver"].is_object() && view["file"]["problem"].is_string()
    });
    world.write(&servers("web", 1));
}

/// Words that make no sense, files that are not there, groups that nobody declared.
#[test]
fn what_makes_no_sense_has_its_exit_code() {
    let world = World::new(&servers("web", 1));
    world.expect(64, &["fly"]);
    world.expect(64, &["up", "--no-such-option", "FILE"]);
    world.expect(64, &["scale", "web", "--file", "FILE"]);
    world.expect(64, &["apply", "FILE", "--confirm", "not-a-hash"]);
    for words in
        [&["validate", "gone.toml"][..], &["status", "gone.toml"], &["up", "--yes", "gone.toml"]]
    {
        let missing = world.expect(65, words);
        assert!(missing.err.contains("gone.toml"), "{missing:?}");
    }
    world.expect(0, &["validate", "FILE"]);
    world.expect(0, &["up", "--yes", "FILE"]);
    let pids = world.pids();
    let unknown = world.expect(65, &["scale", "wbe=2", "--yes", "--file", "FILE"]);
    assert!(unknown.err.contains("wbe") && unknown.err.contains("web"), "{unknown:?}");
    assert_eq!(world.pids(), pids);
    world.expect(71, &["down", "FILE"]);
    assert_eq!(world.pids(), pids, "nobody could be asked, so nothing was done");
}

/// Whatever speaks JSON gives one document, on success and on failure.
#[test]
fn every_json_form_can_be_read() {
    let world = World::new(&servers("web", 1));
    assert_eq!(world.json(&["plan", "FILE"])["create"], 1);
    assert_eq!(world.json(&["up", "--yes", "FILE"])["state"], "converged");
    assert_eq!(world.json(&["status", "FILE"])["nodes"].as_array().unwrap().len(), 1);
    assert!(!world.events().is_empty());
    assert_eq!(world.json(&["scale", "web=2", "--dry-run", "--file", "FILE"])["create"], 1);
    assert!(!world.json(&["explain", "web-0", "--file", "FILE"]).is_null());
    assert!(world.json(&["validate", "FILE"]).is_object());
    let refused = world.expect(65, &["scale", "wbe=2", "--yes", "--file", "FILE", "--json"]);
    assert_eq!(error(&refused)["code"], 65);
    let missing = world.expect(65, &["status", "gone.toml", "--json"]);
    assert_eq!(error(&missing)["code"], 65);
}
