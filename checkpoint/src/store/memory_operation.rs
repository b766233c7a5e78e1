//! Operations in memory: opened, closed, turned back, their steps, and what they come to together.

use std::sync::Arc;

use reconciler_core::{
    checkpoint::{Direction, OperationCheckpoint, StepCheckpoint, derive_operation},
    effect::Intent,
    id::{Fence, OperationId},
    ownership::{LeaseLength, OperationLease},
    time::Timestamp,
};

use super::{book::controller, memory::State, seam::StoreError};
use crate::{
    operation::{OperationRow, OperationStatus, OperationWrite, Outcome},
    step::{StepRow, StepWrite},
};

impl State {
    pub(super) fn open(
        &mut self,
        write: &OperationWrite,
        fence: Fence,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let OperationWrite::Open { id, group, plan, goals, compensation } = write else {
            return Ok(());
        };
        let row = OperationRow {
            id: *id,
            group: group.clone(),
            plan: *plan,
            fence,
            status: OperationStatus::Active,
            checkpoint: Ok(OperationCheckpoint::IntentPersisted),
            superseded_by: None,
            goals: goals.clone(),
            direction: Direction::Forward,
            rollback_plan: None,
            compensation: compensation.clone(),
            restored: None,
            opened_at: at,
            updated_at: at,
            closed_at: None,
        };
        let taken = self.operations.insert(*id, row).is_some();
        let begun = OperationLease::begun(controller(), fence, LeaseLength::default(), at);
        self.leases.insert(*id, begun);
        if taken { Err(StoreError::OperationUsed(*id)) } else { Ok(()) }
    }

    pub(super) fn active(&mut self, id: OperationId) -> Option<&mut OperationRow> {
        self.operations.get_mut(&id).filter(|row| row.status == OperationStatus::Active)
    }

    pub(super) fn close(
        &mut self,
        write: &OperationWrite,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        match write {
            OperationWrite::Abandon { group } => {
                self.break_off(|row| row.group == *group, at);
                return Ok(());
            }
            OperationWrite::Break { id } => {
                self.break_off(|row| row.id == *id, at);
                return Ok(());
            }
            OperationWrite::Open { .. }
            | OperationWrite::TurnBack { .. }
            | OperationWrite::Restored { .. }
            | OperationWrite::GoOn { .. }
            | OperationWrite::Close { .. } => {}
        }
        let OperationWrite::Close { id, outcome, superseded_by } = write else { return Ok(()) };
        let row = self.active(*id).ok_or(StoreError::OperationNotOpen(*id))?;
        row.status = OperationStatus::Closed(*outcome);
        if let Some(own) = outcome.checkpoint() {
            row.checkpoint = Ok(own);
        }
        row.superseded_by = *superseded_by;
        row.updated_at = at;
        row.closed_at = Some(at);
        self.leases.remove(id);
        Ok(())
    }

    /// Breaks off those of the open operations that are meant.
    fn break_off(&mut self, is_meant: impl Fn(&OperationRow) -> bool, at: Timestamp) {
        let open = self.operations.values_mut().filter(|row| row.closed_at.is_none());
        for row in open.filter(|row| is_meant(row)) {
            (row.updated_at, row.closed_at) = (at, Some(at));
            row.status = OperationStatus::Closed(Outcome::Interrupted);
            self.leases.remove(&row.id);
        }
    }

    pub(super) fn turn(
        &mut self,
        write: &OperationWrite,
    ) -> Result<Option<OperationId>, StoreError> {
        match write {
            OperationWrite::TurnBack { id, plan } => {
                let row = self.active(*id).ok_or(StoreError::OperationNotOpen(*id))?;
                (row.direction, row.restored) = (Direction::Rollback, None);
                row.rollback_plan = Some(*plan);
                Ok(Some(*id))
            }
            OperationWrite::Restored { id, proven } => {
                let row = self.active(*id).ok_or(StoreError::OperationNotOpen(*id))?;
                row.restored = Some(*proven);
                Ok(Some(*id))
            }
            OperationWrite::GoOn { id } => {
                self.active(*id).map(|row| Some(row.id)).ok_or(StoreError::OperationNotOpen(*id))
            }
            OperationWrite::Open { .. }
            | OperationWrite::Abandon { .. }
            | OperationWrite::Break { .. }
            | OperationWrite::Close { .. } => Ok(None),
        }
    }

    pub(super) fn step(&mut self, write: &StepWrite) -> Result<OperationId, StoreError> {
        let row = self.steps.get_mut(&write.step).ok_or(StoreError::StepUnknown(write.step))?;
        let row = Arc::make_mut(row);
        let before = row.checkpoint.as_ref().ok().map(|before| before.mark);
        let mark = write.mark.settled(before, row.direction);
        row.checkpoint = Ok(StepCheckpoint::new(row.slot.clone(), mark));
        let told = write.failure.map(|failure| failure.to_string().into());
        row.failure = if write.succeeded() { None } else { told.or(row.failure.take()) };
        row.result = write.result.clone();
        row.finished_at = write.finished_at;
        Ok(row.operation)
    }

    pub(super) fn intent(
        &mut self,
        intent: &Intent,
        mine: Fence,
        at: Timestamp,
    ) -> Result<OperationId, StoreError> {
        let (step, operation, found) = (intent.step, intent.operation, intent.fence);
        if found != mine {
            return Err(StoreError::IntentFence { step, found, mine });
        }
        let open = self.active(operation).ok_or(StoreError::OperationNotOpen(operation))?;
        let direction = open.direction;
        if self.steps.insert(step, Arc::new(StepRow::pending(intent, direction, at))).is_some() {
            return Err(StoreError::StepUsed(step));
        }
        Ok(operation)
    }

    pub(super) fn derive(&mut self, operation: OperationId, at: Timestamp) {
        let marks = self.active(operation).map(|row| row.marks()).unwrap_or_default();
        let steps = self.steps.values().filter(|step| step.operation == operation);
        let steps = steps.filter_map(|step| Some((step.command, step.checkpoint.clone().ok()?)));
        let derived = derive_operation(steps, marks);
        if let Some(row) = self.active(operation) {
            row.checkpoint = Ok(derived);
            row.updated_at = at;
        }
        if let Some(renewed) = self.leases.get(&operation).and_then(|lease| lease.renewed(at)) {
            self.leases.insert(operation, renewed);
        }
    }
}
