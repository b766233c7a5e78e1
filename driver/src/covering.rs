//! Covering steps with operations: every effect belongs to a confirmed plan (D3).

use std::collections::BTreeSet;

use checkpoint::{
    event::Subject,
    operation::{OperationWrite, Outcome},
    store::Commit,
};
use reconciler_core::{
    checkpoint::Direction,
    desired::ClusterShape,
    hold::HoldCode,
    id::{GroupId, LogicalNodeId, OperationId, PlanHash},
    plan::{LifecyclePlan, PlanInput, Scope, project},
    reconcile::group_converged,
    saga::{Compensation, Cover, Touched},
    time::Timestamp,
};

use crate::{
    operations::{Handover, Health, Open},
    planning,
    state::State,
    view::Edit,
};

impl State {
    /// Makes sure that the group of every slot with a command has an open operation; those without get a
    /// confirmed repair.
    pub(crate) fn cover<'a>(
        &mut self,
        commanded: impl Iterator<Item = &'a LogicalNodeId>,
        now: Timestamp,
        commit: &mut Commit,
    ) {
        let open = |slot: &LogicalNodeId| self.operations.of(&slot.group).is_some();
        let bare: BTreeSet<LogicalNodeId> = commanded.filter(|slot| !open(slot)).cloned().collect();
        if bare.is_empty() {
            return;
        }
        let capabilities = planning::capability_texts(&self.capabilities);
        let input = PlanInput {
            base: &self.shape,
            target: &self.shape,
            capabilities: &capabilities,
            fence: self.fence,
            serial: self.counters.serial,
            parallelism: self.parallelism,
        };
        let hash = match project(&self.cluster, &input, Scope::Slots(&bare), now) {
            Ok(plan) => plan.hash,
            Err(error) => {
                // A plan that does not settle is a fault of the decider; its steps stay uncovered and unsent.
                tracing::error!(%error, "a repair could not be planned");
                return;
            }
        };
        let groups: BTreeSet<GroupId> = bare.into_iter().map(|slot| slot.group).collect();
        for group in groups {
            // A repair leads to what is declared already: there is nothing to go back to.
            self.open_operation(&group, hash, None, &mut commit.operations);
        }
    }

    /// Opens the operations of a plan, each with what it is taken back to; what goes back is turned.
    pub(crate) fn open_for(
        &mut self,
        edit: &Edit,
        plan: &LifecyclePlan,
        old: &ClusterShape,
        commit: &mut Commit,
    ) {
        let back: &[GroupId] = if let Edit::Rollback { groups } = edit { groups } else { &[] };
        for group in back {
            self.turn_back(group, plan.hash, commit);
        }
        let mut groups: Vec<GroupId> =
            plan.changes.iter().map(|change| change.slot.group.clone()).collect();
        groups.dedup();
        for group in groups {
            let (before, after) = (old.group(&group), self.shape.group(&group));
            let touched = Touched {
                open: self.operations.get(&group).map(|open| open.direction),
                taken_back: back.contains(&group),
                anew: before != after,
                hold: self.held_for(&group),
                goes: after.is_none_or(|after| after.count == 0),
            };
            match touched.cover() {
                Cover::GoesOn | Cover::Withheld => {}
                Cover::Opens => {
                    if touched.hold.is_some_and(HoldCode::is_of_operation) {
                        // A group that goes altogether takes with it what nobody can read of it.
                        self.break_all_off(&group, commit);
                    }
                    let way_back = Compensation::of(&group, old, &self.cluster);
                    let writes = &mut commit.operations;
                    self.open_operation(&group, plan.hash, Some(way_back), writes);
                }
            }
        }
    }

    /// What holds a group as a whole.
    pub(crate) fn held_for(&self, group: &GroupId) -> Option<HoldCode> {
        let hold = self.cluster.group(group).and_then(|state| state.hold());
        hold.map(|hold| hold.code)
    }

    /// Opens an operation of `plan` for `group`; one that was open gives way to it.
    pub(crate) fn open_operation(
        &mut self,
        group: &GroupId,
        plan: PlanHash,
        compensation: Option<Compensation>,
        writes: &mut Vec<OperationWrite>,
    ) -> OperationId {
        let id = self.counters.operation;
        self.counters.operation = id.next();
        let goals = self.goals(group);
        let open = Open {
            id,
            plan,
            fence: self.fence,
            direction: Direction::Forward,
            rollback_plan: None,
            compensation: compensation.clone(),
            restored: None,
            health: Health::default(),
            handover: Handover::default(),
        };
        if let Some(older) = self.operations.open(group, open) {
            let outcome = Outcome::Interrupted;
            writes.push(OperationWrite::Close { id: older, outcome, superseded_by: Some(id) });
        }
        writes.push(OperationWrite::Open { id, group: group.clone(), plan, goals, compensation });
        id
    }

    /// Closes the operations of those of `groups` that are as they should be.
    ///
    /// One that was taken back is over only when what serves again was looked at.
    pub(crate) fn close_operations(
        &mut self,
        groups: &BTreeSet<GroupId>,
        now: Timestamp,
        commit: &mut Commit,
    ) {
        for group in groups {
            let Some(open) = self.operations.get(group) else { continue };
            let (id, back) = (open.id, open.goes_back());
            let (seen, wanted) = (self.cluster.group(group), self.shape.group(group));
            let converged = group_converged(seen.map(AsRef::as_ref), wanted.map(AsRef::as_ref));
            let outcome = match (converged, back) {
                (true, false) => Outcome::Succeeded,
                (true, true) if self.is_restored(group) => Outcome::Compensated,
                (true, true) => continue,
                (false, _) => {
                    self.forget_health(group);
                    continue;
                }
            };
            self.operations.close(group);
            if back {
                commit.operations.push(OperationWrite::Restored { id, proven: true });
                let text = format!("operation {id} is taken back, and what served before serves");
                self.tell(Subject::Group(group.clone()), "operation", &text, now, commit);
                self.taken_back = true;
            }
            commit.operations.push(OperationWrite::Close { id, outcome, superseded_by: None });
        }
    }

    /// What an operation for `group` covers, for the journal.
    pub(crate) fn goals(&self, group: &GroupId) -> String {
        match self.shape.group(group) {
            Some(spec) => format!(
                "{} nodes of revision {} at generation {}",
                spec.count, spec.revision, self.shape.generation
            ),
            None => format!("no nodes at generation {}", self.shape.generation),
        }
    }
}
