//! Everything that is observed: the groups, their records, the providers, what is due and what changed.
//!
//! One group stands in [`GroupState`]; what the passing of time does in `clock.rs`.
//! Read-only outside [`fold`](crate::fold), which is the only writer.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use super::{
    calendar::Calendar,
    due::next_due,
    group::GroupState,
    groups::Groups,
    note::{About, Note, NoteKind, Settlement},
    pull::pull_in,
    record::NodeRecord,
    rollout::Rollout,
    tally::Marks,
};
use crate::{
    desired::{Brief, revision::Redigest},
    hold::Hold,
    id::{GroupId, LogicalNodeId, ProviderName},
    redact::Redacted,
    time::Timestamp,
};

/// One provider as observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderState {
    /// When it was last listed in full.
    pub listed_at: Option<Timestamp>,
    /// Why the last listing was not to be had, if so.
    pub trouble: Option<Redacted>,
    /// True if the last listing showed a part: presence counts, absence does not.
    pub partial: bool,
    /// Nothing is asked of it before this time (rate limit).
    pub paused_until: Option<Timestamp>,
}

impl ProviderState {
    /// True if the last try to list it brought nothing at all.
    pub const fn is_blind(&self) -> bool {
        self.trouble.is_some() && !self.partial
    }
}

/// The observed state of a run. Cloning shares the records.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    groups: Groups,
    pub(crate) providers: BTreeMap<ProviderName, ProviderState>,
    pub(crate) rollouts: BTreeMap<GroupId, Rollout>,
    pub(super) due: Calendar,
    /// The slots that changed, as they came; in order and each once only when they are taken.
    pub(super) dirty: Vec<LogicalNodeId>,
    dirty_groups: BTreeSet<GroupId>,
    pub(crate) dirty_rollouts: BTreeSet<GroupId>,
    /// The latest time that was seen; shows that the clock went back.
    pub(crate) latest: Timestamp,
    pub(crate) notes: Vec<Note>,
    pub(crate) settled: Vec<Settlement>,
    /// True for a predicted state: nobody will ask what its folds told.
    pub(crate) quiet: bool,
    /// Restored records that were brought to this version's form; they are to be journaled as they are now.
    migrated: BTreeSet<LogicalNodeId>,
}

impl ClusterState {
    /// The groups in order of their names.
    pub fn groups(&self) -> impl Iterator<Item = (&GroupId, &Arc<GroupState>)> {
        self.groups.iter()
    }

    /// One group.
    pub fn group(&self, group: &GroupId) -> Option<&Arc<GroupState>> {
        self.groups.get(group)
    }

    /// Every group's name with what its records are in brief, in order.
    pub(crate) fn briefs(&self) -> impl Iterator<Item = (&GroupId, &Option<Brief>)> {
        self.groups.briefs()
    }

    /// One slot's record.
    pub fn record(&self, slot: &LogicalNodeId) -> Option<&Arc<NodeRecord>> {
        self.groups.get(&slot.group)?.record(slot.index)
    }

    /// How many records there are in all.
    pub fn len(&self) -> usize {
        self.groups().map(|(_, g)| g.len()).sum()
    }

    /// True without any record.
    pub fn is_empty(&self) -> bool {
        self.groups().all(|(_, g)| g.is_empty())
    }

    /// What is known of the providers.
    pub const fn providers(&self) -> &BTreeMap<ProviderName, ProviderState> {
        &self.providers
    }

