//! The guardrails of the file: what they mean, and what is refused where.

use reconciler_core::{
    desired::{Deed, Demand, Guardrail},
    id::GroupId,
};

use super::support::{HEAD, WEB, checked, problems};

fn text(lines: &str) -> String {
    format!("{HEAD}{WEB}[[guardrail]]\n{lines}")
}

fn read(lines: &str) -> Vec<Guardrail> {
    let loaded = checked(&text(lines)).unwrap_or_else(|error| panic!("{}", error.render(false)));
    loaded.shape.guardrails().to_vec()
}

#[test]
fn every_key_of_a_guardrail_is_read() {
    assert!(checked(&format!("{HEAD}{WEB}")).unwrap().shape.guardrails().is_empty());
    let read = read(
        "group = \"web\"\ndeny = [\"destroy\", \"replace\"]\nconfirm = \"name\"\nmax_destroy = 2\n\
         reason = \"it holds the accounts\"\n\
         [[guardrail]]\nconfirm = \"yes\"\nreason = \"look twice\"\n",
    );
    let [one, two] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!(one.group.as_ref().map(GroupId::as_str), Some("web"));
    assert_eq!(one.deny.iter().copied().collect::<Vec<_>>(), [Deed::Replace, Deed::Destroy]);
    assert_eq!((one.confirm, one.max_destroy), (Some(Demand::Name), Some(2)));
    assert_eq!(one.reason, "it holds the accounts");
    assert_eq!((two.group.as_ref(), two.confirm), (None, Some(Demand::Yes)));
}

/// A guardrail says how a node is treated, and replaces none.
#[test]
fn no_guardrail_makes_another_revision() {
    let revision = |text: &str| checked(text).unwrap().shape.groups().next().unwrap().revision;
    let plain = revision(&format!("{HEAD}{WEB}"));
    assert_eq!(revision(&text("max_destroy = 1\nreason = \"few\"\n")), plain);
}

#[test]
fn what_makes_no_sense_is_refused_at_its_place() {
    // The guardrail begins in line 9.
    for (lines, line, column, word) in [
        ("deny = [\"destroy\"]\n", 9, 1, "`reason` is missing"),
        ("reason = \"x\"\n", 9, 1, "asks for nothing"),
        ("reason = \"x\"\ndeny = [\"drown\"]\n", 11, 9, "`drown` is nothing that a plan does"),
        ("reason = \"x\"\ndeny = []\n", 11, 8, "an empty list denies nothing"),
        ("reason = \"x\"\nconfirm = \"maybe\"\n", 11, 11, "unknown way to confirm"),
        ("reason = \"x\"\nmax_destroy = -1\n", 11, 15, "too small"),
        ("reason = \"x\"\ngroup = \"wob\"\ndeny = [\"stop\"]\n", 11, 9, "there is no group `wob`"),
        ("reason = \"\"\nmax_destroy = 1\n", 10, 10, "the reason is empty"),
        ("reason = \"a\\nb\"\nmax_destroy = 1\n", 10, 10, "several lines"),
        ("reason = \"x\"\nmax_destroys = 1\n", 11, 1, "unknown key `max_destroys`"),
    ] {
        let found = problems(&text(lines));
        let told = found.iter().any(|problem| {
            (problem.line, problem.column) == (line, column) && problem.message.contains(word)
        });
        assert!(told, "{lines}: {found:?}");
    }
    let many = "max_destroy = 1\nreason = \"x\"\n[[guardrail]]\n".repeat(100);
    let found = problems(&text(&format!("{many}max_destroy = 1\nreason = \"x\"\n")));
    assert!(found.iter().any(|problem| problem.message.contains("101 guardrails")), "{found:?}");
    assert!(!problems(&format!("{HEAD}guardrail = 3\n{WEB}")).is_empty());
}
