//! Counts over a group's records, kept up to date by each change.

use alloc::vec::Vec;

use super::{record::NodeRecord, stage::StageName};
use crate::{desired::ProbeKind, id::RevisionDigest};

/// What is counted of a record beside its stage; a bit each in its [`Marks`].
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Count {
    /// It serves.
    Ready,
    /// An attempt of the slot is held.
    Held,
    /// An attempt of the slot is being deleted.
    Deleting,
    /// An effect is on its way, or its outcome is unknown.
    Busy,
    /// It failed since it was last dormant.
    Failing,
    /// A provider may hold something for the present attempt.
    Owning,
    /// A listing lacked it, or said without proof that it ended, or its liveness probe fails.
    Doubted,
    /// Its workload was started, and runs or ended well.
    Started,
    /// It is a job's, and its workload ended well.
    Completed,
    /// The slot has a second attempt.
    Seconds,
    /// A provider may hold something for the second attempt.
    OwningSeconds,
    /// The second attempt is held because it failed too often or was refused.
    StuckSeconds,
    /// Nothing of the present attempt is left.
    Gone,
    /// The present attempt is held because it failed too often or was refused.
    Stuck,
}

/// How many counts there are.
const COUNTS: usize = Count::Stuck as usize + 1;

/// What one record counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    stage: StageName,
    round: u32,
    revision: RevisionDigest,
    bits: u16,
}

impl Marks {
    /// What `record` counts as.
    pub(super) fn of(record: &NodeRecord) -> Self {
        let second = record.second.as_deref().map(|second| &second.record);
        let mut bits = own_bits(record);
        if let Some(second) = second {
            let shared =
                [Count::Held, Count::Deleting, Count::Busy, Count::Failing, Count::Doubted];
            let shared = shared.into_iter().fold(0, |all, count| all | bit(count, true));
            bits |= own_bits(second) & shared;
            bits |= bit(Count::Seconds, true)
                | bit(Count::OwningSeconds, second.may_own())
                | bit(Count::StuckSeconds, second.is_stuck());
        }
        Self { stage: record.stage.name(), round: record.round, revision: record.revision, bits }
    }

    const fn has(&self, count: Count) -> bool {
        self.bits & bit(count, true) != 0
    }
}

const fn bit(count: Count, if_so: bool) -> u16 {
    (if_so as u16) << (count as u8)
}

/// What an attempt by itself counts as.
fn own_bits(record: &NodeRecord) -> u16 {
    bit(Count::Ready, record.is_ready())
        | bit(Count::Held, record.hold.is_some())
        | bit(Count::Deleting, record.deletion.is_some())
        | bit(Count::Busy, record.is_open())
        | bit(Count::Failing, record.backoff.failures > 0)
        | bit(Count::Owning, record.may_own())
        | bit(Count::Doubted, is_doubted(record))
        | bit(Count::Started, record.is_started())
        | bit(Count::Completed, record.is_completed())
        | bit(Count::Gone, record.is_destroyed())
        | bit(Count::Stuck, record.is_stuck())
}

fn is_doubted(record: &NodeRecord) -> bool {
    let unseen = record.missing_since.or(record.suspect_since).is_some();
    unseen || record.gives_up() == Some(ProbeKind::Liveness)
}

/// Counts over a group's records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    stages: [u32; StageName::ALL.len()],
    counts: [u32; COUNTS],
    /// Few: the wanted round, and those that are behind it.
    rounds: Vec<(u32, u32)>,
    /// Few: the wanted revision, and those that give way to it.
    revisions: Vec<Share>,
}

/// The present attempts of one revision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) revision: RevisionDigest,
    pub(super) records: u32,
    pub(super) ready: u32,
    pub(super) gone: u32,
    pub(super) stuck: u32,
}

/// One up, or one down.
type Step = fn(u32, u32) -> u32;

impl Tally {
    /// Counts a record in.
    pub(super) fn add(&mut self, marks: &Marks) {
        self.step(marks, u32::saturating_add);
    }

    /// Counts a record out.
    pub(super) fn take(&mut self, marks: &Marks) {
        self.step(marks, u32::saturating_sub);
    }

    /// Counts a record as what it is now.
    pub(super) fn change(&mut self, before: &Marks, after: &Marks) {
        if before != after {
            self.take(before);
            self.add(after);
        }
    }

    fn step(&mut self, marks: &Marks, step: Step) {
        if let Some(stage) = self.stages.get_mut(marks.stage as usize) {
            *stage = step(*stage, 1);
        }
        let mut rest = marks.bits;
        while rest != 0 {
            if let Some(count) = self.counts.get_mut(rest.trailing_zeros() as usize) {
                *count = step(*count, 1);
            }
            rest &= rest.wrapping_sub(1);
        }
        tell(&mut self.rounds, marks.round, step);
        self.step_share(marks, step);
    }

    fn step_share(&mut self, marks: &Marks, step: Step) {
        let known = self.revisions.iter().position(|share| share.revision == marks.revision);
        let place = known.unwrap_or_else(|| {
            let revision = marks.revision;
            self.revisions.push(Share { revision, records: 0, ready: 0, gone: 0, stuck: 0 });
            self.revisions.len().saturating_sub(1)
        });
        let Some(share) = self.revisions.get_mut(place) else { return };
        share.records = step(share.records, 1);
        share.ready = step(share.ready, u32::from(marks.has(Count::Ready)));
        share.gone = step(share.gone, u32::from(marks.has(Count::Gone)));
        share.stuck = step(share.stuck, u32::from(marks.has(Count::Stuck)));
        if share.records == 0 {
            self.revisions.swap_remove(place);
        }
    }

    /// How many records are in `stage`.
    pub(super) fn in_stage(&self, stage: StageName) -> u32 {
        self.stages.get(stage as usize).copied().unwrap_or(0)
    }

    /// How many records count as `count`.
    pub(super) fn get(&self, count: Count) -> u32 {
        self.counts.get(count as usize).copied().unwrap_or(0)
    }

    /// The rounds that there are, each with how many records are of it.
    pub(super) fn rounds(&self) -> &[(u32, u32)] {
        &self.rounds
    }

    /// The revisions that there are.
    pub(super) fn shares(&self) -> &[Share] {
        &self.revisions
    }
}

/// Counts one up or down among few.
fn tell<K: PartialEq>(counts: &mut Vec<(K, u32)>, of: K, step: Step) {
    let Some(place) = counts.iter().position(|(known, _)| *known == of) else {
        return counts.push((of, step(0, 1)));
    };
    let Some((_, n)) = counts.get_mut(place) else { return };
    *n = step(*n, 1);
    if *n == 0 {
        counts.swap_remove(place);
    }
}
