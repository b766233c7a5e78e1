//! Why a journal cannot be opened, and which failures of the database are damage.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
};

use reconciler_core::id::Uuid;
use rusqlite::ErrorCode;

use crate::{
    codec::{is_of_row, why},
    lease::LeaseRow,
    owner::OwnerRecord,
    schema::SchemaError,
};

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no journal yet.
    #[error("there is no journal in {}", dir.display())]
    Missing {
        /// The state directory.
        dir: PathBuf,
    },
    /// A driver has the run (R189).
    #[error("{} is driven by another process{}", dir.display(), held_by(owner.as_deref()))]
    Held {
        /// The state directory.
        dir: PathBuf,
        /// Who has it: process, since when, host, fence. Nothing if it has not said so yet.
        owner: Option<Box<OwnerRecord>>,
    },
    /// A controller on another machine has an operation that is open, and its lease is not over (R143).
    #[error("operation {} of {} is {}'s until its lease ends", .lease.operation, dir.display(), .lease.lease.owner)]
    Leased {
        /// The state directory.
        dir: PathBuf,
        /// The lease.
        lease: Box<LeaseRow>,
    },
    /// The journal is of another run.
    #[error("{} keeps run {found}, not {expected}", dir.display())]
    OtherRun {
        /// The state directory.
        dir: PathBuf,
        /// The run that was asked for.
        expected: Uuid,
        /// The run that is there.
        found: Uuid,
    },
    /// A newer version wrote it.
    #[error("{} has schema {found}; this version knows {known} at most", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// An older version wrote it, and a reader never migrates.
    #[error("{} has schema {found}; the next driver brings it to {known}", path.display())]
    OlderSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The present one.
        known: u32,
    },
    /// It is no journal, or it is broken; it is left as it is.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// It is a link, of the wrong kind, or somebody else's.
    #[error("{} is not used: {why}", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// Its owner took its own rights on it away.
    #[error("{} has mode {found:04o}, which bars its own owner; it is left so", path.display())]
    Narrow {
        /// The file or directory.
        path: PathBuf,
        /// Its mode.
        found: u32,
        /// The mode that it needs.
        wanted: u32,
    },
    /// Reading or writing failed.
    #[error("{} cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

fn held_by(owner: Option<&OwnerRecord>) -> String {
    owner.map_or_else(String::new, |owner| format!(" (pid {} on {})", owner.pid, owner.host))
}

impl OpenError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source: Box::new(source) }
    }

    /// Names a failure of the database file `path`.
    pub(crate) fn sql(path: &Path, error: rusqlite::Error) -> Self {
        damage(path, &error)
            .unwrap_or_else(|| Self::Io { path: path.to_owned(), source: Box::new(error) })
    }

    /// Names a schema that does not fit.
    pub(crate) fn schema(path: &Path, error: SchemaError) -> Self {
        let path = path.to_owned();
        match error {
            SchemaError::Newer { found, known } => Self::NewerSchema { path, found, known },
            SchemaError::Older { found, known } => Self::OlderSchema { path, found, known },
            SchemaError::Empty => Self::Missing { dir: path.parent().unwrap_or(&path).to_owned() },
            SchemaError::Foreign(what) => Self::Damaged { path, what: what.to_owned() },
            SchemaError::Sql(error) => Self::sql(&path, error),
        }
    }
}

/// The error as damage of the file, if that is what it says.
pub(crate) fn damage(path: &Path, error: &rusqlite::Error) -> Option<OpenError> {
    let code = error.sqlite_error_code();
    // Tables are strict and written by us alone: a misread that is not of a single row is damage as well.
    // A statement of ours that does not compile met another schema than the one that its version names.
    let broken = matches!(
        code,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    ) || matches!(
        error,
        rusqlite::Error::SqlInputError { .. } | rusqlite::Error::InvalidColumnName(_)
    ) || is_of_row(error);
    broken.then(|| OpenError::Damaged { path: path.to_owned(), what: why(error) })
}