    /// The observed facts alone, to publish: no due index, no change marks. Costs next to nothing.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self {
            groups: self.groups.clone(),
            providers: self.providers.clone(),
            rollouts: self.rollouts.clone(),
            due: Calendar::default(),
            dirty: Vec::new(),
            dirty_groups: BTreeSet::new(),
            dirty_rollouts: BTreeSet::new(),
            latest: self.latest,
            notes: Vec::new(),
            settled: Vec::new(),
            quiet: false,
            migrated: BTreeSet::new(),
        }
    }

    /// Keeps what is worth telling of a fold.
    pub(crate) fn tell(&mut self, about: impl Into<About>, what: NoteKind) {
        if !self.quiet {
            self.notes.push(Note { about: about.into(), what });
        }
    }

    /// Keeps what a fold of one record told.
    pub(crate) fn tell_all(
        &mut self,
        slot: &LogicalNodeId,
        notes: Vec<NoteKind>,
        settled: Vec<Settlement>,
    ) {
        self.notes.extend(notes.into_iter().map(|what| Note { about: slot.into(), what }));
        self.settled.extend(settled);
    }

    /// What is worth telling of the folds since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        core::mem::take(&mut self.notes)
    }

    /// How steps ended in the folds since the last call.
    pub fn take_settled(&mut self) -> Vec<Settlement> {
        core::mem::take(&mut self.settled)
    }

    /// The facts with the due index of `slots`, for a projection; a pause of a provider is only a delay there.
    pub(crate) fn predicted(&self, slots: &BTreeSet<LogicalNodeId>) -> Self {
        let mut state = Self { quiet: true, ..self.snapshot() };
        for provider in state.providers.values_mut() {
            provider.paused_until = None;
        }
        state.forget_deadlines();
        for slot in slots {
            if let Some(at) = self.record(slot).and_then(|record| record.due) {
                state.due.insert(at, slot);
            }
        }
        state
    }

    /// The earliest time at which some record or update needs a look.
    pub fn next_due(&self) -> Option<Timestamp> {
        let record = self.due.first();
        if self.rollouts.is_empty() {
            record
        } else {
            record.into_iter().chain(self.rollout_due()).min()
        }
    }

    /// True if some record changed since the change marks were last taken.
    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The slots whose record changed since the last call.
    pub fn take_dirty(&mut self) -> BTreeSet<LogicalNodeId> {
        core::mem::take(&mut self.dirty).into_iter().collect()
    }

    /// The restored slots whose record was brought to this version's form, once.
    pub fn take_migrated(&mut self) -> BTreeSet<LogicalNodeId> {
        core::mem::take(&mut self.migrated)
    }

    /// The groups whose hold changed since the last call.
    pub fn take_dirty_groups(&mut self) -> BTreeSet<GroupId> {
        core::mem::take(&mut self.dirty_groups)
    }

    /// The groups whose update began, moved or ended since the last call.
    pub fn take_dirty_rollouts(&mut self) -> BTreeSet<GroupId> {
        core::mem::take(&mut self.dirty_rollouts)
    }

    /// Takes back records and group holds as they were journaled.
    pub fn restore(
        records: impl IntoIterator<Item = NodeRecord>,
        holds: impl IntoIterator<Item = (GroupId, Hold)>,
        now: Timestamp,
    ) -> Self {
        let mut state = Self { latest: now, ..Self::default() };
        let mut redigest = Redigest::default();
        for mut record in records {
            pull_in(&mut record, now);
            if redigest.bring_up(&mut record) {
                state.migrated.insert(record.slot.clone());
            }
            state.put(record, now);
        }
        for (group, hold) in holds {
            if let Some(state) = state.group_mut(&group) {
                state.hold = Some(hold);
            }
        }
        state
    }

    /// Marks a group whose hold changed, so that it is journaled.
    pub(crate) fn mark_hold(&mut self, group: &GroupId) {
        self.dirty_groups.insert(group.clone());
    }

    /// One group, to change it; from now on it is known.
    pub(crate) fn group_mut(&mut self, group: &GroupId) -> Option<&mut GroupState> {
        self.groups.know(group);
        self.groups.get_mut(group)
    }

    /// Puts a new record in place and marks it.
    pub(crate) fn put(&mut self, mut record: NodeRecord, now: Timestamp) {
        record.derive(now);
        self.place(record);
    }

    /// Puts a record in place whose derived parts are as they are to be.
    pub(crate) fn place(&mut self, record: NodeRecord) {
        let (slot, due) = (record.slot.clone(), record.due);
        self.groups.know(&slot.group);
        let old = self.groups.change(&slot.group, |group| {
            let old = group.fleet.get(slot.index);
            let old_due = old.and_then(|old| old.due);
            if let Some(old) = old {
                group.tally.take(&Marks::of(old));
            }
            group.tally.add(&Marks::of(&record));
            group.fleet.put(slot.index, Arc::new(record));
            old_due
        });
        self.move_due(&slot, old.flatten(), due);
        self.mark(slot);
    }

    fn mark(&mut self, slot: LogicalNodeId) {
        if self.dirty.last() != Some(&slot) {
            self.dirty.push(slot);
        }
    }

    /// Changes a record in place; `change` says whether it did.
    pub(crate) fn change(
        &mut self,
        slot: &LogicalNodeId,
        now: Timestamp,
        change: impl FnOnce(&mut NodeRecord) -> bool,
    ) -> bool {
        let done = self.groups.change(&slot.group, |GroupState { fleet, tally, .. }| {
            fleet.change(slot.index, |record| {
                let (due, before) = (record.due, Marks::of(record));
                let changed = change(record);
                tally.change(&before, &Marks::of(record));
                record.settled = record.is_settled();
                if changed {
                    record.derive(now);
                }
                (changed, due, record.due)
            })
        });
        let Some((true, due, next)) = done.flatten() else { return false };
        self.move_due(slot, due, next);
        self.mark(slot.clone());
        true
    }

    /// Takes a record away for good.
    pub(crate) fn remove(&mut self, slot: &LogicalNodeId) -> bool {
        let taken = self.groups.change(&slot.group, |group| {
            let record = group.fleet.take(slot.index)?;
            group.tally.take(&Marks::of(&record));
            Some(record)
        });
        let Some(record) = taken.flatten() else { return false };
        self.move_due(slot, record.due, None);
        self.mark(slot.clone());
        true
    }

    /// Marks every slot of a group for decision, as when its hold or its shape changed.
    pub fn mark_group(&mut self, group: &GroupId, count: u32) {
        let known = self.groups.get(group).map(|g| g.records().map(|r| r.slot.clone()));
        self.dirty.extend(known.into_iter().flatten());
        self.dirty.extend((0..count).map(|index| LogicalNodeId::new(group.clone(), index)));
    }

    /// Brings the due index up to date with a record that it has at `old`.
    pub(super) fn reindex(&mut self, slot: &LogicalNodeId, now: Timestamp, old: Option<Timestamp>) {
        let next = self.groups.change(&slot.group, |group| {
            group.fleet.change(slot.index, |record| {
                record.due = next_due(record, now);
                record.due
            })
        });
        if let Some(next) = next.flatten() {
            self.move_due(slot, old, next);
        }
    }

    fn move_due(&mut self, slot: &LogicalNodeId, old: Option<Timestamp>, next: Option<Timestamp>) {
        if old == next {
            return;
        }
        if let Some(at) = old {
            self.due.remove(at, slot);
        }
        if let Some(at) = next {
            self.due.insert(at, slot);
        }
    }
}
