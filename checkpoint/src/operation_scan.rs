//! Operations and their steps as recovery finds them: those that can be read, those that cannot, and any as it stands.

use std::collections::BTreeMap;

use reconciler_core::{id::OperationId, redact::Redacted};
use rusqlite::{Connection, OptionalExtension, Row, types::ValueRef};

use crate::{
    codec::num,
    operation::{OpenOperation, OperationRow},
    step::StepRow,
    unreadable::{RowKind, Unreadable, read_all},
};

/// Every open operation with its steps.
pub(crate) fn open_operations(
    conn: &Connection,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<OpenOperation>> {
    let sql = format!(
        "SELECT {} FROM operation WHERE status = 'active' OR closed_at IS NULL ORDER BY id",
        OperationRow::COLUMNS
    );
    let rows =
        read_all(conn, &sql, (RowKind::Operation, "node_group"), unreadable, OperationRow::read)?;
    let sql = format!(
        "SELECT {}, (SELECT node_group FROM operation WHERE id = step.operation) AS node_group \
         FROM step WHERE operation IN (SELECT id FROM operation WHERE status = 'active') ORDER BY id",
        StepRow::COLUMNS
    );
    let steps = read_all(conn, &sql, (RowKind::Step, "node_group"), unreadable, StepRow::read)?;
    let mut of: BTreeMap<OperationId, Vec<StepRow>> = BTreeMap::new();
    for step in steps {
        of.entry(step.operation).or_default().push(step);
    }
    Ok(rows
        .into_iter()
        .map(|row| OpenOperation { steps: of.remove(&row.id).unwrap_or_default(), row })
        .collect())
}

/// One operation, open or closed; one that cannot be read goes to `unreadable`.
pub(crate) fn operation(
    conn: &Connection,
    id: OperationId,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Option<OperationRow>> {
    let columns = OperationRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM operation WHERE id = {}", num(id.get()));
    let kind = (RowKind::Operation, "node_group");
    Ok(read_all(conn, &sql, kind, unreadable, OperationRow::read)?.pop())
}

/// The steps of one operation; those that cannot be read go to `unreadable`.
pub(crate) fn steps_of(
    conn: &Connection,
    id: OperationId,
    unreadable: &mut Vec<Unreadable>,
) -> rusqlite::Result<Vec<StepRow>> {
    let (columns, id) = (StepRow::COLUMNS, num(id.get()));
    let sql = format!("SELECT {columns} FROM step WHERE operation = {id} ORDER BY id");
    read_all(conn, &sql, (RowKind::Step, "slot"), unreadable, StepRow::read)
}

/// The columns of one operation as they stand, without any being understood; none if there is no such operation.
pub(crate) fn operation_as_it_stands(
    conn: &Connection,
    id: OperationId,
) -> rusqlite::Result<Vec<(&'static str, Redacted)>> {
    let sql = format!("SELECT {} FROM operation WHERE id = ?1", OperationRow::COLUMNS);
    let columns = OperationRow::COLUMNS.split(',').map(str::trim);
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    let read = |row: &Row<'_>| {
        columns.map(|name| Ok((name, Redacted::new(&text(row.get_ref(name)?))))).collect()
    };
    let found: Option<Vec<_>> = conn.query_row(&sql, [num(id.get())], read).optional()?;
    Ok(found.unwrap_or_default())
}
