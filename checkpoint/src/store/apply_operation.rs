//! The rows of operations: opened, closed, turned back, their steps, and what they come to together.

use reconciler_core::{
    checkpoint::{Direction, OperationCheckpoint, OperationMarks, StepCheckpoint},
    effect::{CommandKind, Intent},
    id::OperationId,
    ownership::{LeaseLength, OperationLease},
    plan::inverse,
    time::Timestamp,
};
use rusqlite::{OptionalExtension, params};

use super::{
    apply::{Applied, Apply, Fault, encode},
    seam::StoreError,
};
use crate::{
    codec::{direction, num, parsed, time},
    lease::{self, Holder},
    operation::{OperationStatus, OperationWrite},
    ownership,
    step::{StepWrite, kind},
    sum::sum,
};

impl Apply<'_> {
    pub(super) fn open(&mut self, write: &OperationWrite, at: Timestamp) -> Applied {
        let OperationWrite::Open { id, group, plan, goals, compensation } = write else {
            return Ok(());
        };
        let back = compensation.as_ref().map(|back| encode("a way back", back)).transpose()?;
        let sum = back.as_ref().map(|json| sum(&[&num(id.get()).to_le_bytes(), json]));
        let sql = "INSERT INTO operation (id, node_group, plan, fence, status, checkpoint, goals, \
                   opened_at, updated_at, compensation, sum) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10) ON CONFLICT DO NOTHING";
        let values = params![
            num(id.get()),
            group.as_str(),
            plan.to_string(),
            num(self.holder.fence.get()),
            OperationStatus::Active.as_str(),
            OperationCheckpoint::IntentPersisted.to_string(),
            goals,
            time(at),
            back,
            sum
        ];
        match self.run(sql, values)? {
            0 => Err(Fault::Refused(StoreError::OperationUsed(*id))),
            _inserted => {
                let Holder { controller, machine, fence } = self.holder;
                let length = LeaseLength::default();
                let begun = OperationLease::begun(controller.clone(), *fence, length, at);
                lease::put(self.conn, *id, &begun, machine, None)?;
                self.rows = self.rows.saturating_add(1);
                Ok(())
            }
        }
    }

    pub(super) fn close(&mut self, write: &OperationWrite, at: Timestamp) -> Applied {
        match write {
            OperationWrite::Abandon { group } => return self.abandon(group, at),
            OperationWrite::Break { id } => return self.break_off(*id, at),
            OperationWrite::Open { .. }
            | OperationWrite::TurnBack { .. }
            | OperationWrite::Restored { .. }
            | OperationWrite::GoOn { .. }
            | OperationWrite::Close { .. } => {}
        }
        let OperationWrite::Close { id, outcome, superseded_by } = write else { return Ok(()) };
        // What its steps came to is kept as it stands, also where nobody can read it.
        let sql = "UPDATE operation SET status = ?2, checkpoint = coalesce(?3, checkpoint), \
                   superseded_by = ?4, updated_at = ?5, closed_at = ?5 \
                   WHERE id = ?1 AND status = 'active'";
        let values = params![
            num(id.get()),
            OperationStatus::Closed(*outcome).as_str(),
            outcome.checkpoint().map(|own| own.to_string()),
            superseded_by.map(|id| num(id.get())),
            time(at)
        ];
        match self.run(sql, values)? {
            0 => Err(Fault::Refused(StoreError::OperationNotOpen(*id))),
            _closed => self
                .run("DELETE FROM operation_lease WHERE operation = ?1", [num(id.get())])
                .map(drop),
        }
    }

    /// Notes which way an open operation goes, and how what served before fares; gives it back to be derived.
    pub(super) fn turn(&mut self, write: &OperationWrite) -> Result<Option<OperationId>, Fault> {
        let (id, changed) = match write {
            OperationWrite::TurnBack { id, plan } => {
                let sql = "UPDATE operation SET direction = ?2, rollback_plan = ?3, restored = NULL \
                           WHERE id = ?1 AND status = 'active'";
                let values = params![num(id.get()), Direction::Rollback.as_str(), plan.to_string()];
                let turned = self.run(sql, values)?;
                // What it may have been handed over for is done with this.
                self.forget_target(*id)?;
                (id, turned)
            }
            OperationWrite::GoOn { id } => {
                self.forget_target(*id)?;
                let sql = "SELECT 1 FROM operation WHERE id = ?1 AND status = 'active'";
                (id, usize::from(self.prepare(sql)?.exists([num(id.get())])?))
            }
            OperationWrite::Restored { id, proven } => {
                let sql = "UPDATE operation SET restored = ?2 WHERE id = ?1 AND status = 'active'";
                (id, self.run(sql, params![num(id.get()), proven])?)
            }
            OperationWrite::Open { .. }
            | OperationWrite::Abandon { .. }
            | OperationWrite::Break { .. }
            | OperationWrite::Close { .. } => return Ok(None),
        };
        match changed {
            0 => Err(Fault::Refused(StoreError::OperationNotOpen(*id))),
            _turned => Ok(Some(*id)),
        }
    }

    fn forget_target(&mut self, id: OperationId) -> Applied {
        let sql =
            "UPDATE operation_lease SET target = NULL WHERE operation = ?1 AND target IS NOT NULL";
        self.run(sql, [num(id.get())]).map(drop)
    }

    /// Notes what became of a step. A late result of a closed operation is kept as well: it happened.
    pub(super) fn step(&mut self, write: &StepWrite) -> Result<OperationId, Fault> {
        let unknown = || Fault::Refused(StoreError::StepUnknown(write.step));
        let (operation, slot, before, direction, kind) = self
            .prepare("SELECT operation, slot, checkpoint, direction, kind FROM step WHERE id = ?1")?
            .query_row([num(write.step.get())], |row| {
                // What nobody can read is no reason to refuse what came after it.
                let before = row.get_ref("checkpoint")?.as_str()?.parse().ok();
                let operation: i64 = row.get("operation")?;
                Ok((operation, parsed(row, "slot")?, before, direction(row)?, kind(row).ok()))
            })
            .optional()?
            .ok_or_else(unknown)?;
        let before = before.map(|before: StepCheckpoint| before.mark);
        let checkpoint = StepCheckpoint::new(slot, write.mark.settled(before, direction));
        let class = kind.map(|kind| checkpoint.clone().of_operation(kind).precedence());
        let rank = class.unwrap_or(checkpoint.class()).rank();
        // What was sent in full is for those who look into a doubt; once it ended, its kind is enough.
        let sql = "UPDATE step SET checkpoint = ?2, rank = CASE WHEN rank IS NULL THEN NULL \
                   ELSE ?3 END, result = ?4, finished_at = ?5, \
                   command = CASE WHEN ?5 IS NULL THEN command ELSE x'' END, \
                   failure = CASE WHEN ?6 THEN NULL ELSE coalesce(?7, failure) END WHERE id = ?1";
        let values = params![
            num(write.step.get()),
            checkpoint.to_string(),
            rank,
            write.result.as_str(),
            write.finished_at.map(time),
            write.succeeded(),
            write.failure.map(|failure| failure.to_string())
        ];
        self.run(sql, values)?;
        Ok(OperationId::new(operation.cast_unsigned()))
    }

    pub(super) fn intent(&mut self, intent: &Intent, at: Timestamp) -> Applied {
        let (step, operation) = (intent.step, intent.operation);
        if intent.fence != self.holder.fence {
            let (found, mine) = (intent.fence, self.holder.fence);
            return Err(Fault::Refused(StoreError::IntentFence { step, found, mine }));
        }
        let direction = self
            .prepare("SELECT direction FROM operation WHERE id = ?1 AND status = 'active'")?
            .query_row([num(operation.get())], direction)
            .optional()?
            .ok_or(Fault::Refused(StoreError::OperationNotOpen(operation)))?;
        let slot = intent.slot.to_string();
        self.supersede(intent, &slot)?;
        let checkpoint = StepCheckpoint::new(intent.slot.clone(), direction.pending());
        let rank = checkpoint.clone().of_operation(intent.action.kind()).precedence().rank();
        let sql = "INSERT INTO step VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
                   ?13, '', ?14, NULL, ?15, ?16, NULL) ON CONFLICT DO NOTHING";
        let values = params![
            num(step.get()),
            num(operation.get()),
            slot,
            num(intent.attempt.ordinal.get()),
            intent.attempt.uuid.as_bytes(),
            intent.provider.as_str(),
            intent.action.kind().as_str(),
            intent.key.to_string(),
            num(intent.fence.get()),
            num(intent.timeout.get()),
            encode("an intent", &intent.action)?,
            checkpoint.to_string(),
            rank,
            time(at),
            direction.as_str(),
            inverse(intent.action.kind()).map(CommandKind::as_str)
        ];
        match self.run(sql, values)? {
            0 => Err(Fault::Refused(StoreError::StepUsed(step))),
            _inserted => {
                self.current.note(operation, &intent.slot, step);
                Ok(())
            }
        }
    }

    /// From here on the step before speaks for its slot no more.
    fn supersede(&mut self, intent: &Intent, slot: &str) -> Applied {
        if let Some(before) = self.current.of(intent.operation, &intent.slot) {
            let sql = "UPDATE step SET rank = NULL WHERE id = ?1";
            return self.run(sql, [num(before.get())]).map(drop);
        }
        // The planner has no statistics here and would walk all current steps of the operation.
        let sql = "UPDATE step INDEXED BY step_of_operation SET rank = NULL \
                   WHERE operation = ?1 AND slot = ?2 AND rank IS NOT NULL";
        self.run(sql, params![num(intent.operation.get()), slot]).map(drop)
    }

    /// Brings an open operation's checkpoint to what its steps say.
    pub(super) fn derive(&mut self, operation: OperationId, at: Timestamp) -> Applied {
        let top = self
            .prepare(
                "SELECT rank, checkpoint, kind FROM step INDEXED BY step_by_rank \
                 WHERE operation = ?1 AND rank IS NOT NULL ORDER BY rank DESC, id DESC LIMIT 1",
            )?
            .query_row([num(operation.get())], |row| {
                let text: String = row.get("checkpoint")?;
                // What nobody can read stands as it is.
                let stands = match (text.parse::<StepCheckpoint>(), kind(row)) {
                    (Ok(step), Ok(kind)) => step.of_operation(kind).to_string(),
                    (Err(_), _) | (_, Err(_)) => text,
                };
                Ok((row.get::<_, u8>("rank")?, stands))
            })
            .optional()?;
        let restored: Option<Option<bool>> = self
            .prepare("SELECT restored FROM operation WHERE id = ?1 AND status = 'active'")?
            .query_row([num(operation.get())], |row| row.get("restored"))
            .optional()?;
        let Some(restored) = restored else { return Ok(()) };
        let own = OperationMarks { restored }.checkpoint();
        // What the operation says itself stands over a step of the same class.
        let own =
            own.filter(|own| top.as_ref().is_none_or(|(rank, _)| *rank <= own.precedence().rank()));
        let stands = match (own, top) {
            (Some(own), _) => own.to_string(),
            (None, Some((_, step))) => step,
            (None, None) => OperationCheckpoint::IntentPersisted.to_string(),
        };
        let sql = "UPDATE operation SET updated_at = ?2, checkpoint = ?3 WHERE id = ?1";
        self.run(sql, params![num(operation.get()), time(at), stands])?;
        // Each write to an operation renews the lease on it, in the same transaction (R143).
        let renewed = lease::renew(self.conn, operation, at)?;
        self.rows = self.rows.saturating_add(renewed as u64);
        Ok(())
    }

    /// Notes what an intent means for what its attempt owns.
    pub(super) fn own(&mut self, intent: &Intent, at: Timestamp) -> Applied {
        ownership::intend(self, intent, &self.holder.controller, at)
    }
}
