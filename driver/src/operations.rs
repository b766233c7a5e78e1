//! Open operations: which confirmed plan covers a group's steps, which way it goes, and what it is taken back to (D3).
//!
//! An operation covers goals, not literal steps: every step towards the confirmed shape of its group. A step of a
//! group without an open operation is a repair; the driver plans it, confirms its own hash, and opens one.

use std::collections::{BTreeMap, BTreeSet};

use checkpoint::operation::OperationRow;
use reconciler_core::{
    checkpoint::Direction,
    effect::{Look, WorkloadState},
    id::{AttemptId, Fence, GroupId, LogicalNodeId, OperationId, PlanHash},
    saga::Compensation,
};

/// What is known of the health of what served before, once everything was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// Nobody looked yet.
    #[default]
    Unasked,
    /// These are still to be looked at.
    Looking(BTreeSet<(LogicalNodeId, AttemptId)>),
    /// Each was looked at, and serves.
    Proven,
}

/// One open operation.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// Its number.
    pub(crate) id: OperationId,
    /// The plan that it carries out.
    pub(crate) plan: PlanHash,
    /// The fence under which it was opened.
    pub(crate) fence: Fence,
    /// Which way it goes.
    pub(crate) direction: Direction,
    /// The plan that turned it back, if one did.
    pub(crate) rollback_plan: Option<PlanHash>,
    /// What it is taken back to, if there is a way back.
    pub(crate) compensation: Option<Compensation>,
    /// What the journal has of the restored health.
    pub(crate) restored: Option<bool>,
    /// What is known of it meanwhile.
    pub(crate) health: Health,
}

impl From<&OperationRow> for Open {
    fn from(row: &OperationRow) -> Self {
        Self {
            id: row.id,
            plan: row.plan,
            fence: row.fence,
            direction: row.direction,
            rollback_plan: row.rollback_plan,
            compensation: row.compensation.clone(),
            restored: row.restored,
            health: Health::default(),
        }
    }
}

impl Open {
    /// True if it goes back.
    pub(crate) fn goes_back(&self) -> bool {
        self.direction == Direction::Rollback
    }
}

/// The open operations by group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operations {
    open: BTreeMap<GroupId, Open>,
}

impl Operations {
    /// Takes back what the journal has open.
    pub(crate) fn restore(open: impl IntoIterator<Item = (GroupId, Open)>) -> Self {
        Self { open: open.into_iter().collect() }
    }

    /// Opens one, and gives back the one that it takes the place of.
    pub(crate) fn open(&mut self, group: &GroupId, open: Open) -> Option<OperationId> {
        self.open.insert(group.clone(), open).map(|older| older.id)
    }

    /// Forgets a group's operation, which is over.
    pub(crate) fn close(&mut self, group: &GroupId) -> Option<Open> {
        self.open.remove(group)
    }

    /// The operation that covers a group's steps.
    pub(crate) fn of(&self, group: &GroupId) -> Option<OperationId> {
        self.get(group).map(|open| open.id)
    }

    /// All about it.
    pub(crate) fn get(&self, group: &GroupId) -> Option<&Open> {
        self.open.get(group)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, group: &GroupId) -> Option<&mut Open> {
        self.open.get_mut(group)
    }

    /// The open operation of that number, with its group.
    pub(crate) fn find(&self, id: OperationId) -> Option<(&GroupId, &Open)> {
        self.open.iter().find(|(_, open)| open.id == id)
    }

    /// The groups whose operation goes back.
    pub(crate) fn going_back(&self) -> impl Iterator<Item = &GroupId> {
        self.open.iter().filter(|(_, open)| open.goes_back()).map(|(group, _)| group)
    }

    /// The attempts whose health is still to be seen.
    pub(crate) fn to_be_seen(&self) -> Vec<(LogicalNodeId, AttemptId)> {
        let looking = self.open.values().filter_map(|open| match &open.health {
            Health::Looking(attempts) => Some(attempts),
            Health::Unasked | Health::Proven => None,
        });
        looking.flatten().cloned().collect()
    }

    /// Notes what a look at an attempt showed; true if it was the last that a group's proof waited for.
    ///
    /// A look that tells nothing proves nothing; one that shows that it does not serve is folded, and the group is
    /// not what it should be any more.
    pub(crate) fn seen(&mut self, looked: &(LogicalNodeId, AttemptId), look: &Look) -> bool {
        let Some(open) = self.open.get_mut(&looked.0.group) else { return false };
        let Health::Looking(attempts) = &mut open.health else { return false };
        let serves = match look {
            Look::Present { workload, .. } => match workload {
                WorkloadState::Running { .. } | WorkloadState::Unknown => true,
                WorkloadState::Absent | WorkloadState::Exited { .. } => false,
            },
            Look::Absent | Look::Unknown { .. } => false,
        };
        if !serves || !attempts.remove(looked) || !attempts.is_empty() {
            return false;
        }
        open.health = Health::Proven;
        true
    }
}
