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
    redact::Redacted,
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

/// Whether an operation was handed over to be taken back, and how far that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Handover {
    /// It was not, or that is done with.
    #[default]
    None,
    /// It was; nothing was done about it yet.
    Due,
    /// What is in doubt of it is being looked at first.
    Looking(BTreeSet<(LogicalNodeId, AttemptId)>),
    /// It cannot be taken back before a doubt is over.
    Doubtful,
    /// It cannot be taken back without a person, who was told why.
    Held,
}

/// An open operation that cannot be read, so that nobody can say how far it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Its group as it stands there.
    pub(crate) group: String,
    /// Why it cannot be read.
    pub(crate) why: Redacted,
}

impl Unread {
    /// Its group, if that can be read.
    pub(crate) fn group(&self) -> Option<GroupId> {
        self.group.parse().ok()
    }
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
    /// Whether it was handed over to be taken back.
    pub(crate) handover: Handover,
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
            handover: Handover::default(),
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
    unread: BTreeMap<OperationId, Unread>,
}

impl Operations {
    /// Takes back what the journal has open; `handed` are those that were handed over to be taken back.
    pub(crate) fn restore(
        open: impl IntoIterator<Item = (GroupId, Open)>,
        unread: BTreeMap<OperationId, Unread>,
        handed: &BTreeSet<OperationId>,
    ) -> Self {
        let mut open: BTreeMap<GroupId, Open> = open.into_iter().collect();
        for one in open.values_mut().filter(|one| !one.goes_back() && handed.contains(&one.id)) {
            one.handover = Handover::Due;
        }
        Self { open, unread }
    }

    /// The open operation of that number that cannot be read.
    pub(crate) fn unread(&self, id: OperationId) -> Option<&Unread> {
        self.unread.get(&id)
    }

    /// Forgets an operation that cannot be read, which is over.
    pub(crate) fn close_unread(&mut self, id: OperationId) {
        self.unread.remove(&id);
    }

    /// The open operations of a group that cannot be read.
    pub(crate) fn unread_of(&self, group: &GroupId) -> Vec<OperationId> {
        let of = self.unread.iter().filter(|(_, one)| one.group == group.as_str());
        of.map(|(id, _)| *id).collect()
    }

    /// The groups whose operation was handed over to be taken back and was not yet.
    pub(crate) fn handed_over(&self) -> impl Iterator<Item = &GroupId> {
        let due = |open: &Open| open.handover != Handover::None;
        self.open.iter().filter(move |(_, open)| due(open)).map(|(group, _)| group)
    }

    /// Notes that an attempt was looked at, for what waits for that before it is taken back.
    pub(crate) fn looked(&mut self, looked: &(LogicalNodeId, AttemptId)) {
        for open in self.open.values_mut() {
            if let Handover::Looking(waiting) = &mut open.handover {
                waiting.remove(looked);
            }
        }
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
