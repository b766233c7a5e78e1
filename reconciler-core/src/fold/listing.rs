//! Folding a listing: presence is believed at once, absence needs proof, and too much absence is not believed
//! at all (D6, C1, C3, C4).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::ToString,
    sync::Arc,
    vec::Vec,
};

use super::{NoteKind, Verdict, failure, folding::Folding, look::fold_look};
use crate::{
    effect::{Listing, Look, OwnedLease, WorkloadState},
    hold::{Hold, HoldCode},
    id::{Fence, GroupId, LogicalNodeId, ProviderName, Uuid},
    observed::{ClusterState, NodeRecord, NodeStage, Remains},
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
    slots: Vec<LogicalNodeId>,
    known: u32,
    lost_max: u32,
}

impl ClusterState {
    pub(super) fn fold_listing(
        &mut self,
        round: &Round,
        listing: Listing,
        now: Timestamp,
    ) -> Verdict {
        let (owned, complete, trouble) = match listing {
            Listing::Unknown(why) => return self.blind(&round.provider, why),
            Listing::Partial(owned, why) => (owned, false, Some(why)),
            Listing::Complete(owned) => (owned, true, None),
        };
        let seen: BTreeSet<Uuid> = owned.iter().map(|o| o.attempt).collect();
        self.note_presence(round, owned, complete, now);
        if complete {
            self.note_absence(round, &seen, now);
        }
        if let Some(why) = trouble {
            return self.blind(&round.provider, why);
        }
        let provider = self.providers.entry(round.provider.clone()).or_default();
        provider.listed_at = Some(round.asked_at);
        provider.trouble = None;
        Verdict::Applied
    }

    /// A provider that cannot be observed: nothing that is known changes (C1).
    fn blind(&mut self, name: &ProviderName, why: Redacted) -> Verdict {
        let provider = self.providers.entry(name.clone()).or_default();
        if provider.trouble.as_ref() == Some(&why) {
            return Verdict::Unchanged;
        }
        provider.trouble = Some(why.clone());
        self.tell(name, NoteKind::Blind(name.clone(), why));
        Verdict::Applied
    }

    fn note_presence(
        &mut self,
        round: &Round,
        owned: Vec<OwnedLease>,
        complete: bool,
        now: Timestamp,
    ) {
        let mut orphans: BTreeMap<GroupId, Vec<OwnedLease>> = BTreeMap::new();
        for lease in owned {
            let record = self.record(&lease.slot).cloned();
            match record {
                Some(record) if record.attempt.uuid == lease.attempt && accounts_for(&record) => {
                    self.seen(&record, lease, round, now);
                }
                Some(record) if record.since >= round.asked_at => {}
                None if self.reaped_since(&lease.slot.group, round.asked_at) => {}
                Some(_) | None => {
                    orphans.entry(lease.slot.group.clone()).or_default().push(lease);
                }
            }
        }
        self.note_orphans(&round.provider, orphans, complete);
    }

    /// A listed lease of a present attempt.
    fn seen(&mut self, record: &NodeRecord, lease: OwnedLease, round: &Round, now: Timestamp) {
        let newer = lease.fence > round.fence;
        // A listing is a look at the past: what moved since it was asked for is newer.
        let fresh = record.since < round.asked_at;
        // What was thought gone or never made and is there all the same is believed.
        let doubted = record.ambiguity.is_some() || fresh;
        let adopts = record.stage.lease().is_none() && record.pending.is_none() && doubted;
        let ended = matches!(lease.workload, WorkloadState::Exited { .. } | WorkloadState::Absent);
        let ended = ended && fresh;
        if !newer && !adopts && !ended && record.missing_since.is_none() {
            return;
        }
        let _applied = self.with_any(&lease.slot.clone(), now, |f| {
            if newer && f.record.hold.is_none() {
                let text =
                    format!("its lease carries fence {}, newer than {}", lease.fence, round.fence);
                failure::hold(f, HoldCode::NewerFence, &Redacted::new(&text));
                return Verdict::Applied;
            }
            let workload = if ended { lease.workload } else { WorkloadState::Unknown };
            let look = Look::Present { lease: lease.lease, endpoint: lease.endpoint, workload };
            fold_look(f, look, Millis::ZERO)
        });
    }

