//! Brings a file to the present schema, and refuses one that is not ours, newer, or tampered with.
//!
//! Migrations are contiguous, and each is remembered with the digest of its text: a file whose history differs
//! from this program's is not guessed at. Reading never migrates.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};

use crate::codec::hex;

/// Marks a file as a journal of Levelhead: `LvHd`.
pub(crate) const APPLICATION_ID: i32 = 0x4c76_4864;
/// Marks a file as a backup of one: `LvBk`.
pub(crate) const BACKUP_ID: i32 = 0x4c76_426b;

/// Every migration in order; an entry is never edited once released.
const MIGRATIONS: [&str; 6] = [
    include_str!("0001_journal.sql"),
    include_str!("0002_rollout.sql"),
    include_str!("0003_sums.sql"),
    include_str!("0004_ownership.sql"),
    include_str!("0005_recovery.sql"),
    include_str!("0006_failure.sql"),
];

const MIGRATION_TABLE: &str = "CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    digest TEXT NOT NULL
) STRICT";

/// Why a file's schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("its schema {found} is newer than {known}, the newest that this version knows")]
    Newer { found: u32, known: u32 },
    #[error("its schema {found} is older than {known}; the next driver that opens it brings it up")]
    Older { found: u32, known: u32 },
    #[error("it holds no journal yet")]
    Empty,
    #[error("{0}")]
    Foreign(&'static str),
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

/// The newest schema.
pub(crate) fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Checks that the file is a journal with the present schema; writes nothing.
pub(crate) fn check(conn: &Connection) -> Result<(), SchemaError> {
    match application(conn)? {
        BACKUP_ID => Err(SchemaError::Foreign(
            "it is a backup; `levelhead journal restore` puts it in the journal's place",
        )),
        _other => check_as(conn, APPLICATION_ID),
    }
}

/// Checks that the file is a backup with the present schema or an older one; writes nothing.
pub(crate) fn check_backup(conn: &Connection) -> Result<(), SchemaError> {
    match check_as(conn, BACKUP_ID) {
        Ok(()) | Err(SchemaError::Older { .. }) => Ok(()),
        Err(SchemaError::Empty) => Err(SchemaError::Foreign("it is empty")),
        Err(other) => Err(other),
    }
}

/// Every table and index with the text that made it, as they must be in a file of the present schema.
pub(crate) fn objects_expected() -> Result<Vec<(String, Option<String>)>, SchemaError> {
    let mut conn = Connection::open_in_memory()?;
    let tx = conn.transaction()?;
    bring_up(&tx)?;
    Ok(objects(&tx)?)
}

/// Every table and index of a file with the text that made it.
pub(crate) fn objects(conn: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let sql = "SELECT name, sql FROM sqlite_schema ORDER BY name";
    conn.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn check_as(conn: &Connection, application: i32) -> Result<(), SchemaError> {
    let found = version(conn, application)?;
    match found.cmp(&known()) {
        std::cmp::Ordering::Less => Err(SchemaError::Older { found, known: known() }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(SchemaError::Newer { found, known: known() }),
    }
}

/// Brings the file to the present schema, creating it in an empty one; the caller holds a transaction.
pub(crate) fn bring_up(tx: &Transaction<'_>) -> Result<(), SchemaError> {
    let found = match version(tx, APPLICATION_ID) {
        Ok(found) if found > known() => {
            return Err(SchemaError::Newer { found, known: known() });
        }
        Ok(found) => found,
        Err(SchemaError::Empty) => 0,
        Err(other) => return Err(other),
    };
    if found == known() {
        return Ok(());
    }
    if found == 0 {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.execute_batch(MIGRATION_TABLE)?;
    }
    for (version, sql) in (1_u32..).zip(MIGRATIONS) {
        if version > found {
            tx.execute_batch(sql)?;
            tx.execute("INSERT INTO migration VALUES (?1, ?2)", params![version, digest(sql)])?;
        }
    }
    tx.pragma_update(None, "user_version", known())?;
    Ok(())
}

fn application(conn: &Connection) -> rusqlite::Result<i32> {
    conn.pragma_query_value(None, "application_id", |row| row.get(0))
}

/// The file's schema version, after its history was compared with ours.
fn version(conn: &Connection, expected: i32) -> Result<u32, SchemaError> {
    let application = application(conn)?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 && application == 0 {
        return Err(SchemaError::Empty);
    }
    if application != expected {
        let what = match expected {
            BACKUP_ID => "it is a database, and not a backup of a journal",
            _journal => "it is a database, and not a journal of levelhead",
        };
        return Err(SchemaError::Foreign(what));
    }
    let version: u32 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > known() {
        return Ok(version);
    }
    let rows: i64 = conn.query_row("SELECT count(*) FROM migration", [], |row| row.get(0))?;
    if version == 0 || rows != i64::from(version) {
        return Err(SchemaError::Foreign("its schema version and its migrations disagree"));
    }
    for (number, sql) in (1..=version).zip(MIGRATIONS) {
        let stored: Option<String> = conn
            .query_row("SELECT digest FROM migration WHERE version = ?1", [number], |row| {
                row.get(0)
            })
            .optional()?;
        if stored != Some(digest(sql)) {
            return Err(SchemaError::Foreign(
                "its migrations differ from the ones of this version",
            ));
        }
    }
    Ok(version)
}

fn digest(sql: &str) -> String {
    hex(&Sha256::digest(sql.as_bytes()))
}
