//! What attempts own, as rows beside the records: one law for both stores, and the journal's way of keeping it.
//!
//! A row is written with the intent of its lease, before anything is sent (R96), and goes when the absence was seen
//! (R147). The rules stand in the core.

use std::collections::{BTreeMap, BTreeSet};

use reconciler_core::{
    effect::{CommandKind, Intent},
    id::{AttemptId, AttemptOrdinal, Fence, LogicalNodeId, OperationId, ProviderName},
    observed::NodeRecord,
    ownership::{
        ControllerId, Demand, Finalizer, FinalizerState, Finalizers, Identity, Ownership,
        OwnershipError, Tenure, is_unremarkable,
    },
    time::Timestamp,
};
use rusqlite::{
    Connection, Row, params,
    types::{Type, Value},
};

use crate::{
    codec::{is_of_row, misread, num, number, parsed, time, time_if_any, uuid},
    record::RecordWrite,
    store::{Shortfall, StoreError},
    sum,
    unreadable::{self, RowKind, Unreadable},
};

/// Rows of attempts, as a law asks for them.
pub(crate) trait Property {
    /// Why a row could not be read or written.
    type Fault: From<StoreError>;

    /// The rows of a slot.
    fn of_slot(&mut self, slot: &LogicalNodeId) -> Result<Vec<Ownership>, Self::Fault>;

    /// What all attempts take of a provider.
    fn taken(&mut self, provider: &ProviderName) -> Result<Demand, Self::Fault>;

    /// Writes a row; `is_new` if there was none of its attempt.
    fn put(&mut self, row: &Ownership, is_new: bool) -> Result<(), Self::Fault>;

    /// Drops a row.
    fn drop(&mut self, identity: &Identity) -> Result<(), Self::Fault>;
}

/// Applies what an intent means for what its attempt owns; `at` is when it is written.
pub(crate) fn intend<P: Property>(
    rows: &mut P,
    intent: &Intent,
    controller: &ControllerId,
    at: Timestamp,
) -> Result<(), P::Fault> {
    let kind = intent.action.kind();
    let (creates, destroys) = (kind == CommandKind::CreateLease, kind == CommandKind::DestroyLease);
    if !creates && !destroys {
        return Ok(());
    }
    let of_slot = rows.of_slot(&intent.slot)?;
    let same = of_slot.into_iter().find(|row| row.identity.attempt.uuid == intent.attempt.uuid);
    let before = same.as_ref().map(|row| row.demand);
    let row = match same {
        Some(row) => Some(row.intended(intent, controller).map_err(refused)?),
        None => Ownership::begun(intent, controller),
    };
    let Some(row) = row else { return Ok(()) };
    if let Some(admission) = intent.admission.as_deref().filter(|_| creates) {
        if at > admission.until {
            return Err(StoreError::AdmissionOver(intent.slot.clone()).into());
        }
        // A repeat for an attempt that has its room already takes nothing twice.
        let taken = rows.taken(&intent.provider)?.less(before.unwrap_or_default());
        if let Some(resource) = admission.capacity.lacks(&taken, &row.demand) {
            return Err(StoreError::NoCapacity(Box::new(Shortfall {
                slot: intent.slot.clone(),
                provider: intent.provider.clone(),
                resource,
                asked: row.demand.get(resource),
                used: taken.get(resource),
                capacity: admission.capacity.get(resource),
            }))
            .into());
        }
    }
    rows.put(&row, before.is_none())
}

/// Applies what a written record means for what its attempts own.
pub(crate) fn record<P: Property>(rows: &mut P, write: &RecordWrite) -> Result<(), P::Fault> {
    let (slot, record): (_, Option<&NodeRecord>) = match write {
        // A node on its way up and one that serves change nothing here, and are most of what is written.
        RecordWrite::Put(record) if is_unremarkable(record) => return Ok(()),
        RecordWrite::Put(record) => (&record.slot, Some(record)),
        RecordWrite::Remove(slot) => (slot, None),
    };
    for row in rows.of_slot(slot)? {
        match row.clone().recorded(record).map_err(refused)? {
            None => rows.drop(&row.identity)?,
            Some(after) if after != row => rows.put(&after, false)?,
            Some(_same) => {}
        }
    }
    Ok(())
}

fn refused<F: From<StoreError>>(error: OwnershipError) -> F {
    StoreError::Ownership(Box::new(error)).into()
}

