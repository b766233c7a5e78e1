//! Who names whom: every member's dependencies against its row of the law.

use crate::finding::Finding;
use crate::law::{self, CRATES, CrateLaw, Outside};
use crate::metadata::{Dependency, Edge, Metadata, Package};
use std::collections::BTreeSet;

const RULE: &str = "law";

/// Compares every member with the law, and the law with the members.
pub(crate) fn check(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata.members() {
        let Some(law) = law::of(&package.name) else {
            findings.push(Finding::whole(RULE, &package.name, "has no row in the law table"));
            continue;
        };
        findings.extend(check_ours(package, law));
        findings.extend(check_outside(metadata, package, law));
    }
    for law in &CRATES {
        if !metadata.members().any(|package| package.name == law.name) {
            let message = "stands in the law table but is no member of the workspace";
            findings.push(Finding::whole(RULE, law.name, message));
        }
    }
    findings
}

fn check_ours(package: &Package, law: &CrateLaw) -> Vec<Finding> {
    let ours = package.dependencies.iter().filter(|dep| law::of(&dep.name).is_some());
    // A crate may name itself for its tests: that is how they turn on a feature of it.
    let itself = |dep: &Dependency| dep.name == law.name && !dep.ships();
    let wrong = ours.filter(|dep| !law.may_name.contains(&dep.name.as_str()) && !itself(dep));
    wrong
        .map(|dep| Finding::whole(RULE, law.name, format!("may not name `{}`", dep.name)))
        .collect()
}

fn check_outside(metadata: &Metadata, package: &Package, law: &CrateLaw) -> Vec<Finding> {
    let shipped = package.dependencies.iter().filter(|dep| dep.ships());
    let outside = shipped.filter(|dep| law::of(&dep.name).is_none());
    match law.outside {
        Outside::Only(allowed) => outside.filter_map(|dep| check_only(law, allowed, dep)).collect(),
        Outside::Not(banned) => {
            let wrong = outside.filter(|dep| banned.contains(&dep.name.as_str()));
            let message = |dep: &Dependency| format!("may not depend on `{}`", dep.name);
            wrong.map(|dep| Finding::whole(RULE, law.name, message(dep))).collect()
        }
        Outside::NotEvenThrough(banned) => {
            let reached = shipped_with(metadata, &package.id);
            let wrong = banned.iter().filter(|name| reached.contains(**name));
            let message = |name| format!("may not ship with `{name}`, not even through another");
            wrong.map(|name| Finding::whole(RULE, law.name, message(name))).collect()
        }
    }
}

fn check_only(law: &CrateLaw, allowed: &[&str], dep: &Dependency) -> Option<Finding> {
    if !allowed.contains(&dep.name.as_str()) {
        let message = format!("may ship only with {}, not `{}`", allowed.join(", "), dep.name);
        return Some(Finding::whole(RULE, law.name, message));
    }
    if dep.uses_default_features || dep.features.iter().any(|feature| feature == "std") {
        let message = format!("must take `{}` without its std", dep.name);
        return Some(Finding::whole(RULE, law.name, message));
    }
    None
}

/// The names of all packages that a package is linked with or built by, itself left out.
fn shipped_with<'a>(metadata: &'a Metadata, id: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::from([id]);
    let mut waiting = vec![id];
    while let Some(id) = waiting.pop() {
        let node = metadata.resolve.nodes.iter().find(|node| node.id == id);
        let edges = node.into_iter().flat_map(|node| &node.deps);
        for edge in edges.filter(|edge| ships(edge)) {
            if seen.insert(&edge.pkg) {
                waiting.push(&edge.pkg);
            }
        }
    }
    seen.remove(id);
    seen.iter().filter_map(|id| metadata.package(id)).map(|found| found.name.as_str()).collect()
}

