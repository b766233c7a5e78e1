//! Every error is one clear line, and ends with what helps.

use std::fs;

use crate::world::{Done, World, group, servers};

/// What a person reads last.
fn last(done: &Done) -> &str {
    done.err.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

#[track_caller]
fn helps(done: &Done, words: &[&str]) {
    assert!(done.code >= 64, "{words:?}: {done:?}");
    let told = done.err.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(told, 1, "{words:?}: {done:?}");
    assert!(last(done).starts_with("next: "), "{words:?} ends without what helps: {done:?}");
}

/// Without a driver, on a run that is not there, with wrong names, wrong hashes and wrong files.
#[test]
fn every_error_ends_with_what_helps() {
    let world = World::new(&servers("web", 1));
    let wrong = "0".repeat(64);
    let wrong = wrong.as_str();
    for words in [
        &["wait", "FILE"][..],
        &["watch", "FILE"],
        &["apply", "--confirm", wrong, "FILE"],
        &["apply", "--plan", "missing.json", "FILE"],
        &["scale", "nope=2", "--yes", "--file", "FILE"],
        &["scale", "web=2", "--detach", "--yes", "--file", "FILE"],
        &["scale", "web=2", "--file", "FILE"],
        &["stop", "nope-0", "--yes", "--file", "FILE"],
        &["run", "web", "--yes", "--file", "FILE"],
        &["rm", "nope", "--yes", "--file", "FILE"],
        &["update", "nope", "--pause", "--yes", "--file", "FILE"],
        &["update", "web", "--rollback", "--yes", "--file", "FILE"],
        &["explain", "nope-0", "--file", "FILE"],
        &["logs", "nope-0", "--file", "FILE"],
        &["release", "web-0", "--file", "FILE"],
        &["release", "nope", "--file", "FILE"],
        &["recovery", "show", "9", "--file", "FILE"],
        &["recovery", "resume", "9", "--yes", "--file", "FILE"],
        &["recovery", "rollback", "9", "--yes", "--file", "FILE"],
        &["recovery", "release", "9", "--yes", "--file", "FILE"],
        &["status", "missing.toml"],
        &["up", "--yes", "missing.toml"],
        &["console", "FILE"],
        &["console", "--replay", "missing", "FILE"],
        &["init", "FILE"],
        &["doctor", "--provider", "nope", "--file", "FILE"],
        &["status", "--attach", "/nowhere/control.sock", "FILE"],
        &["driver", "--attach", "/nowhere/control.sock", "FILE"],
        &["export", "--write", "missing.toml"],
    ] {
        helps(&world.run(words), words);
    }
}

/// The same of a run that is there: a driver has it, something is held, and what is asked for makes no sense now.
#[test]
fn errors_beside_a_driver_end_with_what_helps() {
    let mut world =
        World::new(&format!("{}{}", servers("web", 1), group("bad", 1, r#"["false"]"#)));
    world.drive();
    let wrong = "0".repeat(64);
    let wrong = wrong.as_str();
    for words in [
        &["driver", "FILE"][..],
        &["apply", "--confirm", wrong, "FILE"],
        &["scale", "nope=2", "--yes", "--file", "FILE"],
        &["release", "web-0", "--file", "FILE"],
        &["explain", "nope", "--file", "FILE"],
        &["logs", "web-7", "--file", "FILE"],
        &["recovery", "rollback", "999", "--yes", "--file", "FILE"],
        &["events", "--after", "999999", "FILE"],
        &["wait", "--for", "generation=9", "--timeout", "300ms", "FILE"],
        &["wait", "--for", "ready=nope", "--timeout", "300ms", "FILE"],
        &["journal", "quarantine", "--confirm", wrong],
    ] {
        let done = world.run(words);
        if words.contains(&"--after") && done.code == 0 {
            continue;
        }
        helps(&done, words);
    }
}

/// A file with errors names each place, and then what checks it again.
#[test]
fn a_wrong_file_ends_with_what_helps() {
    let world = World::new(&servers("web", 1));
    let text = fs::read_to_string(world.file()).unwrap();
    world.write_raw(&text.replace("count = 1", "cuont = 1"));
    for words in [&["validate", "FILE"][..], &["plan", "FILE"], &["up", "--yes", "FILE"]] {
        let done = world.run(words);
        assert_eq!(done.code, 65, "{done:?}");
        assert!(done.err.contains("cuont"), "{done:?}");
        assert!(last(&done).starts_with("next: ") || last(&done).contains("help"), "{done:?}");
    }
}
