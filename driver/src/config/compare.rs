//! Where the file and the live shape want different counts (D14).

use std::collections::{BTreeMap, BTreeSet};

use reconciler_core::id::GroupId;

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
