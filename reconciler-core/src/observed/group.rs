//! One group as observed: its records, its hold, what nobody accounts for, and the counts over its records.
//!
//! The counts are kept by [`ClusterState`](super::ClusterState), through which every change goes.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use super::{
    fleet::Fleet,
    record::{NodeRecord, Side},
    stage::StageName,
};
use crate::{
    desired::Power,
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

/// Counts over a group's records, kept up to date by each change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    stages: [u32; StageName::ALL.len()],
    ready: u32,
    held: u32,
    deleting: u32,
    busy: u32,
    failing: u32,
    owning: u32,
    doubted: u32,
    started: u32,
    completed: u32,
    /// Few: the wanted round, and those that are behind it.
    rounds: Vec<(u32, u32)>,
    seconds: u32,
    owning_seconds: u32,
    stuck_seconds: u32,
    /// Few: the wanted revision, and those that give way to it.
    revisions: Vec<Share>,
}

/// The present attempts of one revision.
#[derive(Clone, Copy, Debug)]
struct Share {
    revision: RevisionDigest,
    records: u32,
    ready: u32,
    gone: u32,
    stuck: u32,
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
        self.tally.stages.get(stage as usize).copied().unwrap_or(0)
    }

    /// How many nodes are ready.
    pub const fn ready(&self) -> u32 {
        self.tally.ready
    }

    /// How many of the first `count` nodes are ready.
    pub fn ready_within(&self, count: u32) -> u32 {
        let beyond = self.records_from(count).filter(|record| record.is_ready()).count();
        self.ready().saturating_sub(u32::try_from(beyond).unwrap_or(u32::MAX))
    }

    /// How many slots are held.
    pub const fn held(&self) -> u32 {
        self.tally.held
    }

    /// How many slots have an attempt that is being deleted.
    pub const fn deleting(&self) -> u32 {
        self.tally.deleting
    }

    /// How many slots have an effect on its way or an unknown outcome.
    pub const fn busy(&self) -> u32 {
        self.tally.busy
    }

    /// How many slots have failed since they were last dormant.
    pub const fn failing(&self) -> u32 {
        self.tally.failing
    }

    /// For how many attempts a provider may hold something: live, deleting and unresolved ones.
    pub fn owning(&self) -> u32 {
        self.tally.owning.saturating_add(self.tally.owning_seconds)
    }

    /// How many of those stand beside the present attempt of their slot.
    pub const fn owning_seconds(&self) -> u32 {
        self.tally.owning_seconds
    }

    /// How many slots have a second attempt: a candidate, or one that gave way.
    pub const fn seconds(&self) -> u32 {
        self.tally.seconds
    }

    /// How many nodes are in doubt: a listing lacked them, or said without proof that they ended.
    pub const fn doubted(&self) -> u32 {
        self.tally.doubted
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
    pub const fn started(&self) -> u32 {
        self.tally.started
    }

    /// How many nodes of a job are complete.
    pub const fn completed(&self) -> u32 {
        self.tally.completed
    }

    /// True if the workload of some record is of an earlier round than it is to be.
    pub fn is_behind(&self, power: &Power) -> bool {
        let least = power.least_round();
        let slot = |(index, round)| self.record(index).is_some_and(|record| record.round < round);
        self.tally.rounds.iter().any(|(round, _)| *round < least) || power.slot_rounds().any(slot)
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
        let others = self.tally.revisions.iter().filter(|share| share.revision != revision);
        others.fold((0, 0), |(all, left), share| {
            let standing = share.records.saturating_sub(share.gone);
            (u32::saturating_add(all, share.records), u32::saturating_add(left, standing))
        })
    }

    /// How many nodes and candidates of `revision` are held because they failed too often or were refused.
    pub fn stuck(&self, revision: RevisionDigest) -> u32 {
        let present = self.share(revision).map_or(0, |share| share.stuck);
        if self.tally.stuck_seconds == 0 {
            return present;
        }
        let seconds = self.records().filter_map(|record| record.side(Side::Second));
        let stuck = seconds.filter(|one| one.is_stuck() && one.revision == revision).count();
        present.saturating_add(u32::try_from(stuck).unwrap_or(u32::MAX))
    }

    fn share(&self, revision: RevisionDigest) -> Option<&Share> {
        self.tally.revisions.iter().find(|share| share.revision == revision)
    }
}

impl Tally {
    pub(super) fn count(&mut self, record: &NodeRecord, step: fn(u32, u32) -> u32) {
        let bump = |n: &mut u32, if_so: bool| *n = step(*n, u32::from(if_so));
        let second = record.second.as_deref().map(|second| &second.record);
        let either =
            |holds: &dyn Fn(&NodeRecord) -> bool| holds(record) || second.is_some_and(holds);
        if let Some(stage) = self.stages.get_mut(record.stage.name() as usize) {
            bump(stage, true);
        }
        bump(&mut self.ready, record.is_ready());
        bump(&mut self.held, either(&|r| r.hold.is_some()));
        bump(&mut self.deleting, either(&|r| r.deletion.is_some()));
        bump(&mut self.busy, either(&|r| r.pending.is_some() || r.ambiguity.is_some()));
        bump(&mut self.failing, either(&|r| r.backoff.failures > 0));
        bump(&mut self.owning, record.may_own());
        bump(&mut self.started, record.is_started());
        bump(&mut self.completed, record.is_completed());
        tell(&mut self.rounds, record.round, step);
        bump(&mut self.doubted, either(&|r| r.missing_since.or(r.suspect_since).is_some()));
        bump(&mut self.seconds, second.is_some());
        bump(&mut self.owning_seconds, second.is_some_and(NodeRecord::may_own));
        bump(&mut self.stuck_seconds, second.is_some_and(NodeRecord::is_stuck));
        if let Some(share) = self.revisions.iter_mut().find(|s| s.revision == record.revision) {
            bump(&mut share.ready, record.is_ready());
            bump(&mut share.gone, record.is_destroyed());
            bump(&mut share.stuck, record.is_stuck());
        }
    }

    /// Counts a record in or out of its revision; in before the record itself is counted, out after it.
    pub(super) fn count_revision(&mut self, revision: RevisionDigest, step: fn(u32, u32) -> u32) {
        if let Some(share) = self.revisions.iter_mut().find(|share| share.revision == revision) {
            share.records = step(share.records, 1);
        } else {
            self.revisions.push(Share {
                revision,
                records: step(0, 1),
                ready: 0,
                gone: 0,
                stuck: 0,
            });
        }
        self.revisions.retain(|share| share.records > 0);
    }
}

/// Counts one up or down among few.
fn tell<K: PartialEq>(counts: &mut Vec<(K, u32)>, of: K, step: fn(u32, u32) -> u32) {
    if let Some((_, n)) = counts.iter_mut().find(|(known, _)| *known == of) {
        *n = step(*n, 1);
    } else {
        counts.push((of, step(0, 1)));
    }
    counts.retain(|(_, n)| *n > 0);
}
