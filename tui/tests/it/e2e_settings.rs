//! A person's own settings, and the console as numbered questions.

use std::{fs, io::Write as _, process::Stdio};

use crate::world::{World, code, ended, servers, until_true};

/// A key that cannot be bound so is refused with its place, before anything is begun.
#[test]
fn settings_that_make_no_sense_are_refused_at_their_place() {
    let world = World::new(&servers("web", 1));
    let path = world.dir().join("mine.toml");
    let named = path.display().to_string();
    fs::write(&path, "[keys.panes]\nproblems = \"p\"\nplam = \"z\"\n").unwrap();
    let shown = world.expect(65, &["config", "show", "--config", &named]);
    assert!(shown.err.contains("mine.toml:3:1: `plam` is no action of `panes`"), "{shown:?}");
    fs::write(&path, "[keys.panes]\nproblems = \"p\"\n").unwrap();
    let clash = world.expect(65, &["config", "show", "--config", &named]);
    assert!(clash.err.contains("mine.toml:2:1: p means `plan` of `panes` as well"), "{clash:?}");
    assert!(clash.err.contains("next: "), "{clash:?}");
    fs::write(&path, b"[keys.panes]\n# caf\xe9\n").unwrap();
    let latin = world.expect(65, &["config", "show", "--config", &named]);
    assert!(latin.err.contains("mine.toml:2:6: this is not UTF-8"), "{latin:?}");
    let gone = world.expect(65, &["config", "show", "--config", "nowhere.toml"]);
    assert!(gone.err.contains("config path"), "{gone:?}");
}

/// What counts is shown with where it comes from; without a file that is the table of the program.
#[test]
fn settings_are_shown_with_where_they_come_from() {
    let world = World::new(&servers("web", 1));
    let usual = world.expect(0, &["config", "path"]).out;
    assert!(usual.trim().ends_with("levelhead/config.toml"), "{usual}");
    let plain = world.expect(0, &["config", "show"]).out;
    assert!(plain.contains("[keys.panes]") && !plain.contains("config.toml"), "{plain}");
    let path = world.dir().join("mine.toml");
    fs::write(&path, "[keys.panes]\nproblems = [\"z\", \"Ctrl-P\"]\n").unwrap();
    let shown = world.expect(0, &["config", "show", "--config", &path.display().to_string()]).out;
    let line = shown.lines().find(|line| line.starts_with("problems")).unwrap();
    assert!(line.contains("[\"z\", \"Ctrl-P\"]") && line.ends_with("mine.toml:2"), "{line}");
    // What is shown can be written back as it is.
    fs::write(&path, &shown).unwrap();
    world.expect(0, &["config", "show", "--config", &path.display().to_string()]);
}

/// Every change is led to by numbers, planned, shown, and confirmed by as much as it asks for.
#[test]
fn an_accessible_console_asks_by_numbers() {
    let world = World::new(&servers("web", 2));
    let file = |name: &str| fs::File::create(world.dir().join(name)).unwrap();
    let mut console = world.command(&["console", "--accessible", "FILE"]);
    console.stdin(Stdio::piped()).stdout(file("lines.out")).stderr(file("asked.err"));
    let mut console = console.spawn().unwrap();
    let mut keys = console.stdin.take().unwrap();
    let asked = || fs::read_to_string(world.dir().join("asked.err")).unwrap();
    until_true("it is up", || world.status()["state"] == "converged");
    let mut say = |text: &str, until: &str| {
        keys.write_all(text.as_bytes()).unwrap();
        until_true(until, || asked().contains(until));
    };
    say("\n", "what to do?");
    say("1\n", "2 of 2 nodes ready");
    say("\n3\n1\n1\n", "type web to apply");
    say("no\n", "nothing was changed");
    say("\n3\n1\n3\n", "apply it?");
    say("1\n", "accepted as generation 2");
    until_true("it is done", || world.status()["ready"] == 3);
    say("\n6\nweb-2\n", "web-2: ");
    say("\n3\n9\n", "9 is none of these");
    say("\n7\n", "quit");
    assert_eq!(code(ended(&mut console)), 0);
    assert!(!asked().contains('\x1b'), "{}", asked());
}
