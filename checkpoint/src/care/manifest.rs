//! What a backup says of itself.
//!
//! It stands in the backup as one more table, not in a file beside it: one file cannot be parted from what vouches for
//! it, and it is placed by one rename. Its digest is over what the rows say, since a file cannot hold its own.

use std::collections::BTreeMap;

use reconciler_core::{
    id::{Fence, Generation, RunName, Uuid},
    time::Timestamp,
};
use rusqlite::{Connection, params, types::Type};
use serde::{Deserialize, Serialize};

use super::content;
use crate::{
    codec::misread,
    owner::OwnerRecord,
    schema::{self, BACKUP_ID},
};

/// What a backup is of, and what vouches for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The run.
    pub run: Uuid,
    /// Its name.
    pub name: RunName,
    /// The schema of its tables.
    pub schema: u32,
    /// The fence of the newest driver that it knows.
    pub fence: Fence,
    /// The generation of its newest shape; zero if there is none.
    pub generation: Generation,
    /// When it was made.
    pub made_at: Timestamp,
    /// How many rows each table has.
    pub rows: BTreeMap<String, u64>,
    /// The SHA-256 of everything that its rows say, in hexadecimal digits.
    pub sha256: String,
}

impl Manifest {
    /// What the journal behind `conn` is now; nothing if it never had an owner. The caller holds a transaction.
    pub(crate) fn of(conn: &Connection, made_at: Timestamp) -> rusqlite::Result<Option<Self>> {
        let Some(owner) = OwnerRecord::find(conn)? else { return Ok(None) };
        let (sha256, counts) = content::digest(conn)?;
        let generation: i64 =
            conn.query_row("SELECT coalesce(max(generation), 0) FROM shape", [], |row| row.get(0))?;
        Ok(Some(Self {
            run: owner.run,
            name: owner.name,
            schema: schema::known(),
            fence: owner.fence,
            generation: Generation::new(generation.cast_unsigned()),
            made_at,
            rows: counts.into_iter().map(|(table, n)| (table.to_owned(), n)).collect(),
            sha256,
        }))
    }

    /// Makes the file behind `conn` a backup that says so.
    pub(crate) fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        let json = serde_json::to_string(self)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        conn.execute_batch("CREATE TABLE manifest (json TEXT NOT NULL) STRICT")?;
        conn.execute("INSERT INTO manifest VALUES (?1)", params![json])?;
        // A backup that is put in a journal's place by hand would bring an old fence back: it is no journal.
        conn.pragma_update(None, "application_id", BACKUP_ID)
    }

    /// Makes the file behind `conn` a journal again.
    pub(crate) fn take_out(conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("DROP TABLE manifest")?;
        conn.pragma_update(None, "application_id", schema::APPLICATION_ID)
    }

    /// What the backup behind `conn` says of itself.
    pub(crate) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let json: String = conn.query_row("SELECT json FROM manifest", [], |row| row.get(0))?;
        serde_json::from_str(&json).map_err(|error| misread(Type::Text, error))
    }
}