    fn note_orphans(
        &mut self,
        provider: &ProviderName,
        mut found: BTreeMap<GroupId, Vec<OwnedLease>>,
        complete: bool,
    ) {
        let known = self.groups().map(|(group, _)| group);
        let groups: BTreeSet<GroupId> = known.chain(found.keys()).cloned().collect();
        for group in groups {
            let mut now_there = found.remove(&group).unwrap_or_default();
            let before = self.group(&group).and_then(|g| g.orphans.get(provider)).cloned();
            if !complete {
                // What a partial listing does not show may be there all the same.
                let hidden = before.iter().flatten().filter(|b| !now_there.contains(b));
                now_there.extend(hidden.cloned().collect::<Vec<_>>());
            }
            let gone = complete && before.as_ref().is_some_and(|b| !b.is_empty());
            if now_there.is_empty() && !gone {
                continue;
            }
            if before.as_ref() == Some(&now_there) {
                continue;
            }
            for orphan in &now_there {
                let same =
                    |b: &OwnedLease| b.attempt == orphan.attempt && b.lease.id == orphan.lease.id;
                if !before.iter().flatten().any(same) {
                    let lease = orphan.lease.id.to_string();
                    let note = NoteKind::Orphan(provider.clone(), lease);
                    self.tell(&orphan.slot, note);
                }
            }
            let Some(state) = self.group_mut(&group) else { continue };
            if now_there.is_empty() {
                state.orphans.remove(provider);
            } else {
                state.orphans.insert(provider.clone(), now_there);
            }
            self.mark_group(&group, 0);
        }
    }

    fn note_absence(&mut self, round: &Round, seen: &BTreeSet<Uuid>, now: Timestamp) {
        let mut lacking: BTreeMap<GroupId, Missing> = BTreeMap::new();
        for (group, state) in self.groups() {
            for record in state.records().filter(|r| r.spec.provider == round.provider) {
                let missing = lacking.entry(group.clone()).or_default();
                missing.known = missing.known.saturating_add(1);
                missing.lost_max = record.policy.lost_max(missing.known);
                if is_missing(record, round, seen) {
                    missing.slots.push(record.slot.clone());
                }
            }
        }
        for (group, missing) in lacking {
            self.judge_absence(&group, &missing, round, now);
        }
    }

    fn judge_absence(&mut self, group: &GroupId, missing: &Missing, round: &Round, now: Timestamp) {
        let lost = u32::try_from(missing.slots.len()).unwrap_or(u32::MAX);
        let plausible = lost <= missing.lost_max;
        self.hold_implausible(group, (!plausible).then_some((lost, missing)), &round.provider, now);
        for slot in &missing.slots {
            let _judged = self.with_any(slot, now, |f| {
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
        }
    }

    pub(super) fn fold_released_group(&mut self, group: &GroupId, now: Timestamp) -> Verdict {
        if self.group(group).is_none_or(|g| g.hold.is_none()) {
            return Verdict::Unchanged;
        }
        self.release_group(group);
        let missing: Vec<LogicalNodeId> = self
            .group(group)
            .map(|g| {
                g.records().filter(|r| r.missing_since.is_some()).map(|r| r.slot.clone()).collect()
            })
            .unwrap_or_default();
        for slot in missing {
            let _lost = self.with_any(&slot, now, |f| {
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

    fn reaped_since(&self, group: &GroupId, asked_at: Timestamp) -> bool {
        self.group(group).is_some_and(|g| g.reaped_at >= asked_at)
    }

    /// Every slot that wants a look by its id: its lease was missing from the last complete listing.
    pub fn missing(&self) -> Vec<Arc<NodeRecord>> {
        self.groups()
            .flat_map(|(_, g)| g.records().filter(|r| r.missing_since.is_some()).cloned())
            .collect()
    }
}

/// False once the record says for good that nothing of the attempt is left.
const fn accounts_for(record: &NodeRecord) -> bool {
    !matches!(record.stage, NodeStage::Destroyed { .. })
}

/// True if the listing should have shown the record's lease and did not.
fn is_missing(record: &NodeRecord, round: &Round, seen: &BTreeSet<Uuid>) -> bool {
    let owns = record.stage.lease().is_some() && record.deletion.is_none();
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
