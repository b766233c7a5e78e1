//! Rows as JSON, for people and for programs that want everything. What looks like a secret is not shown.

use std::{
    io::{BufWriter, Write as _},
    path::Path,
};

use reconciler_core::{
    id::Uuid,
    redact::{MARK, Redacted, is_secret_key},
};
use rusqlite::{Connection, Row, types::ValueRef};
use serde_json::{Map, Value};

use super::{
    backup::BackupError,
    content::TABLES,
    part::{Part, PartError},
};
use crate::{codec::hex, paths::StatePaths, schema, store::OpenError, store::open_reading};

/// A kind of row that can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Operations.
    Operations,
    /// Steps.
    Steps,
    /// Events.
    Events,
    /// Passes.
    Passes,
    /// Records.
    Records,
}

impl Kind {
    const fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Operations => ("operation", "id DESC"),
            Self::Steps => ("step", "id DESC"),
            Self::Events => ("event", "seq DESC"),
            Self::Passes => ("pass", "number DESC"),
            Self::Records => ("record", "slot"),
        }
    }
}

/// Which rows to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The newest of one kind, the newest first; records in the order of slots.
    Newest(Kind, u32),
    /// All that is about one slot: its record, its newest steps and its newest events.
    Slot(String, u32),
}

/// The rows of the journal in `dir` that `which` names, as objects whose `table` says what they are.
///
/// # Errors
/// Fails if there is no journal or it cannot be read.
pub fn rows(dir: &Path, which: &Which) -> Result<Vec<Value>, OpenError> {
    let mut all = Vec::new();
    let mut keep = |value| {
        all.push(value);
        true
    };
    look(dir, |conn| match which {
        Which::Newest(kind, limit) => {
            let (table, order) = kind.table();
            each(conn, table, &format!("ORDER BY {order} LIMIT {limit}"), &[], &mut keep).map(drop)
        }
        Which::Slot(slot, limit) => {
            let of_slot = format!("WHERE slot = ?1 ORDER BY rowid DESC LIMIT {limit}");
            let about = format!("WHERE subject = ?1 ORDER BY seq DESC LIMIT {limit}");
            each(conn, "record", &of_slot, &[slot], &mut keep)?;
            each(conn, "step", &of_slot, &[slot], &mut keep)?;
            each(conn, "event", &about, &[slot], &mut keep).map(drop)
        }
    })?;
    Ok(all)
}

/// Gives every row of the journal in `dir` to `take`, all of one moment, until it says no.
///
/// # Errors
/// Fails if there is no journal or it cannot be read.
pub fn export(dir: &Path, mut take: impl FnMut(Value) -> bool) -> Result<(), OpenError> {
    look(dir, |conn| {
        for (table, order) in TABLES {
            if !each(conn, table, &format!("ORDER BY {order}"), &[], &mut take)? {
                break;
            }
        }
        Ok(())
    })
}

/// Writes every row of the journal in `dir` to the new file `target`, one object a line; says how many.
///
/// # Errors
/// Fails if there is no journal or it cannot be read, and if the file exists or cannot be written.
pub fn export_to(dir: &Path, target: &Path) -> Result<u64, BackupError> {
    let mut part = Part::begin(target)?;
    let (mut count, mut failed) = (0_u64, None);
    let mut out = BufWriter::new(part.file());
    export(dir, |row| {
        count = count.saturating_add(1);
        failed = writeln!(out, "{row}").err();
        failed.is_none()
    })?;
    let written = failed.map_or_else(|| out.flush(), Err);
    drop(out);
    written.map_err(PartError::io(target))?;
    part.place(target)?;
    Ok(count)
}

fn look(
    dir: &Path,
    read: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), OpenError> {
    let paths = StatePaths::new(dir);
    let mut conn = open_reading(&paths)?;
    let path = paths.journal();
    let sql = |error| OpenError::sql(&path, error);
    let tx = conn.transaction().map_err(sql)?;
    schema::check(&tx).map_err(|error| OpenError::schema(&path, error))?;
    read(&tx).map_err(sql)
}

fn each(
    conn: &Connection,
    table: &str,
    rest: &str,
    values: &[&String],
    take: &mut impl FnMut(Value) -> bool,
) -> rusqlite::Result<bool> {
    let mut statement = conn.prepare(&format!("SELECT * FROM {table} {rest}"))?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        if !take(object(table, &names, row)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn object(table: &str, names: &[String], row: &Row<'_>) -> rusqlite::Result<Value> {
    let mut object = Map::new();
    object.insert("table".to_owned(), table.into());
    // The sums are the journal's own.
    for (column, name) in names.iter().enumerate().filter(|(_, name)| *name != "sum") {
        object.insert(name.clone(), value(row.get_ref(column)?));
    }
    Ok(Value::Object(object))
}

fn value(raw: ValueRef<'_>) -> Value {
    match raw {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.cast_unsigned().into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => Redacted::new(&String::from_utf8_lossy(text)).as_str().into(),
        ValueRef::Blob(blob) => match serde_json::from_slice(blob) {
            Ok(json) => clean(json),
            Err(_binary) => match blob.try_into() {
                Ok(uuid) => Uuid::from_bytes(uuid).to_string().into(),
                Err(_other) => hex(blob).into(),
            },
        },
    }
}

/// Everything with what looks like a secret taken out. `key` is a name of our own: what a repeat carries.
fn clean(json: Value) -> Value {
    match json {
        Value::Null | Value::Bool(_) | Value::Number(_) => json,
        Value::String(text) => Redacted::new(&text).as_str().into(),
        Value::Array(items) => Value::Array(items.into_iter().map(clean).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| {
                    let hidden = name != "key" && is_secret_key(&name);
                    let value = if hidden { MARK.into() } else { clean(value) };
                    (name, value)
                })
                .collect(),
        ),
    }
}
