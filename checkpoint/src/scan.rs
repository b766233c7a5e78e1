//! The recovery scan: everything that a driver starts from, read in one transaction.
//!
//! A row that this version cannot read is reported beside the others and stops none of them (C17); damage of the
//! file itself is an error.

use std::{collections::BTreeMap, sync::Arc};

use reconciler_core::{
    hold::Hold,
    id::{
        Fence, GroupId, LogicalNodeId, OperationId, PassNumber, PlanHash, PlanSerial,
        RevisionDigest, StepId,
    },
    observed::{NodeRecord, Rollout},
};
use rusqlite::{Connection, OptionalExtension, Row, types::Type};
use serde::de::DeserializeOwned;

use crate::{
    codec::{misread, number, parsed},
    event::EventRow,
    lease::{self, LeaseRow},
    operation::OpenOperation,
    operation_scan::open_operations,
    owner::OwnerRecord,
    record::{ShapeRow, UsedPlan},
    sum,
    unreadable::{RowKind, Unreadable, read_all},
};

/// How many of the newest events a scan brings along.
pub const EVENTS_TAIL: u32 = 200;

/// Everything that a driver starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The fence: this driver's own, or for a reader the present owner's.
    pub fence: Fence,
    /// Who owned the run before; for a reader, who owns it now or did last.
    pub previous_owner: Option<OwnerRecord>,
    /// The present shape.
    pub shape: Option<ShapeRow>,
    /// The digest of the file as it was last applied.
    pub file_digest: Option<String>,
    /// The serial that the next plan carries: one higher than that of the newest that was confirmed.
    pub serial: PlanSerial,
    /// The newest pass.
    pub last_pass: PassNumber,
    /// The number that the next operation gets.
    pub next_operation: OperationId,
    /// The number that the next step gets.
    pub next_step: StepId,
    /// Every record that can be read, in the order of slots.
    pub records: Vec<NodeRecord>,
    /// The groups that are held.
    pub group_holds: Vec<(GroupId, Hold)>,
    /// The updates under way.
    pub rollouts: Vec<(GroupId, Rollout)>,
    /// What is open, with its steps.
    pub open_operations: Vec<OpenOperation>,
    /// The newest events, the oldest of them first.
    pub events: Vec<EventRow>,
    /// The leases on what is open, as their owners left them.
    pub leases: Vec<LeaseRow>,
    /// What cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// The tables that decisions start from; small beside the history, and so checked whole whenever they are read.
const DECIDING: [&str; 6] = ["owner", "shape", "used_plan", "record", "group_hold", "rollout"];

/// Reads everything. The caller holds a transaction, so that it is of one moment.
pub(crate) fn scan(conn: &Connection) -> rusqlite::Result<Recovered> {
    for table in DECIDING {
        // Without this a page that lost its count of rows would pass for an empty table.
        check_structure(conn, table)?;
    }
    let mut unreadable = Vec::new();
    let owner = OwnerRecord::find(conn)?;
    let shape = present_shape(conn)?;
    let top = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok(Recovered {
        fence: owner.as_ref().map_or(Fence::default(), |owner| owner.fence),
        previous_owner: owner,
        file_digest: shape.as_ref().and_then(|shape| shape.file_digest.clone()),
        shape,
        serial: PlanSerial::new(
            top("SELECT coalesce(max(serial) + 1, 0) FROM used_plan")?.cast_unsigned(),
        ),
        last_pass: PassNumber::new(
            top("SELECT coalesce(max(number), 0) FROM pass")?.cast_unsigned(),
        ),
        next_operation: OperationId::new(
            top("SELECT coalesce(max(id), 0) FROM operation")?.cast_unsigned(),
        )
        .next(),
        next_step: StepId::new(top("SELECT coalesce(max(id), 0) FROM step")?.cast_unsigned())
            .next(),
        records: records(conn, &mut unreadable)?,
        group_holds: group_holds(conn, &mut unreadable)?,
        rollouts: rollouts(conn, &mut unreadable)?,
        open_operations: open_operations(conn, &mut unreadable)?,
        events: events_tail(conn, &mut unreadable)?,
        leases: leases(conn, &mut unreadable)?,
        unreadable,
    })
}

/// Fails unless the pages of `table` and of its indexes are as they must be.
fn check_structure(conn: &Connection, table: &str) -> rusqlite::Result<()> {
    let sql = format!("PRAGMA integrity_check('{table}')");
    let said: String = conn.query_row(&sql, [], |row| row.get(0))?;
    if said == "ok" { Ok(()) } else { Err(misread(Type::Null, format!("{table}: {said}"))) }
}

/// The newest shape; one that cannot be read is an error, since nothing may be decided without it.
pub(crate) fn present_shape(conn: &Connection) -> rusqlite::Result<Option<ShapeRow>> {
    let columns = ShapeRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM shape ORDER BY generation DESC LIMIT 1");
    conn.prepare_cached(&sql)?.query_row([], ShapeRow::read).optional()
}

