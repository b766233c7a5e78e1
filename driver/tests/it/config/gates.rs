//! Gates, kinds and power in the file: what is taken, and what is refused at its place (R79, R89).

use reconciler_core::desired::{GateCondition, GroupKind};

use super::support::{HEAD, checked, problems};

/// A group that is boot alone; its first line is that of its header.
fn group(name: &str, more: &str) -> String {
    format!("[group.{name}]\ncount = 1\n{more}\n[group.{name}.boot]\ncommand = [\"x\"]\n")
}

/// The one problem of a file of these groups: message, line, column, hint.
fn refused(groups: &[String]) -> (String, usize, usize, String) {
    let found = problems(&format!("{HEAD}{}", groups.concat()));
    let [problem] = found.as_slice() else {
        panic!("{} problems instead of one: {found:#?}", found.len());
    };
    let hint = problem.hint.clone().unwrap_or_default();
    (problem.message.clone(), problem.line, problem.column, hint)
}

#[test]
fn gates_kind_and_power_are_read() {
    let web = group("web", "after = { db = \"ready\", setup = \"completed\" }\npower = \"off\"");
    let text = [HEAD.to_owned(), group("db", ""), group("setup", "kind = \"job\""), web].concat();
    let loaded = checked(&text).unwrap();
    let of = |name: &str| loaded.shape.group(&name.parse().unwrap()).unwrap();
    assert_eq!(of("setup").policy.kind, GroupKind::Job);
    assert_eq!(of("db").policy.kind, GroupKind::Service);
    let after: Vec<_> = of("web").policy.after.iter().map(|(on, c)| (on.as_str(), *c)).collect();
    assert_eq!(after, [("db", GateCondition::Ready), ("setup", GateCondition::Completed)]);
    assert!(of("web").power.is_all_off() && of("db").power.is_plain());
    assert_eq!(of("web").revision, of("web").spec.revision(), "none of it is what a node is (C13)");
}

#[test]
fn a_group_cannot_wait_for_what_is_not_there() {
    let web = group("web", "after = { dbb = \"ready\" }");
    let (message, line, column, hint) = refused(&[group("db", ""), web]);
    assert_eq!(message, "group `web` waits for `dbb`, which is not declared");
    assert_eq!((line, column, hint.as_str()), (11, 11, "did you mean `db`?"));
    let far = group("web", "after = { postgres = \"ready\" }");
    assert_eq!(refused(&[group("db", ""), far]).3, "the other groups are `db`");
}

#[test]
fn a_group_cannot_wait_for_itself() {
    let (message, line, column, _) = refused(&[group("web", "after = { web = \"started\" }")]);
    assert_eq!((message.as_str(), line, column), ("group `web` waits for itself", 6, 11));
}

#[test]
fn a_ring_is_named_with_every_group_of_it() {
    let on = |name: &str| format!("after = {{ {name} = \"started\" }}");
    let ring = [group("a", &on("b")), group("b", &on("c")), group("c", &on("a"))];
    let (message, line, column, hint) = refused(&[&ring[..], &[group("d", &on("a"))]].concat());
    assert_eq!(message, "groups wait for each other in a ring: a -> b -> c -> a");
    assert_eq!((line, column), (6, 11));
    assert!(hint.contains("take one of these gates out"), "{hint}");
}

#[test]
fn only_jobs_are_ever_completed() {
    let web = group("web", "after = { db = \"completed\" }");
    let (message, line, column, hint) = refused(&[group("db", ""), web]);
    assert_eq!(message, "`db` is no job, and so is never completed");
    assert_eq!((line, column), (11, 16));
    assert!(hint.contains("kind = \"job\""), "{hint}");
}

#[test]
fn words_that_are_not_known_are_refused() {
    let rows = [
        ("after = { db = \"redy\" }", "nothing can be waited for as `redy`", 16, "\"ready\"?"),
        ("after = { db = 1 }", "expected a string, found a whole number", 16, "\"1\""),
        (
            "after = [\"db\"]",
            "expected a table (names and strings), found an array",
            9,
            "after = { db = \"ready\" }",
        ),
        ("kind = \"batch\"", "unknown kind of group `batch`", 8, "\"job\""),
        ("power = \"down\"", "unknown power `down`", 9, "\"off\""),
        ("powr = \"off\"", "unknown key `powr`", 1, "`power`"),
    ];
    for (more, message, column, hint) in rows {
        let found = refused(&[group("db", ""), group("web", more)]);
        assert_eq!((found.0.as_str(), found.1, found.2), (message, 11, column), "{more}");
        assert!(found.3.contains(hint), "{more}: {}", found.3);
    }
}
