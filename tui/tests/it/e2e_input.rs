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
    for (from, to) in
        [("\"timeout_ms\":1", "\"timeout_ms\":2"), ("web-0.1.", "web-0.2."), ("{", "")]
    {
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
    world.expect(70, &["apply", "FILE", "--plan", path]);
    world.expect(0, &["down", "--yes", "FILE"]);
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
