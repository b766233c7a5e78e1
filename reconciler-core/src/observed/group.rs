//! One group as observed: its records, its hold, what nobody accounts for, and the counts over its records.
//!
//! The counts are kept by [`ClusterState`](super::ClusterState), through which every change goes.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use super::{
    fleet::Fleet,
    leaf::Leaf,
    record::{NodeRecord, Side},
    stage::StageName,
    tally::{Count, Share, Tally},
};
use crate::{
    desired::{Power, RunNodeGroupSpec},
    effect::OwnedLease,
    hold::Hold,
    id::{ProviderName, RevisionDigest},
    limits,
    time::Timestamp,
};

/// One group as observed.
#[derive(Clone, Debug, Default)]
pub struct GroupState {
    pub(crate) fleet: Fleet,
    pub(crate) hold: Option<Hold>,
    pub(crate) orphans: BTreeMap<ProviderName, Vec<OwnedLease>>,
    /// When a record of this group was last reaped; a listing begun before that says nothing of its slots.
    pub(crate) reaped_at: Timestamp,
    /// When how many unproven signs were believed; kept for [`limits::MASS_WINDOW`] and not journaled.
    pub(crate) doubts: Vec<(Timestamp, u32)>,
    pub(crate) tally: Tally,
}

impl GroupState {
    /// The record of one index.
    pub fn record(&self, index: u32) -> Option<&Arc<NodeRecord>> {
        self.fleet.get(index)
    }

    /// Every record in order.
    pub fn records(&self) -> impl Iterator<Item = &Arc<NodeRecord>> {
        self.fleet.iter()
    }

    /// Every record from one index on.
    pub fn records_from(&self, index: u32) -> impl Iterator<Item = &Arc<NodeRecord>> {
        self.fleet.iter_from(index)
    }

    /// Every record but those of blocks in which all are settled just as `wanted` says.
    pub(crate) fn unsettled_as(
        &self,
        wanted: &RunNodeGroupSpec,
    ) -> impl Iterator<Item = &Arc<NodeRecord>> {
        let open = |(_, leaf): &(u32, &Leaf)| leaf.settled_as(wanted) != u64::MAX;
        self.fleet.leaves().filter(open).flat_map(|(_, leaf)| leaf.records())
    }

    /// How many records there are.
    pub const fn len(&self) -> usize {
        self.fleet.len()
    }

    /// True without records.
    pub const fn is_empty(&self) -> bool {
        self.fleet.is_empty()
    }

    /// The hold on the whole group, if any.
    pub const fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    /// Owned resources of this group that no record accounts for (C4).
    pub fn orphans(&self) -> impl Iterator<Item = (&ProviderName, &OwnedLease)> {
        self.orphans.iter().flat_map(|(provider, owned)| owned.iter().map(move |o| (provider, o)))
    }

    /// How many records are in `stage`.
    pub fn in_stage(&self, stage: StageName) -> u32 {
        self.tally.in_stage(stage)
    }

    /// How many nodes are ready.
    pub fn ready(&self) -> u32 {
        self.tally.get(Count::Ready)
    }

    /// How many of the first `count` nodes are ready.
    pub fn ready_within(&self, count: u32) -> u32 {
        let beyond = self.records_from(count).filter(|record| record.is_ready()).count();
        self.ready().saturating_sub(u32::try_from(beyond).unwrap_or(u32::MAX))
    }

    /// How many slots are held.
    pub fn held(&self) -> u32 {
        self.tally.get(Count::Held)
    }

    /// How many slots have an attempt that is being deleted.
    pub fn deleting(&self) -> u32 {
        self.tally.get(Count::Deleting)
    }

    /// How many slots have an effect on its way or an unknown outcome.
    pub fn busy(&self) -> u32 {
        self.tally.get(Count::Busy)
    }

    /// How many slots have failed since they were last dormant.
    pub fn failing(&self) -> u32 {
        self.tally.get(Count::Failing)
    }

