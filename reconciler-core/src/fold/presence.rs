//! Folding what a listing shows: a lease of a present attempt, or one that no record accounts for (C2, C4, C12).
//!
//! What it lacks stands in `listing`, and what too many signs at once do in `brake`.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::ToString,
    vec::Vec,
};

use super::{
    NoteKind, Verdict,
    brake::{Signs, says_ended, suspect},
    failure, forbids_everything,
    listing::Round,
    look::fold_look,
};
use crate::{
    effect::{ActionKind, HookSight, Look, OwnedLease, WorkloadState},
    hold::HoldCode,
    id::{AttemptId, GroupId, LogicalNodeId, ProviderName},
    observed::{ClusterState, GroupState, NodeRecord, NodeStage},
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// An attempt that is to be held as a duplicate, with the hold's text, or one that is so no longer.
type Duplicate = (LogicalNodeId, AttemptId, Option<Redacted>);

impl ClusterState {
    pub(super) fn note_presence(
        &mut self,
        round: &Round,
        owned: Vec<OwnedLease>,
        complete: bool,
        now: Timestamp,
    ) {
        let doubtful = self.disbelieved(round, &owned, now);
        let mut orphans: BTreeMap<GroupId, Vec<OwnedLease>> = BTreeMap::new();
        for lease in owned {
            let record = self.record(&lease.slot).cloned();
            let attempts = || record.iter().flat_map(|record| record.attempts());
            match attempts().find(|one| accounts_for(one, &lease)) {
                Some(one) => {
                    let doubted = doubtful.contains(&lease.slot.group);
                    self.seen(one, lease, round, doubted, now);
                }
                None if attempts().any(|one| one.since >= round.asked_at) => {}
                None if self.reaped_since(&lease.slot.group, round.asked_at) => {}
                None => {
                    orphans.entry(lease.slot.group.clone()).or_default().push(lease);
                }
            }
        }
        self.note_orphans(&round.provider, orphans, complete);
        self.note_duplicates(&round.provider, now);
    }

    /// The groups of which too many workloads are said to have ended at once for that to be believed.
    fn disbelieved(
        &mut self,
        round: &Round,
        owned: &[OwnedLease],
        now: Timestamp,
    ) -> BTreeSet<GroupId> {
        let mut ended: BTreeMap<GroupId, Signs> = BTreeMap::new();
        for lease in owned {
            let attempts = self.record(&lease.slot).into_iter().flat_map(|r| r.attempts());
            let Some(record) = attempts.into_iter().find(|one| accounts_for(one, lease)) else {
                continue;
            };
            if !says_ended(record, lease, round.asked_at) {
                continue;
            }
            let known = self.group(&lease.slot.group).map_or(0, |group| group.len());
            let known = u32::try_from(known).unwrap_or(u32::MAX);
            let believed_max = record.policy.mass_max(known);
            let signs = ended.entry(lease.slot.group.clone());
            let signs = signs.or_insert(Signs { count: 0, known, believed_max });
            signs.count = signs.count.saturating_add(1);
        }
        let believed =
            |(group, signs): &(GroupId, Signs)| !self.believes(group, signs, &round.provider, now);
        ended.into_iter().filter(believed).map(|(group, _)| group).collect()
    }

    /// A listed lease of a present attempt; `doubted` if the end of its workload is not believed.
    fn seen(
        &mut self,
        record: &NodeRecord,
        lease: OwnedLease,
        round: &Round,
        doubted: bool,
        now: Timestamp,
    ) {
        let newer = lease.fence > round.fence;
        // A listing is a look at the past: what moved since it was asked for is newer.
        let fresh = record.since < round.asked_at;
        // What was thought gone or never made and is there all the same is believed.
        let late = record.ambiguity.is_some() || fresh;
        let adopts = record.stage.lease().is_none() && record.pending.is_none() && late;
        let ended = matches!(lease.workload, WorkloadState::Exited { .. } | WorkloadState::Absent);
        let ended = ended && fresh;
        let doubted = doubted && says_ended(record, &lease, round.asked_at);
        let cleared = record.missing_since.or(record.suspect_since).is_some();
        let runs = matches!(lease.workload, WorkloadState::Running { .. });
        let cleared_by_run = runs && fresh && record.suspect_since.is_some() && !record.is_open();
        if !newer && !adopts && !ended && !cleared {
            return;
        }
        let _applied = self.with(&lease.slot.clone(), record.attempt, now, |f| {
            if newer && f.record.hold.is_none() {
                let text =
                    format!("its lease carries fence {}, newer than {}", lease.fence, round.fence);
                failure::hold(f, HoldCode::NewerFence, &Redacted::new(&text));
                return Verdict::Applied;
            }
            let workload = if !doubted && (ended || cleared_by_run) {
                lease.workload
            } else {
                WorkloadState::Unknown
            };
            if let Some(ActionKind::Hook(_)) = f.record.under_way() {
                // A listing says nothing of hooks: the look by id comes first.
                return Verdict::Unchanged;
            }
            let (hook, endpoint) = (HookSight::Untold, lease.endpoint);
            let look = Look::Present { lease: lease.lease, endpoint, workload, hook };
            let seen = fold_look(f, look, Millis::ZERO);
            if doubted && suspect(f) == Verdict::Applied { Verdict::Applied } else { seen }
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

    /// Holds the slots of which one attempt has a second lease, and ends the holds of those that have none any more:
    /// which of the two is the node is not guessed (R160).
    fn note_duplicates(&mut self, provider: &ProviderName, now: Timestamp) {
        for (slot, attempt, text) in self.duplicates(provider) {
            let _held = self.with(&slot, attempt, now, |f| {
                if let Some(text) = &text {
                    failure::hold(f, HoldCode::DuplicateIdentity, text);
                } else {
                    f.record.hold = None;
                    f.tell(NoteKind::Released(HoldCode::DuplicateIdentity));
                }
                Verdict::Applied
            });
        }
    }

    /// Attempts that are to be held as duplicates, and attempts that are so no longer.
    fn duplicates(&self, provider: &ProviderName) -> Vec<Duplicate> {
        let doubtful = |group: &GroupState| group.held() > 0 || group.orphans().next().is_some();
        let groups = self.groups().map(|(_, group)| group).filter(|group| doubtful(group));
        let mut found = Vec::new();
        for group in groups {
            let attempts = group.records().flat_map(|record| record.attempts());
            for record in attempts.filter(|record| record.spec.provider == *provider) {
                let code = record.hold.as_ref().map(|hold| hold.code);
                match twins(group, record) {
                    Some(text) if code.is_none_or(|code| !forbids_everything(code)) => {
                        found.push((record.slot.clone(), record.attempt, Some(text)));
                    }
                    None if code == Some(HoldCode::DuplicateIdentity) => {
                        found.push((record.slot.clone(), record.attempt, None));
                    }
                    Some(_) | None => {}
                }
            }
        }
        found
    }
}

/// What is said of other leases of the record's own attempt, if there are any.
fn twins(group: &GroupState, record: &NodeRecord) -> Option<Redacted> {
    let known = record.stage.lease()?;
    let twin = |owned: &OwnedLease| {
        let same = owned.slot == record.slot && owned.attempt == record.attempt.uuid;
        same && owned.lease.id != known.id
    };
    let twins = group.orphans().filter(|(_, owned)| twin(owned));
    let twins: Vec<&str> = twins.map(|(_, owned)| owned.lease.id.as_str()).collect();
    let provider = &record.spec.provider;
    let text = format!(
        "{provider} holds {} and {} for one attempt; end the one that is not wanted there",
        known.id,
        twins.join(", ")
    );
    (!twins.is_empty()).then(|| Redacted::new(&text))
}

/// True if the record knows this very lease, or would take it over; false once it says for good that nothing of
/// the attempt is left.
fn accounts_for(record: &NodeRecord, lease: &OwnedLease) -> bool {
    let over = matches!(record.stage, NodeStage::Destroyed { .. });
    let other = record.stage.lease().is_some_and(|known| known.id != lease.lease.id);
    record.attempt.uuid == lease.attempt && !over && !other
}
