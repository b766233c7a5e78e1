//! Folding what becomes of an update.

use alloc::{format, string::String};

use super::{NoteKind, Verdict};
use crate::{
    hold::{Hold, HoldCode},
    id::GroupId,
    observed::{ClusterState, Rollout},
    reconcile::RolloutChange,
    redact::Redacted,
    time::Timestamp,
};

impl ClusterState {
    pub(super) fn fold_rollout(
        &mut self,
        group: &GroupId,
        change: RolloutChange,
        now: Timestamp,
    ) -> Verdict {
        match change {
            RolloutChange::Begin { target, prior, reverts, patience } => {
                let done = self.group(group).map_or(0, |state| state.ready_at(target));
                let prior = prior.map(|prior| *prior);
                let mut rollout = Rollout {
                    target,
                    prior,
                    reverts,
                    since: now,
                    done,
                    patience,
                    deadline: None,
                    paused: false,
                    // What was done under an update that this one follows half way is not undone by it either.
                    hooked: self.rollouts.get(group).and_then(|known| known.hooked.clone()),
                    failing: None,
                };
                rollout.begin_patience(now);
                self.tell_update(group, begins(&rollout));
                self.rollouts.insert(group.clone(), rollout);
                self.end_stall(group);
            }
            RolloutChange::Progress { done, patience } => {
                let Some(rollout) = self.rollouts.get_mut(group) else { return Verdict::Stale };
                (rollout.done, rollout.patience) = (done, patience);
                rollout.begin_patience(now);
            }
            RolloutChange::Revert { text, .. } => {
                // Going back is a shape of its own; until that is live, nothing has changed.
                self.tell_update(group, text);
                return Verdict::Unchanged;
            }
            RolloutChange::Fail { code, text } => self.stall(group, code, text, now),
            RolloutChange::End => {
                let Some(over) = self.rollouts.remove(group) else { return Verdict::Stale };
                let text = format!("the update to {} is over", over.target.short());
                self.tell_update(group, Redacted::new(&text));
                self.end_stall(group);
            }
        }
        self.dirty_rollouts.insert(group.clone());
        Verdict::Applied
    }

    /// An operator pauses an update, or lets it go on.
    pub(super) fn fold_paused(&mut self, group: &GroupId, paused: bool, now: Timestamp) -> Verdict {
        let Some(rollout) = self.rollouts.get_mut(group) else { return Verdict::Stale };
        if core::mem::replace(&mut rollout.paused, paused) == paused {
            return Verdict::Unchanged;
        }
        rollout.begin_patience(now);
        let text = if paused { "the update is paused" } else { "the update goes on" };
        self.tell_update(group, Redacted::new(text));
        self.dirty_rollouts.insert(group.clone());
        self.mark_group(group, 0);
        Verdict::Applied
    }

    fn tell_update(&mut self, group: &GroupId, text: Redacted) {
        self.tell(group, NoteKind::Update(text));
    }

    fn stall(&mut self, group: &GroupId, code: HoldCode, text: Redacted, now: Timestamp) {
        if let Some(rollout) = self.rollouts.get_mut(group) {
            rollout.deadline = None;
        }
        self.tell(group, NoteKind::Held(code, text.clone()));
        if let Some(state) = self.group_mut(group) {
            state.hold = Some(Hold { code, text, since: now });
        }
        self.mark_hold(group);
        self.mark_group(group, 0);
    }

    /// Another update, or none, is wanted: that the last one stalled holds nothing any more.
    fn end_stall(&mut self, group: &GroupId) {
        let hold = self.group(group).and_then(|state| state.hold());
        if hold.is_some_and(|hold| hold.code.is_of_update()) {
            self.release_group(group);
        }
    }
}

fn begins(rollout: &Rollout) -> Redacted {
    let target = rollout.target.short();
    let from = rollout.prior.as_ref().map(|prior| prior.revision.short());
    let text: String = match from {
        _ if rollout.reverts => format!("goes back to {target}"),
        Some(from) => format!("an update from {from} to {target} begins"),
        None => format!("an update to {target} begins"),
    };
    Redacted::new(&text)
}
