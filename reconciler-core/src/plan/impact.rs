//! What an update does to a group's availability, as the projection saw it (R170).

use alloc::{collections::BTreeMap, format, string::String};

use crate::{
    canonical::Canon,
    desired::{ClusterShape, RunNodeGroupSpec, UpdateMode},
    id::GroupId,
    observed::{ClusterState, GroupState},
};

/// What a plan's update does to the availability of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impact {
    /// The group.
    pub group: GroupId,
    /// How its nodes give way; always as its policy asks.
    pub mode: UpdateMode,
    /// How many nodes it wants.
    pub desired: u32,
    /// How many nodes are replaced.
    pub replaced: u32,
    /// The fewest nodes that serve on the way.
    pub minimum_available: u32,
    /// The most attempts that exist at once on the way.
    pub peak: u32,
    /// True if nodes serve now, and at some time on the way none does.
    pub downtime: bool,
}

impl Impact {
    /// Why this mode, in a stable word.
    pub const fn reason(&self) -> &'static str {
        match self.mode {
            UpdateMode::Rolling => "requested-rolling",
            UpdateMode::Recreate => "requested-recreate",
        }
    }

    /// The mode that a word stands for.
    pub fn mode_of(reason: &str) -> Option<UpdateMode> {
        match reason {
            "requested-rolling" => Some(UpdateMode::Rolling),
            "requested-recreate" => Some(UpdateMode::Recreate),
            _ => None,
        }
    }

    /// What it means, in one line.
    pub fn summary(&self) -> String {
        let how = match self.mode {
            UpdateMode::Rolling => "a few at a time",
            UpdateMode::Recreate => "all at once",
        };
        let downtime = if self.downtime { ", none for a time" } else { "" };
        format!(
            "replaces {} {how}: at least {} of {} serve{downtime}, at most {} exist at once",
            self.replaced, self.minimum_available, self.desired, self.peak
        )
    }

    pub(super) fn canon(&self) -> Canon {
        Canon::object([
            ("group", Canon::text(self.group.as_str())),
            ("reason", Canon::text(self.reason())),
            ("desired", Canon::num(self.desired.into())),
            ("replaced", Canon::num(self.replaced.into())),
            ("minimum-available", Canon::num(self.minimum_available.into())),
            ("peak", Canon::num(self.peak.into())),
            ("downtime", Canon::Bool(self.downtime)),
        ])
    }
}

/// The groups whose nodes give way to another revision, watched from round to round.
#[derive(Debug, Default)]
pub(super) struct Impacts(BTreeMap<GroupId, (Impact, u32)>);

impl Impacts {
    /// Finds the groups of `target` that have nodes of another revision.
    pub(super) fn new(state: &ClusterState, target: &ClusterShape) -> Self {
        let mut found = BTreeMap::new();
        for spec in target.groups() {
            let Some(group) = state.group(&spec.group) else { continue };
            let replaced = outdated(group, spec);
            if replaced == 0 {
                continue;
            }
            let serving = group.ready_within(spec.count);
            let impact = Impact {
                group: spec.group.clone(),
                mode: spec.policy.update.mode,
                desired: spec.count,
                replaced,
                minimum_available: serving,
                peak: group.owning(),
                downtime: false,
            };
            found.insert(spec.group.clone(), (impact, serving));
        }
        Self(found)
    }

    /// Takes note of how the groups stand.
    pub(super) fn note(&mut self, state: &ClusterState) {
        for (name, (impact, _)) in &mut self.0 {
            let Some(group) = state.group(name) else { continue };
            let serving = group.ready_within(impact.desired);
            impact.minimum_available = impact.minimum_available.min(serving);
            impact.peak = impact.peak.max(group.owning());
        }
    }

    /// What was seen, in the order of the groups; nothing of those whose update moves no node in the end.
    pub(super) fn finish(
        self,
        state: &ClusterState,
        target: &ClusterShape,
    ) -> impl Iterator<Item = Impact> {
        self.0.into_values().filter_map(move |(impact, before)| {
            let left = state.group(&impact.group).zip(target.group(&impact.group));
            let left = left.map_or(0, |(group, spec)| outdated(group, spec));
            let replaced = impact.replaced.checked_sub(left).filter(|replaced| *replaced > 0)?;
            let downtime = before > 0 && impact.minimum_available == 0;
            Some(Impact { replaced, downtime, ..impact })
        })
    }
}

/// How many of the wanted nodes are of another revision.
fn outdated(group: &GroupState, spec: &RunNodeGroupSpec) -> u32 {
    let going = group.records_from(spec.count).filter(|r| r.revision != spec.revision);
    let going = u32::try_from(going.count()).unwrap_or(u32::MAX);
    group.outdated(spec.revision).0.saturating_sub(going)
}
