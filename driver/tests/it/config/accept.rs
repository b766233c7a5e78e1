//! What is accepted, and what becomes of it; the starter file, write-back and comparison.

use std::collections::BTreeMap;

use driver::config::{Confirm, WriteBackError, differs, starter, with_counts};
use reconciler_core::{
    desired::Policy,
    id::{GroupId, RunName, Uuid},
    time::Millis,
};

use super::support::{HEAD, WEB, checked};

const EXAMPLE: &str = include_str!("../../../../examples/local.toml");

fn group(name: &str) -> GroupId {
    name.parse().expect("a group name")
}

fn starter_text() -> String {
    let run: RunName = "local".parse().expect("a run name");
    let uuid: Uuid = "6c1f3a52-8f0b-4b9e-9d4e-2a7c51e0d9b4".parse().expect("a UUID");
    starter(&run, uuid)
}

#[test]
fn the_starter_file_is_valid_and_declares_five_nodes() {
    let loaded = checked(&starter_text()).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let counts: Vec<_> = loaded.shape.groups().map(|g| (g.group.to_string(), g.count)).collect();
    assert_eq!(counts, [("web".to_owned(), 3), ("worker".to_owned(), 2)]);
    assert_eq!(loaded.shape.run.as_str(), "local");
    assert_eq!((loaded.confirm, loaded.parallelism), (Confirm::Auto, 16));
    assert_eq!(loaded.digest.len(), 64);
    // What the starter writes out is what is assumed anyway, so that removing a line changes nothing.
    let web = loaded.shape.group(&group("web")).expect("web is declared");
    assert_eq!(*web.policy, Policy::default());
}

#[test]
fn the_starter_file_stays_valid_when_its_examples_are_taken_up() {
    let text = starter_text()
        .replace("# [provider.cloud]\n# kind", "[provider.cloud]\nkind")
        .replace("# program", "program")
        .replace("# verify", "verify")
        .replace("# workdir", "workdir")
        .replace("# max_lost", "max_lost")
        .replace("[group.worker]\n", "[group.worker]\nprovider = \"cloud\"\n");
    let (above, below) = text.split_once("# [group.worker.shape]").expect("a shape to take up");
    let text = format!("{above}[group.worker.shape]{}", below.replace("\n# ", "\n"));
    let loaded = checked(&text).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let worker = loaded.shape.group(&group("worker")).expect("worker is declared");
    let shape = &worker.spec.shape;
    assert_eq!((shape.cpu_millis, shape.memory_mib), (Some(500), Some(512)));
    assert_eq!((shape.disk_gib, shape.gpus), (Some(10), Some(1)));
    assert_eq!(loaded.providers.len(), 2);
}

#[test]
fn the_example_is_the_starter_file() {
    assert_eq!(EXAMPLE, starter_text());
}

#[test]
fn every_setting_reaches_the_shape() {
    let text = format!(
        "{HEAD}confirm = \"manual\"\nparallelism = 0x20\n{WEB}workdir = \"/srv\"\n\
         env = {{ A = \"{{port:http}}\" }}\nsettle = \"1s\"\nstop_grace = \"2s\"\n\
         verify = [{{ command = [\"test\", \"-e\", \"x\"] }}]\n\
         [group.web.policy]\nstable = \"1m 30s\"\nmax_lost_per_pass = 2\n\
         restart = {{ attempts = 7, initial = \"2s\", cap = \"3s\", jitter = 0 }}\n\
         timeouts = {{ create = \"1s\", endpoint = \"2s\", bootstrap = \"1m\", cancel = \"4s\", destroy = \"5s\" }}\n"
    );
    let loaded = checked(&text).unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert_eq!((loaded.confirm, loaded.parallelism), (Confirm::Manual, 32));
    let web = loaded.shape.group(&group("web")).expect("web is declared");
    assert_eq!((web.spec.role.as_str(), web.spec.provider.as_str()), ("web", "process"));
    let boot = &web.spec.boot;
    assert_eq!(boot.workdir.as_deref(), Some("/srv"));
    // The placeholder stays as it is written: the revision must not depend on the machine.
    assert_eq!(boot.env.get("A").map(String::as_str), Some("{port:http}"));
    assert_eq!(boot.verify[0].timeout, Millis::from_secs(30));
    let policy = &web.policy;
    assert_eq!((policy.settle, policy.stable), (Millis::from_secs(1), Millis::from_secs(90)));
    assert_eq!((policy.stop_grace, policy.max_lost_per_pass), (Millis::from_secs(2), Some(2)));
    let restart = &policy.restart;
    assert_eq!((restart.attempts, restart.jitter_percent), (7, 0));
    assert_eq!((restart.initial, restart.cap), (Millis::from_secs(2), Millis::from_secs(3)));
    let timeouts = &policy.timeouts;
    let all = [timeouts.create, timeouts.endpoint, timeouts.bootstrap, timeouts.cancel];
    assert_eq!(all, [1, 2, 60, 4].map(Millis::from_secs));
    assert_eq!(timeouts.destroy, Millis::from_secs(5));
}

