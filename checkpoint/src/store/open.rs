//! Opening files: what is refused before anything is read. What a failure is called stands in `error`.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use rustix::fs::OFlags;

use super::{
    error::OpenError,
    names::{SHM, WAL, beside},
    rights::{check_files, check_own},
};
use crate::{owner::RunLock, paths::StatePaths};

/// How long a reader waits for the lock of another one's recovery.
const BUSY: Duration = Duration::from_secs(5);
/// Page cache in KiB: a pass touches few pages, and the records live in the driver.
const CACHE_KIB: i64 = 2_048;

/// Opens the database for writing; `SQLite` gives the files beside it the mode of this one.
///
/// The log is not moved when it is closed again, until somebody says that it may.
pub(crate) fn open_writing(paths: &StatePaths, was_used: bool) -> Result<Connection, OpenError> {
    check_files(paths)?;
    let path = paths.journal();
    let fail = |error| OpenError::io(&path, error);
    if was_used && !path.exists() {
        let what = "it is gone, although a journal was kept here".to_owned();
        return Err(OpenError::Damaged { path, what });
    }
    // Made before SQLite sees it, so that it never stands there with a wider mode.
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&path);
    match made {
        Ok(_closed) => File::open(paths.dir()).and_then(|dir| dir.sync_all()).map_err(fail)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(fail(error)),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let tune = || {
        let conn = Connection::open_with_flags(&path, flags)?;
        conn.busy_timeout(BUSY)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.set_prepared_statement_cache_capacity(64);
        // Without this guarantee SQLite compiles some statements anew whenever their parameters change.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        // What a savepoint keeps for its undoing would otherwise be a file made and removed with each large commit.
        conn.pragma_update(None, "temp_store", "MEMORY")?;
        conn.pragma_update(None, "cache_size", CACHE_KIB.saturating_neg())?;
        Ok(conn)
    };
    tune().map_err(|error| OpenError::sql(&path, error))
}

/// Opens the database for reading, beside a live driver or without one.
pub(crate) fn open_reading(paths: &StatePaths) -> Result<Connection, OpenError> {
    check_own(paths.dir(), true)?;
    check_files(paths)?;
    let Some(path) = paths.present_journal() else {
        return Err(OpenError::Missing { dir: paths.dir().to_owned() });
    };
    open_file(&path)
}

/// Opens one database file for reading.
pub(crate) fn open_file(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |name: &Path, flags| {
        let conn = Connection::open_with_flags(name, flags)?;
        conn.busy_timeout(BUSY)?;
        conn.pragma_update(None, "query_only", true)?;
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_row| Ok(()))?;
        Ok(conn)
    };
    match open(path, flags) {
        Ok(conn) => Ok(conn),
        // On a medium that cannot be written SQLite cannot make its shared memory; without a write-ahead log
        // nothing is missing from the file itself.
        Err(error) if cannot_write(&error) && !beside(path, WAL).exists() => {
            open(&immutable(path), flags | OpenFlags::SQLITE_OPEN_URI)
                .map_err(|error| OpenError::sql(path, error))
        }
        Err(error) => Err(OpenError::sql(path, error)),
    }
}

/// What stood beside a journal before it was opened, so that one that is refused leaves nothing new behind.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    path: PathBuf,
    new: Vec<PathBuf>,
}

impl Beside {
    /// Notes which of the files of `SQLite` beside `path` are not there yet.
    pub(crate) fn note(path: &Path) -> Self {
        let ends = [WAL, SHM].map(|end| beside(path, end));
        Self { path: path.to_owned(), new: ends.into_iter().filter(|end| !end.exists()).collect() }
    }

    /// Takes away what opening made, if the journal is refused because it is damaged; gives the error on.
    ///
    /// Nothing is lost with it: a log that was not there before holds nothing, and shared memory never does.
    pub(crate) fn after(&self, error: OpenError) -> OpenError {
        if matches!(error, OpenError::Damaged { .. }) {
            self.forget();
        }
        error
    }

    /// As [`after`](Self::after), for who only looks: beside a driver everything is the driver's.
    pub(crate) fn after_look(&self, paths: &StatePaths, error: OpenError) -> OpenError {
        if matches!(error, OpenError::Damaged { .. }) {
            self.forget_undriven(paths);
        }
        error
    }

    /// Takes away what opening made, unless a driver has the run.
    pub(crate) fn forget_undriven(&self, paths: &StatePaths) {
        let lock = paths.lock();
        if lock.exists()
            && let Ok(Some(_held)) = RunLock::take(&lock)
        {
            self.forget();
        }
    }

    /// Takes away what opening made; the caller holds the run.
    pub(crate) fn forget(&self) {
        let is_scratch = |path: &&PathBuf| {
            let len = fs::symlink_metadata(path).map_or(0, |found| found.len());
            **path == beside(&self.path, SHM) || len == 0
        };
        for path in self.new.iter().filter(is_scratch) {
            // What cannot be taken away is as harmless as it was.
            fs::remove_file(path).unwrap_or_default();
        }
    }
}

fn cannot_write(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure)
    )
}

/// The path as a URI that says that the file never changes.
fn immutable(path: &Path) -> PathBuf {
    let escaped =
        path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?immutable=1").into()
}