/// Writes a row.
pub(crate) fn put(conn: &Connection, row: &Ownership) -> rusqlite::Result<usize> {
    let sql = "INSERT OR REPLACE INTO ownership VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, \
               ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    let Ownership { identity: Identity { slot, attempt, provider }, demand, tenure } = row;
    let admission = tenure.admission.as_ref().map(serde_json::to_vec).transpose();
    let admission = admission.map_err(|error| misread(Type::Blob, error))?;
    conn.prepare_cached(sql)?.execute(params![
        slot.to_string(),
        num(attempt.ordinal.get()),
        attempt.uuid.as_bytes(),
        provider.as_str(),
        num(demand.cpu_millis),
        num(demand.memory_mib),
        num(demand.gpus),
        num(tenure.operation.get()),
        tenure.controller.as_str(),
        num(tenure.fence.get()),
        num(tenure.begun.get()),
        tenure.handoffs,
        tenure.deleting_at.map(time),
        tenure.finalizers.of(Finalizer::DependentResources).as_str(),
        tenure.finalizers.of(Finalizer::RuntimeAbsence).as_str(),
        admission,
        sum_of(row, admission.as_deref()),
    ])
}

fn sum_of(row: &Ownership, admission: Option<&[u8]>) -> i64 {
    let Ownership { identity: Identity { slot, attempt, provider }, demand, tenure } = row;
    let numbers = [
        attempt.ordinal.get(),
        demand.cpu_millis,
        demand.memory_mib,
        demand.gpus,
        tenure.operation.get(),
        tenure.fence.get(),
        tenure.begun.get(),
        tenure.handoffs.into(),
        tenure.deleting_at.map_or(u64::MAX, Timestamp::as_millis),
    ]
    .map(u64::to_le_bytes);
    let state = |finalizer| tenure.finalizers.of(finalizer).as_str().as_bytes();
    sum::sum(&[
        slot.to_string().as_bytes(),
        attempt.uuid.as_bytes(),
        provider.as_str().as_bytes(),
        numbers.as_flattened(),
        tenure.controller.as_str().as_bytes(),
        state(Finalizer::DependentResources),
        state(Finalizer::RuntimeAbsence),
        admission.unwrap_or_default(),
    ])
}

/// One row.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Ownership> {
    let admission = row.get_ref("admission")?.as_blob_or_null()?;
    let admitted = admission.map(serde_json::from_slice).transpose();
    let finalizers = Finalizers::of_parts(state(row, "dependents")?, state(row, "absence")?);
    let held = Ownership {
        identity: Identity {
            slot: parsed(row, "slot")?,
            attempt: AttemptId {
                ordinal: AttemptOrdinal::new(number(row, "ordinal")?),
                uuid: uuid(row, "attempt")?,
            },
            provider: parsed(row, "provider")?,
        },
        demand: Demand {
            nodes: 1,
            cpu_millis: number(row, "cpu_millis")?,
            memory_mib: number(row, "memory_mib")?,
            gpus: number(row, "gpus")?,
        },
        tenure: Tenure {
            operation: OperationId::new(number(row, "operation")?),
            controller: parsed(row, "controller")?,
            fence: Fence::new(number(row, "fence")?),
            begun: Fence::new(number(row, "begun")?),
            handoffs: row.get("handoffs")?,
            deleting_at: time_if_any(row, "deleting_at")?,
            finalizers: finalizers
                .ok_or_else(|| misread(Type::Text, "its finalizers are out of order"))?,
            admission: admitted.map_err(|error| misread(Type::Blob, error))?,
        },
    };
    if row.get::<_, i64>("sum")? != sum_of(&held, admission) {
        return Err(misread(Type::Integer, "its content is not what was written"));
    }
    Ok(held)
}

fn state(row: &Row<'_>, column: &str) -> rusqlite::Result<FinalizerState> {
    let text = row.get_ref(column)?.as_str()?;
    let known = FinalizerState::ALL.into_iter().find(|state| state.as_str() == text);
    known.ok_or_else(|| misread(Type::Text, format!("`{text}` is no state of a finalizer")))
}

/// What attempts own, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// The rows that can be read, in the order of slots and attempts.
    pub rows: Vec<Ownership>,
    /// Those that cannot: none of them hides another (C17).
    pub unreadable: Vec<Unreadable>,
}

