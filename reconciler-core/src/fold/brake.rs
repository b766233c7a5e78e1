//! The brake on mass remediation: when too much of a group looks broken at once by signs that prove nothing, the
//! group is held instead of replaced (C9, D6).
//!
//! A sign is a listing that says that a workload ended, or that lacks a lease for the second time, or a liveness probe
//! that fails. An exit that was
//! seen, a look by id and an effect's own answer are proof; they never count here. A doubted node keeps its stage
//! and is looked at by its id: what the look proves is acted on, what it clears was never broken.

use alloc::{format, vec::Vec};
use core::fmt::Display;

use super::{NoteKind, Verdict, ending, folding::Folding};
use crate::{
    desired::GroupKind,
    effect::{ExitStatus, OwnedLease, WorkloadState},
    hold::{Hold, HoldCode},
    id::{AttemptId, GroupId, LogicalNodeId},
    limits,
    observed::{ClusterState, GroupState, NodeRecord},
    redact::Redacted,
    time::Timestamp,
};

/// Signs of one listing that so many nodes of a group are broken.
pub(super) struct Signs {
    pub(super) count: u32,
    pub(super) known: u32,
    /// How many are believed within a window.
    pub(super) believed_max: u32,
}

impl ClusterState {
    /// True if `signs` are few enough to be believed; they count from now on. Otherwise the group is held.
    pub(super) fn believes(
        &mut self,
        group: &GroupId,
        signs: &Signs,
        who: &dyn Display,
        now: Timestamp,
    ) -> bool {
        let Some(state) = self.group_mut(group) else { return true };
        let recent = state.recent_doubts(now);
        if recent.saturating_add(signs.count) <= signs.believed_max {
            if signs.count > 0 {
                state.doubts.push((now, signs.count));
            }
            return true;
        }
        if state.hold.is_some() {
            return false;
        }
        let text = format!(
            "{who} gives signs that {} of {} nodes are broken, after {recent} within the last {} minutes; at \
             most {} are believed without proof; nothing is created or destroyed, each is looked at by its id",
            signs.count,
            signs.known,
            limits::MASS_WINDOW.get() / 60_000,
            signs.believed_max,
        );
        let text = Redacted::new(&text);
        let note = NoteKind::Held(HoldCode::MassUnhealthy, text.clone());
        state.hold = Some(Hold { code: HoldCode::MassUnhealthy, text, since: now });
        self.tell(group, note);
        self.mark_hold(group);
        self.mark_group(group, 0);
        false
    }

    /// Ends the brake once what is still in doubt would be believed (C17).
    pub(super) fn heal_mass(&mut self, group: &GroupId, now: Timestamp) {
        let Some(state) = self.group(group) else { return };
        if state.hold().is_none_or(|hold| hold.code != HoldCode::MassUnhealthy) {
            return;
        }
        let known = u32::try_from(state.len()).unwrap_or(u32::MAX);
        let policy = state.records().next().map(|record| record.policy.clone());
        let most = policy.map_or(0, |policy| policy.mass_max(known));
        let (doubted, recent) = (state.doubted(), state.recent_doubts_at(now));
        if doubted.saturating_add(recent) <= most {
            self.release_group(group);
        }
    }

    /// Ends the brakes that a listing resolved.
    pub(super) fn heal_masses(&mut self, now: Timestamp) {
        let braked = |hold: &Hold| hold.code == HoldCode::MassUnhealthy;
        let held: Vec<GroupId> = self
            .groups()
            .filter(|(_, group)| group.hold().is_some_and(braked))
            .map(|(name, _)| name.clone())
            .collect();
        for group in held {
            self.heal_mass(&group, now);
        }
    }

    /// An operator believes the signs: what is still in doubt counts as ended.
    pub(super) fn believe_suspects(&mut self, group: &GroupId, now: Timestamp) {
        self.believe_probes(group, now);
        let suspect = |record: &NodeRecord| record.suspect_since.is_some();
        for (slot, attempt) in self.group(group).map_or_else(Vec::new, |g| those(g, suspect)) {
            let _ended = self.with(&slot, attempt, now, |f| {
                believe_ended(f);
                Verdict::Applied
            });
        }
        if let Some(state) = self.group_mut(group) {
            state.doubts.clear();
        }
    }
}

/// True if a listing begun at `asked_at` says that the workload of `record` ended although nothing ended it.
pub(super) fn says_ended(record: &NodeRecord, lease: &OwnedLease, asked_at: Timestamp) -> bool {
    let job = record.policy.kind == GroupKind::Job;
    let ended = match &lease.workload {
        // A job is there to end well: that many do so at once is no bad sign.
        WorkloadState::Exited { status, .. } => !(job && *status == ExitStatus::Code(0)),
        WorkloadState::Absent => true,
        WorkloadState::Running { .. } | WorkloadState::Unknown => false,
    };
    let runs = record.stage.workload().is_some();
    ended
        && runs
        && !record.is_open()
        && !record.is_stopping()
        && record.deletion.is_none()
        && record.since < asked_at
}

/// Notes that a sign was not believed; the node gets a look by its id.
pub(super) fn suspect(f: &mut Folding<'_>) -> Verdict {
    if f.record.suspect_since.is_some() {
        return Verdict::Unchanged;
    }
    f.record.suspect_since = Some(f.now);
    Verdict::Applied
}

fn believe_ended(f: &mut Folding<'_>) {
    let Some(lease) = f.record.stage.lease().cloned() else { return };
    let message = Redacted::new("it was still said to have ended when the group was released");
    ending::ended(f, lease, &ExitStatus::Unknown, message);
}

/// The attempts of a group of which `holds` is true.
pub(super) fn those(
    group: &GroupState,
    holds: impl Fn(&NodeRecord) -> bool,
) -> Vec<(LogicalNodeId, AttemptId)> {
    let attempts = group.records().flat_map(|record| record.attempts());
    attempts.filter(|one| holds(one)).map(|one| (one.slot.clone(), one.attempt)).collect()
}