    /// For how many attempts a provider may hold something: live, deleting and unresolved ones.
    pub fn owning(&self) -> u32 {
        self.tally.get(Count::Owning).saturating_add(self.tally.get(Count::OwningSeconds))
    }

    /// How many of those stand beside the present attempt of their slot.
    pub fn owning_seconds(&self) -> u32 {
        self.tally.get(Count::OwningSeconds)
    }

    /// How many slots have a second attempt: a candidate, or one that gave way.
    pub fn seconds(&self) -> u32 {
        self.tally.get(Count::Seconds)
    }

    /// How many nodes are in doubt: a listing lacked them, or said without proof that they ended, or their liveness
    /// probe fails.
    pub fn doubted(&self) -> u32 {
        self.tally.get(Count::Doubted)
    }

    /// How many unproven signs were believed within the window that ends at `now`.
    pub(crate) fn recent_doubts_at(&self, now: Timestamp) -> u32 {
        let recent = self.doubts.iter().filter(|(at, _)| now.since(*at) < limits::MASS_WINDOW);
        recent.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The same; what is older is forgotten.
    pub(crate) fn recent_doubts(&mut self, now: Timestamp) -> u32 {
        self.doubts.retain(|(at, _)| now.since(*at) < limits::MASS_WINDOW);
        self.recent_doubts_at(now)
    }

    /// How many workloads were started, and run or ended well.
    pub fn started(&self) -> u32 {
        self.tally.get(Count::Started)
    }

    /// How many nodes of a job are complete.
    pub fn completed(&self) -> u32 {
        self.tally.get(Count::Completed)
    }

    /// True if the workload of some record is of an earlier round than it is to be.
    pub fn is_behind(&self, power: &Power) -> bool {
        let least = power.least_round();
        let slot = |(index, round)| self.record(index).is_some_and(|record| record.round < round);
        self.tally.rounds().iter().any(|(round, _)| *round < least) || power.slot_rounds().any(slot)
    }

    /// True if a workload may still run in a slot beyond the first `count`, and may still be ended.
    ///
    /// Asks from the highest index down: what goes, goes from the lowest, so that the first answer is mostly the last.
    pub fn runs_beyond(&self, count: u32) -> bool {
        let beyond = self.fleet.iter_down().take_while(|record| record.slot.index >= count);
        let untouchable = |hold: &Hold| crate::fold::forbids_everything(hold.code);
        beyond.filter(|r| !r.hold.as_ref().is_some_and(untouchable)).any(|r| r.may_run())
    }

    /// How many records implement `revision`.
    pub fn at_revision(&self, revision: RevisionDigest) -> u32 {
        self.share(revision).map_or(0, |share| share.records)
    }

    /// How many nodes of `revision` are ready.
    pub fn ready_at(&self, revision: RevisionDigest) -> u32 {
        self.share(revision).map_or(0, |share| share.ready)
    }

    /// How many records implement another revision than `revision`, and how many of those are not destroyed yet.
    pub fn outdated(&self, revision: RevisionDigest) -> (u32, u32) {
        let others = self.tally.shares().iter().filter(|share| share.revision != revision);
        others.fold((0, 0), |(all, left), share| {
            let standing = share.records.saturating_sub(share.gone);
            (u32::saturating_add(all, share.records), u32::saturating_add(left, standing))
        })
    }

    /// How many nodes and candidates of `revision` are held because they failed too often or were refused.
    pub fn stuck(&self, revision: RevisionDigest) -> u32 {
        let present = self.share(revision).map_or(0, |share| share.stuck);
        if self.tally.get(Count::StuckSeconds) == 0 {
            return present;
        }
        let seconds = self.records().filter_map(|record| record.side(Side::Second));
        let stuck = seconds.filter(|one| one.is_stuck() && one.revision == revision).count();
        present.saturating_add(u32::try_from(stuck).unwrap_or(u32::MAX))
    }

    fn share(&self, revision: RevisionDigest) -> Option<&Share> {
        self.tally.shares().iter().find(|share| share.revision == revision)
    }
}