/// Every row.
pub(crate) fn all(conn: &Connection) -> rusqlite::Result<Owned> {
    let mut owned = Owned::default();
    let mut statement = conn.prepare("SELECT * FROM ownership")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(one) => owned.rows.push(one),
            Err(error) if is_of_row(&error) => {
                let kind = (RowKind::Ownership, "slot");
                owned.unreadable.push(Unreadable::of(row, kind, &error)?);
            }
            Err(error) => return Err(error),
        }
    }
    owned.rows.sort_by(|a, b| key(a).cmp(&key(b)));
    Ok(owned)
}

/// Takes away each row that cannot be read, so that it is made anew from its record, and says which those were.
///
/// A row of a slot whose record cannot be read either stays: nothing is left to make it from, and the slot is held.
pub(crate) fn clear(conn: &Connection, known: &[NodeRecord]) -> rusqlite::Result<Vec<Unreadable>> {
    let bad = all(conn)?.unreadable;
    if bad.is_empty() {
        return Ok(bad);
    }
    let unread = "SELECT slot FROM record";
    let mut lost: BTreeSet<String> = conn
        .prepare(unread)?
        .query_map([], |row| unreadable::key(row, "slot"))?
        .collect::<Result<_, _>>()?;
    for record in known {
        lost.remove(&record.slot.to_string());
    }
    let mut statement = conn.prepare("SELECT * FROM ownership")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if read(row).is_ok() || lost.contains(&unreadable::key(row, "slot")?) {
            continue;
        }
        let values: (Value, Value) = (row.get("slot")?, row.get("ordinal")?);
        conn.execute("DELETE FROM ownership WHERE slot IS ?1 AND ordinal IS ?2", values)?;
    }
    Ok(bad)
}

fn key(row: &Ownership) -> (&LogicalNodeId, u64) {
    (&row.identity.slot, row.identity.attempt.ordinal.get())
}

/// The rows of a slot.
pub(crate) fn of_slot(conn: &Connection, slot: &LogicalNodeId) -> rusqlite::Result<Vec<Ownership>> {
    let sql = "SELECT * FROM ownership WHERE slot = ?1";
    conn.prepare_cached(sql)?.query_map([slot.to_string()], read)?.collect()
}

/// What all attempts take of a provider; reads every row.
pub(crate) fn taken(conn: &Connection, provider: &ProviderName) -> rusqlite::Result<Demand> {
    let sql = "SELECT count(*), coalesce(sum(cpu_millis), 0), coalesce(sum(memory_mib), 0), \
               coalesce(sum(gpus), 0) FROM ownership WHERE provider = ?1";
    conn.prepare_cached(sql)?.query_row([provider.as_str()], |row| {
        let amount = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
        Ok(Demand {
            nodes: amount(0)?,
            cpu_millis: amount(1)?,
            memory_mib: amount(2)?,
            gpus: amount(3)?,
        })
    })
}

/// Drops a row.
pub(crate) fn remove(conn: &Connection, identity: &Identity) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM ownership WHERE slot = ?1 AND ordinal = ?2";
    let values = params![identity.slot.to_string(), num(identity.attempt.ordinal.get())];
    conn.prepare_cached(sql)?.execute(values)
}

/// Gives every attempt of `records` that owns something and has no row one: an older program wrote none.
pub(crate) fn fill(
    conn: &Connection,
    records: &[NodeRecord],
    controller: &ControllerId,
    fence: Fence,
) -> rusqlite::Result<()> {
    let mut known = conn.prepare("SELECT 1 FROM ownership WHERE slot = ?1 AND ordinal = ?2")?;
    for record in records.iter().flat_map(NodeRecord::attempts).filter(|one| one.may_own()) {
        if known.exists(params![record.slot.to_string(), num(record.attempt.ordinal.get())])? {
            continue;
        }
        if let Some(row) = Ownership::found(record, controller, fence) {
            put(conn, &row)?;
        }
    }
    Ok(())
}

/// What is taken of each provider, by the rows.
pub fn usage(rows: &[Ownership]) -> BTreeMap<ProviderName, Demand> {
    let mut all: BTreeMap<ProviderName, Demand> = BTreeMap::new();
    for row in rows {
        let held = all.entry(row.identity.provider.clone()).or_default();
        *held = held.and(row.demand);
    }
    all
}
