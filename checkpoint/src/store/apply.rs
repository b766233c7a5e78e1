//! One commit as SQL, inside a transaction that the writer holds.
//!
//! A refusal undoes this commit alone; a failure of the database ends the store.

use reconciler_core::{
    checkpoint::{Direction, OperationCheckpoint, OperationMarks, StepCheckpoint},
    effect::{CommandKind, Intent},
    id::{LogicalNodeId, OperationId, ProviderName},
    ownership::{Demand, Identity, LeaseLength, OperationLease, Ownership},
    plan::inverse,
    time::Timestamp,
};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use serde::Serialize;

use super::seam::{Commit, StoreError};
use crate::{
    codec::{direction, num, parsed, time},
    event::{EventWrite, PassRow},
    lease::{self, Holder},
    operation::{OperationStatus, OperationWrite, Outcome},
    ownership::{self, Property},
    record::{GroupWrite, RecordWrite, RolloutWrite, ShapeRow, UsedPlan},
    scan,
    step::StepWrite,
    sum::sum,
};

/// Why a commit was not applied.
pub(super) enum Fault {
    /// Only this commit is refused.
    Refused(StoreError),
    /// The database failed.
    Sql(rusqlite::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

type Applied = Result<(), Fault>;

/// Applies commits in one transaction and counts the rows that they touch.
pub(super) struct Apply<'a> {
    pub(super) conn: &'a Connection,
    pub(super) holder: &'a Holder,
    pub(super) rows: u64,
    /// What is taken of the provider that was asked about last.
    pub(super) taken: Option<(ProviderName, Demand)>,
}

impl Apply<'_> {
    /// Applies one commit.
    pub(super) fn commit(&mut self, commit: &Commit) -> Applied {
        let at = commit.at;
        commit.pass.iter().try_for_each(|pass| self.pass(pass))?;
        commit.shape.iter().try_for_each(|shape| self.shape(shape))?;
        commit.used_plan.iter().try_for_each(|plan| self.used_plan(plan, at))?;
        let mut touched = Vec::new();
        for write in &commit.operations {
            self.open(write, at)?;
            touched.extend(self.turn(write)?);
        }
        for step in &commit.steps {
            touched.push(self.step(step)?);
        }
        for intent in &commit.intents {
            self.intent(intent, at)?;
            touched.push(intent.operation);
        }
        touched.sort_unstable();
        touched.dedup();
        touched.iter().try_for_each(|operation| self.derive(*operation, at))?;
        commit.operations.iter().try_for_each(|write| self.close(write, at))?;
        commit.records.iter().try_for_each(|record| self.record(record))?;
        // After the records: they say what is gone, and so free, and whether a lease may be given back.
        commit.intents.iter().try_for_each(|intent| self.own(intent, at))?;
        commit.groups.iter().try_for_each(|group| self.group(group))?;
        commit.rollouts.iter().try_for_each(|write| self.rollout(write))?;
        commit.events.iter().try_for_each(|event| self.event(event))
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>, Fault> {
        Ok(self.conn.prepare_cached(sql)?)
    }

    fn run(&mut self, sql: &str, values: impl rusqlite::Params) -> Result<usize, Fault> {
        let n = self.prepare(sql)?.execute(values)?;
        self.rows = self.rows.saturating_add(n as u64);
        Ok(n)
    }

    fn pass(&mut self, row: &PassRow) -> Applied {
        let sql = "INSERT OR REPLACE INTO pass VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let values = params![
            num(row.pass.get()),
            time(row.at),
            row.trigger.as_str(),
            row.facts,
            row.transitions,
            row.effects,
            row.failures,
            num(row.micros)
        ];
        self.run(sql, values).map(drop)
    }

    fn shape(&mut self, row: &ShapeRow) -> Applied {
        // Never an older shape over a newer one, nor other content under one generation (C15, R20 to R22).
        if let Some(present) = scan::present_shape(self.conn)? {
            let follows = present.shape.may_become(&row.shape);
            follows.map_err(|error| Fault::Refused(StoreError::Shape(error)))?;
        }
        let sql = "INSERT OR REPLACE INTO shape (generation, shape, source, who, plan, \
                   file_digest, at, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let generation = row.shape.generation.get();
        let json = encode("the shape", &row.shape)?;
        let values = params![
            num(generation),
            json,
            row.source.as_str(),
            row.who.as_str(),
            row.plan.map(|plan| plan.to_string()),
            row.file_digest,
            time(row.at),
            sum(&[&generation.to_le_bytes(), &json])
        ];
        self.run(sql, values).map(drop)
    }

