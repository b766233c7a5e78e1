//! One commit as SQL, inside a transaction that the writer holds.
//!
//! A refusal undoes this commit alone; a failure of the database ends the store.

use reconciler_core::{
    id::{LogicalNodeId, OperationId, ProviderName},
    ownership::{Demand, Identity, Ownership},
    time::Timestamp,
};
use rusqlite::{CachedStatement, Connection, params};
use serde::Serialize;

use super::{
    current::Current,
    seam::{Commit, StoreError},
};
use crate::{
    codec::{num, time},
    event::{EventWrite, PassRow},
    lease::Holder,
    ownership::{self, Property},
    record::{GroupWrite, RecordWrite, RolloutWrite, ShapeRow, UsedPlan},
    scan,
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

pub(super) type Applied = Result<(), Fault>;

/// Applies commits in one transaction and counts the rows that they touch.
pub(super) struct Apply<'a> {
    pub(super) conn: &'a Connection,
    pub(super) holder: &'a Holder,
    pub(super) current: &'a mut Current,
    pub(super) rows: u64,
    /// What is taken of the provider that was asked about last.
    pub(super) taken: Option<(ProviderName, Demand)>,
    /// The operations that it broke off.
    pub(super) broken: Vec<OperationId>,
}

impl<'a> Apply<'a> {
    /// Nothing is applied yet.
    pub(super) const fn new(
        conn: &'a Connection,
        holder: &'a Holder,
        current: &'a mut Current,
    ) -> Self {
        Self { conn, holder, current, rows: 0, taken: None, broken: Vec::new() }
    }

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

    pub(super) fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>, Fault> {
        Ok(self.conn.prepare_cached(sql)?)
    }

    pub(super) fn run(&mut self, sql: &str, values: impl rusqlite::Params) -> Result<usize, Fault> {
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

pub(super) fn encode(what: &str, value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value).map_err(|source| {
        Fault::Refused(StoreError::Encode { what: what.to_owned(), source: source.into() })
    })
}