/// Reads a JSON value whose sum is over its key and itself.
fn summed<T: DeserializeOwned>(row: &Row<'_>, (key, value): (&str, &str)) -> rusqlite::Result<T> {
    let json = row.get_ref(value)?.as_blob()?;
    sum::check(row, &[row.get_ref(key)?.as_bytes()?, json])?;
    serde_json::from_slice(json).map_err(|error| misread(Type::Blob, error))
}

fn records(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<NodeRecord>> {
    let mut shared = Shared::default();
    let sql = "SELECT slot, record, sum FROM record";
    let mut all = read_all(conn, sql, (RowKind::Record, "slot"), unreadable, |row| {
        let mut record = record(row)?;
        shared.share(&mut record);
        Ok(record)
    })?;
    all.sort_unstable_by(|a, b| a.slot.cmp(&b.slot));
    Ok(all)
}

/// One slot's record.
pub(crate) fn record(row: &Row<'_>) -> rusqlite::Result<NodeRecord> {
    let slot: LogicalNodeId = parsed(row, "slot")?;
    let record: NodeRecord = summed(row, ("slot", "record"))?;
    if record.slot != slot {
        return Err(misread(Type::Blob, format!("the record is for {}", record.slot)));
    }
    Ok(record)
}

/// One group's hold.
pub(crate) fn group_hold(row: &Row<'_>) -> rusqlite::Result<(GroupId, Hold)> {
    Ok((parsed(row, "node_group")?, summed(row, ("node_group", "hold"))?))
}

/// One group's update.
pub(crate) fn rollout(row: &Row<'_>) -> rusqlite::Result<(GroupId, Rollout)> {
    Ok((parsed(row, "node_group")?, summed(row, ("node_group", "rollout"))?))
}

/// Makes equal specs and policies one allocation again, as they were before they were written.
#[derive(Default)]
struct Shared {
    specs: BTreeMap<RevisionDigest, NodeRecord>,
}

impl Shared {
    fn share(&mut self, record: &mut NodeRecord) {
        if let Some(second) = &mut record.second {
            self.share(&mut second.record);
        }
        let Some(first) = self.specs.get(&record.revision) else {
            self.specs.insert(record.revision, record.clone());
            return;
        };
        if first.spec == record.spec {
            record.spec = Arc::clone(&first.spec);
        }
        if first.policy == record.policy {
            record.policy = Arc::clone(&first.policy);
        }
    }
}

fn group_holds(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<(GroupId, Hold)>> {
    let sql = "SELECT node_group, hold, sum FROM group_hold ORDER BY node_group";
    read_all(conn, sql, (RowKind::GroupHold, "node_group"), unreadable, group_hold)
}

fn rollouts(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<(GroupId, Rollout)>> {
    let sql = "SELECT node_group, rollout, sum FROM rollout ORDER BY node_group";
    read_all(conn, sql, (RowKind::Rollout, "node_group"), unreadable, rollout)
}

/// The leases on open operations; the tables of a journal that an older program wrote last lack them.
fn leases(conn: &Connection, unreadable: &mut Vec<Unreadable>) -> rusqlite::Result<Vec<LeaseRow>> {
    read_all(conn, lease::OPEN, (RowKind::Lease, "operation"), unreadable, LeaseRow::read)
}

fn events_tail(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<EventRow>> {
    let sql =
        format!("SELECT {} FROM event ORDER BY seq DESC LIMIT {EVENTS_TAIL}", EventRow::COLUMNS);
    let mut tail = read_all(conn, &sql, (RowKind::Event, "seq"), unreadable, EventRow::read)?;
    tail.reverse();
    Ok(tail)
}

/// The hashes of all plans that were confirmed. One that cannot be read is an error: it could be used twice.
pub(crate) fn used_plans(conn: &Connection) -> rusqlite::Result<Vec<PlanHash>> {
    let mut statement = conn.prepare("SELECT hash, serial, sum FROM used_plan")?;
    statement.query_map([], |row| used_plan(row).map(|plan| plan.hash))?.collect()
}

/// One confirmed plan.
pub(crate) fn used_plan(row: &Row<'_>) -> rusqlite::Result<UsedPlan> {
    let serial = number(row, "serial")?;
    sum::check(row, &[row.get_ref("hash")?.as_bytes()?, &serial.to_le_bytes()])?;
    Ok(UsedPlan { hash: parsed(row, "hash")?, serial: PlanSerial::new(serial) })
}

/// Numbers that only the tests' differential law and the reader compare.
pub(crate) fn is_used(conn: &Connection, hash: &str) -> rusqlite::Result<bool> {
    let mut statement =
        conn.prepare_cached("SELECT count(*) AS n FROM used_plan WHERE hash = ?1")?;
    statement.query_row([hash], |row| number(row, "n")).map(|n| n > 0)
}
