//! Reads every row as its own kind, and says of each bad one what a driver makes of it.

use reconciler_core::{effect::Action, redact::Redacted};
use rusqlite::{Connection, Row, types::Type};

use super::finding::{Finding, Integrity};
use crate::{
    codec::{is_of_row, misread, why},
    event::{EventRow, PassRow},
    lease,
    operation::OperationRow,
    owner::OwnerRecord,
    ownership,
    record::ShapeRow,
    scan,
    step::StepRow,
    unreadable,
};

/// How one table is read.
struct Table {
    name: &'static str,
    key: &'static str,
    read: fn(&Row<'_>) -> rusqlite::Result<()>,
    /// What a bad row makes of the journal, and what becomes of it.
    bad: (Integrity, &'static str),
}

const HISTORY: (Integrity, &str) = (Integrity::Degraded, "history; nothing is decided on it");

const TABLES: [Table; 11] = [
    Table {
        name: "used_plan",
        key: "hash",
        read: |row| scan::used_plan(row).map(drop),
        bad: (Integrity::Unrecoverable, "a plan could be used twice"),
    },
    Table {
        name: "operation",
        key: "id",
        read: |row| {
            let operation = OperationRow::read(row)?;
            operation.checkpoint.map(drop).map_err(|error| misread(Type::Text, error))
        },
        bad: (Integrity::Degraded, "effects under way are known from the records"),
    },
    Table {
        name: "step",
        key: "id",
        read: step,
        bad: (Integrity::Degraded, "effects under way are known from the records"),
    },
    Table {
        name: "record",
        key: "slot",
        read: |row| scan::record(row).map(drop),
        bad: (Integrity::Degraded, "the slot is held until it was looked at"),
    },
    Table {
        name: "operation_lease",
        key: "operation",
        read: |row| lease::read_alone(row).map(drop),
        bad: (Integrity::Degraded, "the next driver takes its operation anew"),
    },
    Table {
        name: "ownership",
        key: "slot",
        read: |row| ownership::read(row).map(drop),
        bad: (Integrity::Degraded, "what its attempt owns is known from the record"),
    },
    Table {
        name: "group_hold",
        key: "node_group",
        read: |row| scan::group_hold(row).map(drop),
        bad: (Integrity::Degraded, "the group stays held"),
    },
    Table {
        name: "rollout",
        key: "node_group",
        read: |row| scan::rollout(row).map(drop),
        bad: (Integrity::Degraded, "the update begins anew"),
    },
    Table { name: "event", key: "seq", read: |row| EventRow::read(row).map(drop), bad: HISTORY },
    Table { name: "pass", key: "number", read: |row| PassRow::read(row).map(drop), bad: HISTORY },
    Table {
        name: "shape",
        key: "generation",
        read: |row| ShapeRow::read(row).map(drop),
        bad: HISTORY,
    },
];

/// Reads everything; bad rows become findings, damage of the file is an error.
pub(super) fn check(conn: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut bad = |integrity, place, key, what: &str| {
        findings.push(Finding { integrity, place, key, what: Redacted::new(what) });
    };
    // The two that nothing can be decided without.
    match OwnerRecord::find(conn) {
        Ok(Some(_owner)) => {}
        Ok(None) => bad(Integrity::Unrecoverable, "owner", String::new(), "there is none"),
        Err(error) if is_of_row(&error) => {
            bad(Integrity::Unrecoverable, "owner", String::new(), &why(&error));
        }
        Err(error) => return Err(error),
    }
    let newest: Option<i64> =
        conn.query_row("SELECT max(generation) FROM shape", [], |row| row.get(0))?;
    for table in &TABLES {
        let mut statement = conn.prepare(&format!("SELECT * FROM {}", table.name))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Err(error) = (table.read)(row) else { continue };
            if !is_of_row(&error) {
                return Err(error);
            }
            let key = unreadable::key(row, table.key)?;
            let is_present_shape =
                table.name == "shape" && newest.map(|n| n.to_string()).as_ref() == Some(&key);
            let (integrity, then) = if is_present_shape {
                (Integrity::Unrecoverable, "nothing can be decided without the present shape")
            } else {
                table.bad
            };
            bad(integrity, table.name, key, &format!("{} ({then})", why(&error)));
        }
    }
    Ok(())
}

/// A step, and what was sent while it is not known what came of it.
fn step(row: &Row<'_>) -> rusqlite::Result<()> {
    let step = StepRow::read(row)?;
    step.checkpoint.map_err(|error| misread(Type::Text, error))?;
    let command = row.get_ref("command")?.as_blob()?;
    if command.is_empty() && step.finished_at.is_some() {
        return Ok(());
    }
    let sent: Result<Action, _> = serde_json::from_slice(command);
    let sent = sent.map_err(|error| misread(Type::Blob, error))?;
    if sent.kind() == step.command && sent.idempotency_key(step.attempt.uuid) == step.key {
        return Ok(());
    }
    Err(misread(Type::Blob, "what was sent is not what its key is for"))
}