    fn used_plan(&mut self, plan: &UsedPlan, at: Timestamp) -> Applied {
        let sql = "INSERT INTO used_plan VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        let hash = plan.hash.to_string();
        let sum = sum(&[hash.as_bytes(), &plan.serial.get().to_le_bytes()]);
        let values = params![hash, num(plan.serial.get()), time(at), sum];
        match self.run(sql, values)? {
            0 => Err(Fault::Refused(StoreError::PlanUsed(plan.hash))),
            _inserted => Ok(()),
        }
    }

    fn open(&mut self, write: &OperationWrite, at: Timestamp) -> Applied {
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

    fn close(&mut self, write: &OperationWrite, at: Timestamp) -> Applied {
        if let OperationWrite::Abandon { group } = write {
            let sql = "UPDATE operation SET status = ?2, updated_at = ?3, closed_at = ?3 \
                       WHERE node_group = ?1 AND status = 'active'";
            let status = OperationStatus::Closed(Outcome::Interrupted).as_str();
            self.run(sql, params![group.as_str(), status, time(at)])?;
            let sql = "DELETE FROM operation_lease WHERE operation IN \
                       (SELECT id FROM operation WHERE node_group = ?1)";
            return self.run(sql, [group.as_str()]).map(drop);
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
    fn turn(&mut self, write: &OperationWrite) -> Result<Option<OperationId>, Fault> {
        let (id, changed) = match write {
            OperationWrite::TurnBack { id, plan } => {
                let sql = "UPDATE operation SET direction = ?2, rollback_plan = ?3, restored = NULL \
                           WHERE id = ?1 AND status = 'active'";
                let values = params![num(id.get()), Direction::Rollback.as_str(), plan.to_string()];
                (id, self.run(sql, values)?)
            }
            OperationWrite::Restored { id, proven } => {
                let sql = "UPDATE operation SET restored = ?2 WHERE id = ?1 AND status = 'active'";
                (id, self.run(sql, params![num(id.get()), proven])?)
            }
            OperationWrite::Open { .. }
            | OperationWrite::Abandon { .. }
            | OperationWrite::Close { .. } => return Ok(None),
        };
        match changed {
            0 => Err(Fault::Refused(StoreError::OperationNotOpen(*id))),
            _turned => Ok(Some(*id)),
        }
    }

    /// Notes what became of a step. A late result of a closed operation is kept as well: it happened.
    fn step(&mut self, write: &StepWrite) -> Result<OperationId, Fault> {
        let unknown = || Fault::Refused(StoreError::StepUnknown(write.step));
        let (operation, slot, before, direction) = self
            .prepare("SELECT operation, slot, checkpoint, direction FROM step WHERE id = ?1")?
            .query_row([num(write.step.get())], |row| {
                // What nobody can read is no reason to refuse what came after it.
                let before = row.get_ref("checkpoint")?.as_str()?.parse().ok();
                let operation: i64 = row.get("operation")?;
                Ok((operation, parsed(row, "slot")?, before, direction(row)?))
            })
            .optional()?
            .ok_or_else(unknown)?;
        let before = before.map(|before: StepCheckpoint| before.mark);
        let checkpoint = StepCheckpoint::new(slot, write.mark.settled(before, direction));
        // What was sent in full is for those who look into a doubt; once it ended, its kind is enough.
        let sql = "UPDATE step SET checkpoint = ?2, rank = CASE WHEN rank IS NULL THEN NULL \
                   ELSE ?3 END, result = ?4, finished_at = ?5, \
                   command = CASE WHEN ?5 IS NULL THEN command ELSE x'' END WHERE id = ?1";
        let values = params![
            num(write.step.get()),
            checkpoint.to_string(),
            checkpoint.class().rank(),
            write.result.as_str(),
            write.finished_at.map(time)
        ];
        self.run(sql, values)?;
        Ok(OperationId::new(operation.cast_unsigned()))
    }

    fn intent(&mut self, intent: &Intent, at: Timestamp) -> Applied {
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
        // The planner has no statistics here and would walk all current steps of the operation.
        let sql = "UPDATE step INDEXED BY step_of_operation SET rank = NULL \
                   WHERE operation = ?1 AND slot = ?2 AND rank IS NOT NULL";
        self.run(sql, params![num(operation.get()), slot])?;
        let checkpoint = StepCheckpoint::new(intent.slot.clone(), direction.pending());
        let sql = "INSERT INTO step VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
                   ?13, '', ?14, NULL, ?15, ?16) ON CONFLICT DO NOTHING";
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
            checkpoint.class().rank(),
            time(at),
            direction.as_str(),
            inverse(intent.action.kind()).map(CommandKind::as_str)
        ];
        match self.run(sql, values)? {
            0 => Err(Fault::Refused(StoreError::StepUsed(step))),
            _inserted => Ok(()),
        }
    }

    /// Brings an open operation's checkpoint to what its steps say.
    fn derive(&mut self, operation: OperationId, at: Timestamp) -> Applied {
        let top = self
            .prepare(
                "SELECT rank, checkpoint FROM step INDEXED BY step_by_rank \
                 WHERE operation = ?1 AND rank IS NOT NULL ORDER BY rank DESC, id DESC LIMIT 1",
            )?
            .query_row([num(operation.get())], |row| {
                Ok((row.get::<_, u8>("rank")?, row.get::<_, String>("checkpoint")?))
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
            own.filter(|own| top.as_ref().is_none_or(|(rank, _)| *rank <= own.row().class.rank()));
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
    fn own(&mut self, intent: &Intent, at: Timestamp) -> Applied {
        ownership::intend(self, intent, &self.holder.controller, at)
    }

    fn record(&mut self, write: &RecordWrite) -> Applied {
        match write {
            RecordWrite::Put(record) => {
                let sql = "INSERT INTO record VALUES (?1, ?2, ?3) ON CONFLICT (slot) \
                           DO UPDATE SET record = excluded.record, sum = excluded.sum";
                let (slot, json) = (record.slot.to_string(), encode("a record", record)?);
                let sum = sum(&[slot.as_bytes(), &json]);
                self.run(sql, params![slot, json, sum])
            }
            RecordWrite::Remove(slot) => {
                self.run("DELETE FROM record WHERE slot = ?1", [slot.to_string()])
            }
        }?;
        ownership::record(self, write)
    }

    fn group(&mut self, write: &GroupWrite) -> Applied {
        let group = write.group.as_str();
        match &write.hold {
            Some(hold) => {
                let sql = "INSERT OR REPLACE INTO group_hold VALUES (?1, ?2, ?3)";
                let json = encode("a hold", hold)?;
                self.run(sql, params![group, json, sum(&[group.as_bytes(), &json])])
            }
            None => self.run("DELETE FROM group_hold WHERE node_group = ?1", [group]),
        }
        .map(drop)
    }

    fn rollout(&mut self, write: &RolloutWrite) -> Applied {
        let group = write.group.as_str();
        match &write.rollout {
            Some(rollout) => {
                let sql = "INSERT OR REPLACE INTO rollout VALUES (?1, ?2, ?3)";
                let json = encode("an update", rollout)?;
                self.run(sql, params![group, json, sum(&[group.as_bytes(), &json])])
            }
            None => self.run("DELETE FROM rollout WHERE node_group = ?1", [group]),
        }
        .map(drop)
    }

    fn event(&mut self, event: &EventWrite) -> Applied {
        let subject = event.subject.to_string();
        let (kind, text) = (event.kind.as_ref(), event.text.as_str());
        let (at, pass) = (time(event.at), num(event.pass.get()));
        let repeats = "UPDATE event SET count = count + 1, at = ?4, pass = ?5 WHERE seq = \
                       (SELECT max(seq) FROM event WHERE subject = ?1) AND kind = ?2 AND text = ?3";
        if self.run(repeats, params![subject, kind, text, at, pass])? > 0 {
            return Ok(());
        }
        let sql = "INSERT INTO event (first_at, at, pass, subject, kind, text, count) \
                   VALUES (?4, ?4, ?5, ?1, ?2, ?3, 1)";
        self.run(sql, params![subject, kind, text, at, pass]).map(drop)
    }
}

impl Property for Apply<'_> {
    type Fault = Fault;

    fn of_slot(&mut self, slot: &LogicalNodeId) -> Result<Vec<Ownership>, Fault> {
        Ok(ownership::of_slot(self.conn, slot)?)
    }

    fn taken(&mut self, provider: &ProviderName) -> Result<Demand, Fault> {
        if let Some((_, taken)) = self.taken.as_ref().filter(|(of, _)| of == provider) {
            return Ok(*taken);
        }
        let taken = ownership::taken(self.conn, provider)?;
        self.taken = Some((provider.clone(), taken));
        Ok(taken)
    }

    fn put(&mut self, row: &Ownership, is_new: bool) -> Applied {
        let n = ownership::put(self.conn, row)?;
        self.rows = self.rows.saturating_add(n as u64);
        if let Some((of, taken)) = self.taken.as_mut().filter(|_| is_new)
            && *of == row.identity.provider
        {
            *taken = taken.and(row.demand);
        }
        Ok(())
    }

    fn drop(&mut self, identity: &Identity) -> Applied {
        self.taken = None;
        let n = ownership::remove(self.conn, identity)?;
        self.rows = self.rows.saturating_add(n as u64);
        Ok(())
    }
}

fn encode(what: &str, value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value).map_err(|source| {
        Fault::Refused(StoreError::Encode { what: what.to_owned(), source: source.into() })
    })
}
