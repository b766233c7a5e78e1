//! Where the file and the live shape want different counts (D14).

use std::collections::BTreeSet;

use reconciler_core::{desired::ClusterShape, id::GroupId};

/// The groups whose counts differ, each with the file's count and the live one; an absent group counts as zero.
pub fn differs(file: &ClusterShape, live: &ClusterShape) -> Vec<(GroupId, u32, u32)> {
    let names: BTreeSet<_> =
        file.groups().chain(live.groups()).map(|group| group.group.clone()).collect();
    let count =
        |shape: &ClusterShape, group: &GroupId| shape.group(group).map_or(0, |group| group.count);
    names
        .into_iter()
        .map(|group| (group.clone(), count(file, &group), count(live, &group)))
        .filter(|(_, file, live)| file != live)
        .collect()
}
