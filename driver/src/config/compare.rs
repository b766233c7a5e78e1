//! Where the file and the live shape differ: in counts, and in what a node is (D14).

use std::collections::{BTreeMap, BTreeSet};

use reconciler_core::{desired::ClusterShape, id::GroupId};

/// The groups whose counts differ, each with the file's count and the live one; an absent group counts as zero.
pub fn differs(
    file: &BTreeMap<GroupId, u32>,
    live: &BTreeMap<GroupId, u32>,
) -> Vec<(GroupId, u32, u32)> {
    let names: BTreeSet<&GroupId> = file.keys().chain(live.keys()).collect();
    let count = |counts: &BTreeMap<GroupId, u32>, group| counts.get(group).copied().unwrap_or(0);
    names
        .into_iter()
        .map(|group| (group.clone(), count(file, group), count(live, group)))
        .filter(|(_, file, live)| file != live)
        .collect()
}

/// The first digits of the revision of each group.
pub fn revisions(shape: &ClusterShape) -> BTreeMap<GroupId, String> {
    shape.groups().map(|spec| (spec.group.clone(), spec.revision.short())).collect()
}

/// The groups of both whose nodes are to be something else: each with the revision of the file and the live one.
pub fn revised(
    file: &BTreeMap<GroupId, String>,
    live: &BTreeMap<GroupId, String>,
) -> Vec<(GroupId, String, String)> {
    let other = |(group, declared): (&GroupId, &String)| {
        let runs = live.get(group).filter(|runs| *runs != declared)?;
        Some((group.clone(), declared.clone(), runs.clone()))
    };
    file.iter().filter_map(other).collect()
}
