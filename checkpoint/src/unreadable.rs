//! Rows that this version cannot read: which they are, and how to read on past them (R120).

use reconciler_core::{id::OperationId, redact::Redacted};
use rusqlite::{Connection, Row};

use crate::codec::{is_of_row, number, why};

/// Which table an unreadable row is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// A slot's record: the slot must be held (`record.unrecognised`).
    Record,
    /// A group's hold: the group must stay held.
    GroupHold,
    /// A group's update: it begins anew, with what serves then as what served before.
    Rollout,
    /// An open operation; named by its group, which must be held (R120).
    Operation,
    /// A step of an open operation; named by the operation's group, which must be held.
    Step,
    /// The lease on an open operation.
    Lease,
    /// What an attempt owns; named by its slot. A driver makes it anew from the record as it takes the run.
    Ownership,
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
    /// The operation that it is, or that it is part of.
    pub operation: Option<OperationId>,
    /// Why.
    pub why: Redacted,
}

impl Unreadable {
    /// The row that `error` is of, with the column that names it.
    pub(crate) fn of(
        row: &Row<'_>,
        (kind, key): (RowKind, &str),
        error: &rusqlite::Error,
    ) -> rusqlite::Result<Self> {
        let operation = match kind {
            RowKind::Operation => Some("id"),
            RowKind::Step | RowKind::Lease => Some("operation"),
            RowKind::Record
            | RowKind::GroupHold
            | RowKind::Rollout
            | RowKind::Ownership
            | RowKind::Event => None,
        };
        let operation = operation.map(|column| number(row, column)).transpose()?;
        let (key, why) = (self::key(row, key)?, Redacted::new(&why(error)));
        Ok(Self { kind, key, operation: operation.map(OperationId::new), why })
    }
}

/// Reads all rows of `sql`, whose column `key` names each; rows that cannot be read go to `unreadable`.
pub(crate) fn read_all<T>(
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
                unreadable.push(Unreadable::of(row, (kind, key), &error)?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// The key of a row as it stands there.
pub(crate) fn key(row: &Row<'_>, column: &str) -> rusqlite::Result<String> {
    let key = row.get_ref(column)?;
    Ok(match key.as_i64() {
        Ok(number) => number.to_string(),
        Err(_text) => String::from_utf8_lossy(key.as_bytes()?).into_owned(),
    })
}