fn ships(edge: &Edge) -> bool {
    edge.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::metadata::tests::graph;
    use crate::metadata::{self, Metadata};
    use crate::shell::Shell;

    /// A lawful workspace, to which each test does one wrong.
    const GOOD: [(&str, &[&str]); 10] = [
        ("tui", &["driver", "ratatui"]),
        ("driver", &["checkpoint", "executor", "reconciler-core", "tokio"]),
        ("checkpoint", &["reconciler-core", "serde"]),
        ("executor", &["reconciler-core", "tokio"]),
        ("reconciler-core", &["serde"]),
        ("xtask", &[]),
        ("serde", &[]),
        ("tokio", &[]),
        ("ratatui", &[]),
        ("proptest", &["tokio"]),
    ];

    fn found(metadata: &Metadata) -> Vec<String> {
        check(metadata).iter().map(ToString::to_string).collect()
    }

    fn with(name: &str, deps: &'static [&'static str]) -> Metadata {
        let mut rows = GOOD;
        for row in &mut rows {
            if row.0 == name {
                row.1 = deps;
            }
        }
        graph(&rows)
    }

    /// Turns all dependencies of one package into dev-dependencies.
    fn only_for_tests(mut metadata: Metadata, name: &str) -> Metadata {
        let dev = Some("dev".to_owned());
        for package in metadata.packages.iter_mut().filter(|package| package.name == name) {
            package.dependencies.iter_mut().for_each(|dep| dep.kind.clone_from(&dev));
        }
        for node in metadata.resolve.nodes.iter_mut().filter(|node| node.id == name) {
            let kinds = node.deps.iter_mut().flat_map(|edge| &mut edge.dep_kinds);
            kinds.for_each(|kind| kind.kind.clone_from(&dev));
        }
        metadata
    }

    /// The law of this very workspace, as cargo sees it.
    #[test]
    fn this_workspace_keeps_the_law() {
        let shell = Shell::at_root().expect("has a root");
        let metadata = metadata::read(&shell).expect("cargo answers");
        assert_eq!(found(&metadata), Vec::<String>::new());
    }

    #[test]
    fn a_lawful_workspace_passes() {
        assert_eq!(found(&graph(&GOOD)), Vec::<String>::new());
    }

    #[test]
    fn a_crate_names_only_what_its_row_lists() {
        let wrong = with("executor", &["reconciler-core", "checkpoint"]);
        assert_eq!(found(&wrong), ["executor: law: may not name `checkpoint`"]);
        let wrong = with("xtask", &["reconciler-core"]);
        assert_eq!(found(&wrong), ["xtask: law: may not name `reconciler-core`"]);
    }

    /// Cross-crate laws live in the driver's tests, so a dev-dependency upwards is wrong as well.
    #[test]
    fn a_test_may_not_name_a_crate_above() {
        let wrong = with("checkpoint", &["driver"]);
        let wrong = only_for_tests(wrong, "checkpoint");
        assert_eq!(found(&wrong), ["checkpoint: law: may not name `driver`"]);
    }

    /// A crate turns on a feature of its own for its tests by naming itself; shipping with itself it cannot.
    #[test]
    fn a_test_may_name_its_own_crate() {
        let itself = with("checkpoint", &["checkpoint", "reconciler-core", "serde"]);
        assert_eq!(found(&itself), ["checkpoint: law: may not name `checkpoint`"]);
        let fine = only_for_tests(itself, "checkpoint");
        assert_eq!(found(&fine), Vec::<String>::new());
    }

    #[test]
    fn core_ships_with_three_crates_and_none_of_their_std() {
        let wrong = with("reconciler-core", &["serde", "tokio"]);
        let want = "reconciler-core: law: may ship only with serde, sha2, thiserror, not `tokio`";
        assert!(found(&wrong).iter().any(|line| line == want));

        let mut wrong = graph(&GOOD);
        let core = wrong.packages.iter_mut().find(|p| p.name == "reconciler-core");
        core.expect("is there").dependencies[0].uses_default_features = true;
        assert_eq!(found(&wrong), ["reconciler-core: law: must take `serde` without its std"]);
    }

    #[test]
    fn the_journal_reaches_no_runtime_not_even_through_another_crate() {
        let wrong = with("checkpoint", &["proptest"]);
        let want = "checkpoint: law: may not ship with `tokio`, not even through another";
        assert_eq!(found(&wrong), [want]);

        let fine = only_for_tests(with("checkpoint", &["proptest"]), "checkpoint");
        assert_eq!(found(&fine), Vec::<String>::new());
    }

    #[test]
    fn the_loop_draws_nothing() {
        let wrong = with("driver", &["ratatui"]);
        assert_eq!(found(&wrong), ["driver: law: may not depend on `ratatui`"]);
    }

    #[test]
    fn table_and_workspace_hold_the_same_crates() {
        let want = "xtask: law: stands in the law table but is no member of the workspace";
        let rows: Vec<_> = GOOD.into_iter().filter(|row| row.0 != "xtask").collect();
        assert_eq!(found(&graph(&rows)), [want]);

        let mut strange = graph(&GOOD);
        strange.workspace_members.push("proptest".to_owned());
        assert_eq!(found(&strange), ["proptest: law: has no row in the law table"]);
    }
}
