//! The proof that what served before serves again: a fresh look at each of its nodes, after everything was taken back
//! (R131, R134).

use std::collections::BTreeSet;

use checkpoint::{operation::OperationWrite, store::Commit};
use reconciler_core::{
    hold::HoldCode,
    id::{AttemptId, GroupId, LogicalNodeId},
    observed::{GroupState, NodeRecord},
};

use crate::{looping::Loop, operations::Health, state::State};

impl State {
    /// True once every node of a group that was taken back was looked at and serves; asks for the looks.
    pub(crate) fn is_restored(&mut self, group: &GroupId) -> bool {
        let serving = self.serving(group);
        let Some(open) = self.operations.get_mut(group) else { return false };
        match &open.health {
            Health::Proven => true,
            Health::Looking(_) => false,
            Health::Unasked if serving.is_empty() => true,
            Health::Unasked => {
                self.looks.extend(serving.iter().cloned());
                open.health = Health::Looking(serving);
                false
            }
        }
    }

    /// The attempts of a group that are to have a workload, and have one.
    fn serving(&self, group: &GroupId) -> BTreeSet<(LogicalNodeId, AttemptId)> {
        let records = self.cluster.group(group).map(AsRef::as_ref);
        let records = records.into_iter().flat_map(GroupState::records);
        let serves = |record: &&NodeRecord| record.is_ready() && record.stage.workload().is_some();
        let records = records.map(AsRef::as_ref).filter(serves);
        records.map(|record| (record.slot.clone(), record.attempt)).collect()
    }

    /// A group is not as it should be any more: what was seen of its health counts no longer.
    pub(crate) fn forget_health(&mut self, group: &GroupId) {
        if let Some(open) = self.operations.get_mut(group) {
            open.health = Health::Unasked;
        }
    }

    /// Writes down that what was taken back does not serve, and takes that back when the hold ends.
    pub(crate) fn note_health(&mut self, group: &GroupId, commit: &mut Commit) {
        let hold = self.cluster.group(group).and_then(|state| state.hold());
        let failed = hold.is_some_and(|hold| hold.code == HoldCode::RestoredHealthFailed);
        let Some(open) = self.operations.get_mut(group).filter(|open| open.goes_back()) else {
            return;
        };
        let id = open.id;
        match (failed, open.restored, open.rollback_plan) {
            (true, None | Some(true), _) => {
                open.restored = Some(false);
                commit.operations.push(OperationWrite::Restored { id, proven: false });
            }
            (false, Some(false), Some(plan)) => {
                open.restored = None;
                commit.operations.push(OperationWrite::TurnBack { id, plan });
            }
            (true, Some(false), _) | (false, None | Some(_), _) => {}
        }
    }
}

impl Loop {
    /// Looks once more at what a proof still waits for: an earlier look may have told nothing.
    pub(crate) fn look_for_health(&mut self) {
        for (slot, attempt) in self.state.operations.to_be_seen() {
            self.look(&slot, attempt);
        }
    }
}
