//! Crates that are resolved at several versions: each costs build time, and needs a reason.

use crate::finding::Finding;
use crate::law::{DUPLICATES, Tolerated};
use crate::metadata::Metadata;
use std::collections::{BTreeMap, BTreeSet};

const RULE: &str = "duplicates";

/// Every name that occurs at more than one version, with those versions.
pub(crate) type Repeated<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Finds them.
pub(crate) fn repeated(metadata: &Metadata) -> Repeated<'_> {
    let mut versions = Repeated::new();
    for package in &metadata.packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

/// One duplicate as it is told on each run, so that nobody forgets the list.
pub(crate) fn line(name: &str, versions: &BTreeSet<&str>) -> String {
    let versions: Vec<&str> = versions.iter().copied().collect();
    let reason = tolerated(name).map_or("not tolerated", |row| row.reason);
    format!("duplicate: {name} {} ({reason})", versions.join(", "))
}

/// A duplicate without a row is a finding, and a row without a duplicate too.
pub(crate) fn check(repeated: &Repeated<'_>) -> Vec<Finding> {
    let new = repeated.keys().filter(|name| tolerated(name).is_none());
    let new = new.map(|name| Finding::whole(RULE, name, "is a duplicate without a reason"));
    let stale = DUPLICATES.iter().filter(|row| !repeated.contains_key(row.name));
    let stale = stale.map(|row| {
        Finding::whole(RULE, row.name, "is no duplicate any more: remove its row from the law")
    });
    new.chain(stale).collect()
}

fn tolerated(name: &str) -> Option<&'static Tolerated> {
    DUPLICATES.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::{check, repeated};
    use crate::law::DUPLICATES;
    use crate::metadata::Metadata;
    use crate::metadata::tests::graph;

    fn twice(names: &[&str]) -> Metadata {
        let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (*name, &[] as &[&str])).collect();
        let mut metadata = graph(&rows);
        let mut newer = metadata.packages.clone();
        for package in &mut newer {
            "2.0.0".clone_into(&mut package.version);
        }
        metadata.packages.extend(newer);
        metadata
    }

    fn tolerated() -> Vec<&'static str> {
        DUPLICATES.iter().map(|row| row.name).collect()
    }

    #[test]
    fn tolerated_duplicates_pass() {
        assert_eq!(check(&repeated(&twice(&tolerated()))), Vec::new());
    }

    #[test]
    fn a_new_duplicate_fails() {
        let mut names = tolerated();
        names.push("new-one");
        let found = check(&repeated(&twice(&names)));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["new-one: duplicates: is a duplicate without a reason"]);
    }

    #[test]
    fn a_row_that_nobody_needs_fails() {
        assert_eq!(check(&repeated(&twice(&[]))).len(), DUPLICATES.len());
    }
}