/// C13: how a node is treated never replaces it.
#[test]
fn a_change_of_policy_keeps_the_revision() {
    let plain = checked(&format!("{HEAD}{WEB}")).expect("a sound file");
    let other = checked(&format!("{HEAD}{WEB}settle = \"9s\"\n")).expect("a sound file");
    let changed = checked(&format!("{HEAD}{WEB}env = {{ A = \"b\" }}\n")).expect("a sound file");
    let revision = |loaded: &driver::config::Loaded| {
        loaded.shape.group(&group("web")).map(|group| group.revision)
    };
    assert_eq!(revision(&plain), revision(&other));
    assert_ne!(revision(&plain), revision(&changed));
    assert_ne!(plain.digest, other.digest);
}

#[test]
fn braces_that_are_no_placeholders_are_the_workload_s_own() {
    let text = format!(
        "{HEAD}{WEB}env = {{ JSON = '{{\"a\": {{}}}}', SHELL_LIKE = \"${{HOME}} {{ }}\" }}\n"
    );
    assert!(checked(&text).is_ok());
}

/// D14: write-back keeps every comment and the layout; with CRLF line ends as well.
#[test]
fn write_back_changes_the_counts_and_nothing_else() {
    let counts = BTreeMap::from([(group("web"), 10), (group("worker"), 0)]);
    for text in [starter_text(), starter_text().replace('\n', "\r\n")] {
        let expected =
            text.replacen("count = 3 ", "count = 10 ", 1).replacen("count = 2", "count = 0", 1);
        let written = with_counts(&text, &counts).expect("both groups stand in the file");
        assert_eq!(written, expected);
        let again = checked(&written).expect("it stays valid");
        assert_eq!(again.shape.group(&group("web")).map(|g| g.count), Some(10));
        assert_eq!(with_counts(&written, &counts).expect("again"), written);
    }
    let inline = "group = { a = { count = 0x1 }, b = { count = 2 } } # both\n";
    let counts = BTreeMap::from([(group("a"), 1), (group("b"), 7)]);
    let written = with_counts(inline, &counts).expect("both stand there");
    assert_eq!(written, "group = { a = { count = 0x1 }, b = { count = 7 } } # both\n");
}

#[test]
fn write_back_refuses_what_has_no_place() {
    let one = |name: &str, count| BTreeMap::from([(group(name), count)]);
    let text = "[group.a]\ncount = \"1\"\n[group.b]\ncount = 1\n";
    assert!(matches!(with_counts(text, &one("c", 1)), Err(WriteBackError::NoGroup(_))));
    assert!(matches!(with_counts(text, &one("a", 1)), Err(WriteBackError::NoCount(_))));
    assert!(matches!(with_counts(text, &one("b", 100_001)), Err(WriteBackError::TooLarge { .. })));
    assert!(matches!(with_counts("= 1", &one("b", 1)), Err(WriteBackError::Syntax(_))));
}

#[test]
fn the_file_and_the_live_shape_are_compared_by_count() {
    let file = checked(&starter_text()).expect("a sound file").shape;
    assert_eq!(differs(&file.counts(), &file.counts()), []);
    let live = file.with_counts(&BTreeMap::from([(group("web"), 5)])).expect("within the limit");
    assert_eq!(differs(&file.counts(), &live.counts()), [(group("web"), 3, 5)]);
    let fewer = checked(&format!("{HEAD}{WEB}")).expect("a sound file").shape;
    assert_eq!(
        differs(&fewer.counts(), &file.counts()),
        [(group("web"), 1, 3), (group("worker"), 0, 2)]
    );
}
