//! What people write by mistake is answered with the form that is right.

use super::support::{HEAD, WEB, problems};

/// A bad line of a group, and what its hint must say.
fn hinted(rows: &[(&str, &str)]) {
    for (line, hint) in rows {
        let found = problems(&format!("{HEAD}[group.db]\n{WEB}{line}"));
        let told = found.iter().filter_map(|problem| problem.hint.as_deref());
        let told: Vec<&str> = told.collect();
        assert!(told.iter().any(|told| told.contains(hint)), "{line}: {found:#?}");
    }
}

#[test]
fn a_wrong_form_is_answered_with_the_right_one() {
    let update = "[group.web.policy.update]\n";
    hinted(&[
        (&format!("{update}max_surge = \"150%\"\n"), "from \"0%\" to \"100%\""),
        (&format!("{update}max_unavailable = \"99999999999%\"\n"), "from \"0%\" to \"100%\""),
    ]);
    for (line, hint) in [
        ("after = [\"db\"]\n", "write after = { db = \"ready\" }"),
        ("after = \"db\"\n", "write after = { db = \"ready\" }"),
        ("power = false\n", "write power = \"off\""),
        ("power = true\n", "write power = \"on\""),
    ] {
        let text =
            format!("{HEAD}[group.web]\n{line}count = 1\n[group.web.boot]\ncommand = [\"a\"]\n");
        let found = problems(&text);
        let told = found.iter().filter_map(|problem| problem.hint.as_deref());
        assert!(told.into_iter().any(|told| told.contains(hint)), "{line}: {found:#?}");
    }
}
