//! The recovery scan: everything that a driver starts from, read in one transaction.
//!
//! A row that this version cannot read is reported beside the others and stops none of them (C17); damage of the
//! file itself is an error.

use std::{collections::BTreeMap, sync::Arc};

use reconciler_core::{
    hold::Hold,
    id::{
        Fence, GroupId, LogicalNodeId, OperationId, PassNumber, PlanSerial, RevisionDigest, StepId,
    },
    observed::{NodeRecord, Rollout},
    redact::Redacted,
};
use rusqlite::{Connection, OptionalExtension, Row, types::Type};

use crate::{
    codec::{is_of_row, misread, number, parsed},
    event::EventRow,
    operation::{OpenOperation, OperationRow},
    owner::OwnerRecord,
    record::ShapeRow,
    step::StepRow,
};

/// How many of the newest events a scan brings along.
pub const EVENTS_TAIL: u32 = 200;

/// Which table an unreadable row is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// A slot's record: the slot must be held (`record.unrecognised`).
    Record,
    /// A group's hold: the group must stay held.
    GroupHold,
    /// A group's update: it begins anew, with what serves then as what served before.
    Rollout,
    /// An open operation.
    Operation,
    /// A step of an open operation.
    Step,
    /// An event.
    Event,
}

/// A row that this version cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which table.
    pub kind: RowKind,
    /// Its key as it stands there: the slot, the group, or the number.
    pub key: String,
    /// Why.
    pub why: Redacted,
}

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
    /// How many plans were confirmed.
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
    /// What cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// Reads everything. The caller holds a transaction, so that it is of one moment.
pub(crate) fn scan(conn: &Connection) -> rusqlite::Result<Recovered> {
    let mut unreadable = Vec::new();
    let owner = OwnerRecord::find(conn)?;
    let shape = present_shape(conn)?;
    let top = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok(Recovered {
        fence: owner.as_ref().map_or(Fence::default(), |owner| owner.fence),
        previous_owner: owner,
        file_digest: shape.as_ref().and_then(|shape| shape.file_digest.clone()),
        shape,
        serial: PlanSerial::new(top("SELECT count(*) FROM used_plan")?.cast_unsigned()),
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
        unreadable,
    })
}

/// The newest shape; one that cannot be read is an error, since nothing may be decided without it.
pub(crate) fn present_shape(conn: &Connection) -> rusqlite::Result<Option<ShapeRow>> {
    let columns = ShapeRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM shape ORDER BY generation DESC LIMIT 1");
    conn.prepare_cached(&sql)?.query_row([], ShapeRow::read).optional()
}

/// Reads all rows of `sql`, whose column `key` names each; rows that cannot be read go to `unreadable`.
fn read_all<T>(
    conn: &Connection,
    sql: &str,
    (kind, key): (RowKind, &str),
    unreadable: &mut Vec<Unreadable>,
    mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(value) => all.push(value),
            Err(error) if is_of_row(&error) => {
                let key = row.get_ref(key)?;
                let key = match key.as_i64() {
                    Ok(number) => number.to_string(),
                    Err(_text) => String::from_utf8_lossy(key.as_bytes()?).into_owned(),
                };
                unreadable.push(Unreadable { kind, key, why: error.to_string().into() });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn records(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<NodeRecord>> {
    let mut shared = Shared::default();
    let sql = "SELECT slot, record FROM record";
    let mut all = read_all(conn, sql, (RowKind::Record, "slot"), unreadable, |row| {
        let slot: LogicalNodeId = parsed(row, "slot")?;
        let mut record: NodeRecord = serde_json::from_slice(row.get_ref("record")?.as_blob()?)
            .map_err(|error| misread(Type::Blob, error))?;
        if record.slot != slot {
            return Err(misread(Type::Blob, format!("the record is for {}", record.slot)));
        }
        shared.share(&mut record);
        Ok(record)
    })?;
    all.sort_unstable_by(|a, b| a.slot.cmp(&b.slot));
    Ok(all)
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
    let sql = "SELECT node_group, hold FROM group_hold ORDER BY node_group";
    read_all(conn, sql, (RowKind::GroupHold, "node_group"), unreadable, |row| {
        let hold = serde_json::from_slice(row.get_ref("hold")?.as_blob()?);
        Ok((parsed(row, "node_group")?, hold.map_err(|error| misread(Type::Blob, error))?))
    })
}

fn rollouts(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<(GroupId, Rollout)>> {
    let sql = "SELECT node_group, rollout FROM rollout ORDER BY node_group";
    read_all(conn, sql, (RowKind::Rollout, "node_group"), unreadable, |row| {
        let rollout = serde_json::from_slice(row.get_ref("rollout")?.as_blob()?);
        Ok((parsed(row, "node_group")?, rollout.map_err(|error| misread(Type::Blob, error))?))
    })
}

fn open_operations(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<OpenOperation>> {
    let sql = format!(
        "SELECT {} FROM operation WHERE status = 'active' ORDER BY id",
        OperationRow::COLUMNS
    );
    let rows = read_all(conn, &sql, (RowKind::Operation, "id"), unreadable, OperationRow::read)?;
    let sql = format!(
        "SELECT {} FROM step \
         WHERE operation IN (SELECT id FROM operation WHERE status = 'active') ORDER BY id",
        StepRow::COLUMNS
    );
    let steps = read_all(conn, &sql, (RowKind::Step, "id"), unreadable, StepRow::read)?;
    let mut of: BTreeMap<OperationId, Vec<StepRow>> = BTreeMap::new();
    for step in steps {
        of.entry(step.operation).or_default().push(step);
    }
    Ok(rows
        .into_iter()
        .map(|row| OpenOperation { steps: of.remove(&row.id).unwrap_or_default(), row })
        .collect())
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

/// Numbers that only the tests' differential law and the reader compare.
pub(crate) fn is_used(conn: &Connection, hash: &str) -> rusqlite::Result<bool> {
    let mut statement =
        conn.prepare_cached("SELECT count(*) AS n FROM used_plan WHERE hash = ?1")?;
    statement.query_row([hash], |row| number(row, "n")).map(|n| n > 0)
}
