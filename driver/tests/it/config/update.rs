//! The update policy of the file: what it means, and what is refused where (R170, C10).

use reconciler_core::desired::{Amount, OnFailure, UpdateMode, UpdatePolicy};
use reconciler_core::time::Millis;

use super::support::{HEAD, WEB, checked, problems};

fn read(lines: &str) -> UpdatePolicy {
    let text = format!("{HEAD}{WEB}[group.web.policy.update]\n{lines}");
    let loaded = checked(&text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let group = loaded.shape.groups().next().expect("a group").clone();
    group.policy.update.clone()
}

#[test]
fn one_at_a_time_is_what_nothing_said_means() {
    assert_eq!(read(""), UpdatePolicy::default());
    let loaded = checked(&format!("{HEAD}{WEB}")).expect("a sound file");
    let group = loaded.shape.groups().next().expect("a group").clone();
    let update = &group.policy.update;
    assert_eq!((update.mode, update.surge(5), update.unavailable(5)), (UpdateMode::Rolling, 0, 1));
}

#[test]
fn who_may_add_one_need_not_take_one_away() {
    let update = read("max_surge = 1\n");
    assert_eq!((update.surge(3), update.unavailable(3)), (1, 0));
    let both = read("max_surge = \"25%\"\nmax_unavailable = \"50 %\"\n");
    assert_eq!((both.max_surge, both.max_unavailable), (Amount::Percent(25), Amount::Percent(50)));
    assert_eq!((both.surge(3), both.unavailable(3)), (1, 1));
}

#[test]
fn every_key_is_read() {
    let update = read(
        "mode = \"recreate\"\nprogress_deadline = \"10m\"\nobservation = \"30s\"\non_failure = \"hold\"\n",
    );
    assert_eq!(update.mode, UpdateMode::Recreate);
    assert_eq!(update.progress_deadline, Millis::from_secs(600));
    assert_eq!(update.observation, Millis::from_secs(30));
    assert_eq!(update.on_failure, OnFailure::Hold);
}

/// How an update goes is treatment: no key of it makes another revision (C13).
#[test]
fn no_key_of_it_replaces_a_node() {
    let revision = |text: &str| {
        let loaded = checked(text).expect("a sound file");
        loaded.shape.groups().next().expect("a group").revision
    };
    let plain = format!("{HEAD}{WEB}");
    let other = format!("{plain}[group.web.policy.update]\nmax_surge = 2\nobservation = \"1s\"\n");
    assert_eq!(revision(&plain), revision(&other));
}

#[test]
fn a_budget_that_can_never_end_is_refused_at_its_place() {
    let rows = [
        ("max_unavailable = 0\n", "are both zero", 10, 19),
        ("max_surge = 0\nmax_unavailable = \"0%\"\n", "are both zero", 11, 19),
        ("mode = \"sideways\"\n", "unknown update mode `sideways`", 10, 8),
        ("on_failure = \"cry\"\n", "unknown end of a failed update", 10, 14),
        ("max_surge = \"much\"\n", "is not a share of the group", 10, 13),
        ("max_surge = \"101%\"\n", "is more than the whole group", 10, 13),
        ("max_surge = 1.5\n", "expected a number of nodes or a share, found a float", 10, 13),
        ("max_surge = -1\n", "`max_surge` is too small", 10, 13),
        ("mode = \"recreate\"\nmax_surge = 1\n", "has no meaning", 11, 13),
        ("mode = \"recreate\"\nmax_unavailable = 1\n", "has no meaning", 11, 19),
        ("progress_deadline = \"0s\"\n", "`progress_deadline` is zero", 10, 21),
        ("observation = \"5m\"\n", "would run out of time", 10, 15),
        ("progress_deadline = \"250ms\"\n", "before its first node can have joined", 10, 21),
        ("max_serge = 1\n", "unknown key `max_serge`", 10, 1),
    ];
    for (lines, message, line, column) in rows {
        let found = problems(&format!("{HEAD}{WEB}[group.web.policy.update]\n{lines}"));
        let [problem] = found.as_slice() else { panic!("{lines}: {found:#?}") };
        assert!(problem.message.contains(message), "{lines}: {}", problem.message);
        assert_eq!((problem.line, problem.column), (line, column), "{lines}");
        assert!(problem.hint.is_some(), "{lines} gives no hint");
    }
}
