//! A copy of a journal in one file, made beside a live driver or without one.

use std::path::{Path, PathBuf};

use reconciler_core::{id::Uuid, time::Timestamp};
use rusqlite::{Connection, OpenFlags, backup::Backup};

use super::{
    finding::Integrity,
    manifest::Manifest,
    part::{Part, PartError},
    verify::{self, Report},
};
use crate::{
    paths::StatePaths,
    schema,
    store::{OpenError, open_reading},
};

/// Why there is no backup; nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The journal or the backup cannot be read.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The file cannot be made.
    #[error(transparent)]
    File(#[from] PartError),
    /// What would be copied is not worth it.
    #[error("{} is {}", .0.file.display(), .0.integrity.as_str())]
    Unsound(Box<Report>),
    /// It is of another run.
    #[error("{} is of run {found}, not {expected}", path.display())]
    OtherRun {
        /// The backup.
        path: PathBuf,
        /// The run that was asked for.
        expected: Uuid,
        /// The run that it is of.
        found: Uuid,
    },
}

/// Copies the journal in `dir` to the new file `target`, checks the copy, and says what it is.
///
/// The copy is of one moment, and its owner's alone. Nothing is overwritten, and `target` stands there only once the
/// whole of it is checked and on disk.
///
/// # Errors
/// Refuses a journal that is unrecoverable and a file that exists; fails if either cannot be used.
pub fn make(dir: &Path, target: &Path, now: Timestamp) -> Result<Manifest, BackupError> {
    let paths = StatePaths::new(dir);
    let source = open_reading(&paths)?;
    let journal = paths.present_journal().unwrap_or_else(|| paths.journal());
    schema::check(&source).map_err(|error| OpenError::schema(&journal, error))?;
    let part = Part::begin(target)?;
    let manifest = fill(&source, &journal, &part, now)?;
    let report = verify::backup(part.path())?;
    if report.integrity == Integrity::Unrecoverable {
        return Err(BackupError::Unsound(Box::new(report)));
    }
    part.place(target)?;
    Ok(manifest)
}

fn fill(
    source: &Connection,
    journal: &Path,
    part: &Part,
    now: Timestamp,
) -> Result<Manifest, OpenError> {
    let of_journal = |error| OpenError::sql(journal, error);
    let of_part = |error| OpenError::sql(part.path(), error);
    let mut copy = open_part(part.path()).map_err(of_part)?;
    copy_all(source, &mut copy).map_err(of_journal)?;
    let mut made = || {
        let tx = copy.transaction()?;
        let manifest = Manifest::of(&tx, now)?;
        if let Some(manifest) = &manifest {
            manifest.write(&tx)?;
        }
        tx.commit()?;
        Ok(manifest)
    };
    made().map_err(of_part)?.ok_or_else(|| OpenError::Damaged {
        path: journal.to_owned(),
        what: "it has no owner".to_owned(),
    })
}

/// Opens the unfinished file `path`, which nobody else knows: what it takes to undo is kept in memory, and the whole
/// of it is synced before it gets its name.
pub(super) fn open_part(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    conn.pragma_update(None, "synchronous", "OFF")?;
    conn.pragma_update(None, "journal_mode", "MEMORY")?;
    Ok(conn)
}

/// Copies every page of one moment, and makes the copy a file that needs no log beside it.
pub(super) fn copy_all(source: &Connection, copy: &mut Connection) -> rusqlite::Result<()> {
    // All pages in one step: between two steps a driver that writes would begin the copy anew.
    Backup::new(source, copy)?.step(-1)?;
    // The first page says that there is a log, as the original has one.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    // Given back once, the lock takes the file with it that the change left behind.
    copy.pragma_update(None, "locking_mode", "NORMAL")?;
    copy.query_row("SELECT count(*) FROM sqlite_schema", [], |_row| Ok(()))?;
    copy.pragma_update(None, "journal_mode", "MEMORY")
}
