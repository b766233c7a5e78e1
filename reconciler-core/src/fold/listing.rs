//! Folding a listing: presence is believed at once, absence needs proof, and too much absence is not believed
//! at all (D6, C1, C3, C4).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    vec::Vec,
};

use super::{
    NoteKind, Verdict,
    brake::{Signs, those},
    failure,
    folding::Folding,
};
use crate::{
    effect::Listing,
    hold::{Hold, HoldCode},
    id::{AttemptId, Fence, GroupId, LogicalNodeId, ProviderName, Uuid},
    observed::{ClusterState, NodeRecord, Remains},
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// The circumstances of one listing.
pub(super) struct Round {
    pub(super) provider: ProviderName,
    pub(super) asked_at: Timestamp,
    pub(super) grace: Millis,
    pub(super) fence: Fence,
}

/// What one group lacks in a complete listing.
#[derive(Default)]
struct Missing {
    attempts: Vec<(LogicalNodeId, AttemptId)>,
    known: u32,
    lost_max: u32,
    mass_max: u32,
}

impl ClusterState {
    pub(super) fn fold_listing(
        &mut self,
        round: &Round,
        listing: Listing,
        now: Timestamp,
    ) -> Verdict {
        let (owned, complete, trouble) = match listing {
            Listing::Unknown(why) => return self.not_in_full(&round.provider, why, false),
            Listing::Partial(owned, why) => (owned, false, Some(why)),
            Listing::Complete(owned) => (owned, true, None),
        };
        let seen: BTreeSet<Uuid> = owned.iter().map(|o| o.attempt).collect();
        self.note_presence(round, owned, complete, now);
        if complete {
            self.note_absence(round, &seen, now);
        }
        self.heal_masses(now);
        if let Some(why) = trouble {
            return self.not_in_full(&round.provider, why, true);
        }
        let provider = self.providers.entry(round.provider.clone()).or_default();
        provider.listed_at = Some(round.asked_at);
        provider.trouble = None;
        provider.partial = false;
        Verdict::Applied
    }

    /// A provider that showed nothing or a part: what is not shown does not change (C1).
    fn not_in_full(&mut self, name: &ProviderName, why: Redacted, partial: bool) -> Verdict {
        let provider = self.providers.entry(name.clone()).or_default();
        let was_partial = core::mem::replace(&mut provider.partial, partial);
        if provider.trouble.as_ref() == Some(&why) {
            return if was_partial == partial { Verdict::Unchanged } else { Verdict::Applied };
        }
        provider.trouble = Some(why.clone());
        self.tell(name, NoteKind::Blind(name.clone(), why));
        Verdict::Applied
    }

    fn note_absence(&mut self, round: &Round, seen: &BTreeSet<Uuid>, now: Timestamp) {
        let mut lacking: BTreeMap<GroupId, Missing> = BTreeMap::new();
        for (group, state) in self.groups() {
            let all = u32::try_from(state.len()).unwrap_or(u32::MAX);
            let attempts = state.records().flat_map(|record| record.attempts());
            for record in attempts.filter(|r| r.spec.provider == round.provider) {
                let missing = lacking.entry(group.clone()).or_default();
                missing.known = missing.known.saturating_add(1);
                missing.lost_max = record.policy.lost_max(missing.known);
                missing.mass_max = record.policy.mass_max(all);
                if is_missing(record, round, seen) {
                    missing.attempts.push((record.slot.clone(), record.attempt));
                }
            }
        }
        for (group, missing) in lacking {
            self.judge_absence(&group, &missing, round, now);
        }
    }

    fn judge_absence(&mut self, group: &GroupId, missing: &Missing, round: &Round, now: Timestamp) {
        let lost = u32::try_from(missing.attempts.len()).unwrap_or(u32::MAX);
        let plausible = lost <= missing.lost_max;
        self.hold_implausible(group, (!plausible).then_some((lost, missing)), &round.provider, now);
        // Few at once may still be many within a while (C9).
        let plausible = plausible && {
            let count = u32::try_from(self.overdue(missing, round)).unwrap_or(u32::MAX);
            let (known, believed_max) = (missing.known, missing.mass_max);
            let signs = Signs { count, known, believed_max };
            self.believes(group, &signs, &round.provider, now)
        };
        for (slot, attempt) in &missing.attempts {
            let _judged = self.with(slot, *attempt, now, |f| {
                let Some(since) = f.record.missing_since else {
                    f.record.missing_since = Some(round.asked_at);
                    return Verdict::Applied;
                };
                if !plausible || round.asked_at.since(since) < round.grace {
                    return Verdict::Unchanged;
                }
                presume_lost(f, "two complete listings lack it");
                Verdict::Applied
            });
        }
    }

    /// How many of the missing have been so for the grace.
    fn overdue(&self, missing: &Missing, round: &Round) -> usize {
        let since = |(slot, attempt): &(LogicalNodeId, AttemptId)| {
            self.record(slot)?.of_attempt(*attempt)?.missing_since
        };
        let over = |at: Timestamp| round.asked_at.since(at) >= round.grace;
        missing.attempts.iter().filter_map(since).filter(|at| over(*at)).count()
    }

    /// Begins or ends the hold on a group whose listing is not believable; it heals by itself (C17).
    fn hold_implausible(
        &mut self,
        group: &GroupId,
        lack: Option<(u32, &Missing)>,
        provider: &ProviderName,
        now: Timestamp,
    ) {
        let held = self.group(group).and_then(|g| g.hold.clone());
        let held_so = held.as_ref().is_some_and(|h| h.code == HoldCode::Implausible);
        match lack {
            Some((lost, missing)) if held.is_none() => {
                let text = format!(
                    "{provider} suddenly lacks {lost} of {} nodes, more than the {} that are believed at once; \
                     nothing is created or destroyed",
                    missing.known, missing.lost_max,
                );
                let text = Redacted::new(&text);
                let note = NoteKind::Held(HoldCode::Implausible, text.clone());
                self.tell(group, note);
                self.mark_hold(group);
                if let Some(state) = self.group_mut(group) {
                    state.hold = Some(Hold { code: HoldCode::Implausible, text, since: now });
                }
                self.mark_group(group, 0);
            }
            None if held_so => self.release_group(group),
            Some(_) | None => {}
        }
    }

    /// Ends the hold of a group, if it has one.
    pub(super) fn release_group(&mut self, group: &GroupId) {
        if let Some(hold) = self.group_mut(group).and_then(|state| state.hold.take()) {
            self.tell(group, NoteKind::Released(hold.code));
            self.mark_hold(group);
            self.mark_group(group, 0);
            let now = self.latest;
            if let Some(rollout) = self.rollouts.get_mut(group) {
                if hold.code.is_of_update() {
                    rollout.failing = None;
                }
                rollout.begin_patience(now);
                self.dirty_rollouts.insert(group.clone());
            }
        }
    }

    pub(super) fn fold_released_group(&mut self, group: &GroupId, now: Timestamp) -> Verdict {
        if self.group(group).is_none_or(|g| g.hold.is_none()) {
            return Verdict::Unchanged;
        }
        self.release_group(group);
        self.believe_suspects(group, now);
        let missing = |record: &NodeRecord| record.missing_since.is_some();
        for (slot, attempt) in self.group(group).map_or_else(Vec::new, |g| those(g, missing)) {
            let _lost = self.with(&slot, attempt, now, |f| {
                presume_lost(f, "it was still missing when the group was released");
                Verdict::Applied
            });
        }
        Verdict::Applied
    }

    pub(super) fn reaped(&mut self, group: &GroupId, now: Timestamp) {
        if let Some(state) = self.group_mut(group) {
            state.reaped_at = now;
        }
    }

    pub(super) fn reaped_since(&self, group: &GroupId, asked_at: Timestamp) -> bool {
        self.group(group).is_some_and(|g| g.reaped_at >= asked_at)
    }

    /// Every attempt that wants a look by its id: the last complete listing lacked its lease, or said without being
    /// believed that its workload ended.
    pub fn missing(&self) -> Vec<(LogicalNodeId, AttemptId)> {
        let doubted = |record: &NodeRecord| record.missing_since.or(record.suspect_since).is_some();
        self.groups().flat_map(|(_, group)| those(group, doubted)).collect()
    }
}

/// True if the listing should have shown the record's lease and did not.
fn is_missing(record: &NodeRecord, round: &Round, seen: &BTreeSet<Uuid>) -> bool {
    // What a finished job did stands, whatever becomes of its lease.
    let owns =
        record.stage.lease().is_some() && record.deletion.is_none() && !record.is_completed();
    // A listing may lag behind a creation by the grace (C3); a node that is ready yet is older than that lag.
    let young = !record.stage.is_ready() && round.asked_at.since(record.since) < round.grace;
    let open = record.pending.is_some() || record.ambiguity.is_some();
    let moving = open || record.since >= round.asked_at;
    owns && !young && !moving && !seen.contains(&record.attempt.uuid)
}

fn presume_lost(f: &mut Folding<'_>, message: &str) {
    f.record.missing_since = None;
    let lost = failure::lost(f.now, message);
    failure::fail(f, lost, Remains::Nothing);
}
