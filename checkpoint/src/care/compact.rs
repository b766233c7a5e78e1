//! Makes a journal smaller: drops history by age and count, and gives the room back.
//!
//! What recovery needs is never history (`retention`). A backup of exactly this journal stands before anything goes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use reconciler_core::{
    id::PlanHash,
    time::{Millis, Timestamp},
};
use rusqlite::{Connection, TransactionBehavior, config::DbConfig, params};
use serde::Serialize;

use super::{
    backup::{self, BackupError},
    content,
    finding::Integrity,
    succeed::stamp,
    verify::{self, Report},
    vouched,
};
use crate::{
    codec::time,
    paths::StatePaths,
    retention::{Bound, History},
    schema,
    store::{OpenError, WAL, beside, lock, make_dir, open_writing, prune},
};

/// Why a journal was not made smaller.
#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    /// The journal cannot be used, or a driver has the run.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// There is no backup, or it does not verify.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The backup is not of the journal as it is now.
    #[error("{} is not of the journal as it is now", .0.display())]
    OtherContent(PathBuf),
    /// The journal is damaged.
    #[error("{} is {}", .0.file.display(), .0.integrity.as_str())]
    Unsound(Box<Report>),
    /// What was confirmed is not what would be done now.
    #[error("what would be done is {now}, not {confirmed}", now = .now.short(), confirmed = .confirmed.short())]
    Stale {
        /// What was confirmed.
        confirmed: PlanHash,
        /// What it would be now.
        now: PlanHash,
    },
}

/// What is to go.
#[derive(Clone, Debug)]
pub struct Compaction<'a> {
    /// The state directory.
    pub dir: &'a Path,
    /// Rows older than this go.
    pub older_than: Millis,
    /// Of each kind at most so many of the newest stay.
    pub keep: u64,
    /// A backup of the journal as it is; without one it is made.
    pub backup: Option<PathBuf>,
    /// The time.
    pub now: Timestamp,
}

/// What a compaction drops, to be shown before it is confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// The hash that confirms exactly this.
    pub hash: PlanHash,
    /// How many rows of each kind go.
    pub drops: Vec<(&'static str, u64)>,
    /// How large the journal is, in bytes.
    pub bytes: u64,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// What was confirmed.
    pub preview: Preview,
    /// The backup that has everything.
    pub backup: PathBuf,
    /// How large the journal is now, in bytes.
    pub bytes: u64,
    /// How whole it is now.
    pub integrity: Integrity,
}

/// A journal that is held for the while.
struct Held {
    conn: Connection,
    /// The digest of what it says.
    sha256: String,
    preview: Preview,
    /// Given back last.
    _lock: crate::owner::RunLock,
}

impl Compaction<'_> {
    /// Shows what would go.
    ///
    /// # Errors
    /// Refuses a run that is driven and a damaged journal.
    pub fn preview(&self) -> Result<Preview, CompactError> {
        Ok(self.hold()?.preview)
    }

    /// Drops what `confirmed` showed, once a backup of all of it stands.
    ///
    /// # Errors
    /// As [`preview`](Self::preview); refuses if something moved since, and a backup of anything else.
    pub fn confirm(&self, confirmed: PlanHash) -> Result<Compacted, CompactError> {
        let mut held = self.hold()?;
        if held.preview.hash != confirmed {
            return Err(CompactError::Stale { confirmed, now: held.preview.hash });
        }
        let backup = self.backed_up(&held.sha256)?;
        let path = StatePaths::new(self.dir).journal();
        let shrink = |conn: &mut Connection| {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            prune(&tx, self.now, |_kind| self.bound())?;
            self.tell(&tx, &backup)?;
            tx.commit()?;
            conn.execute_batch("VACUUM")?;
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_row| Ok(()))
        };
        shrink(&mut held.conn).map_err(|error| OpenError::sql(&path, error))?;
        let report = verify::check(&mut held.conn, &path, |_checked| Ok(()))?;
        let preview = held.preview;
        held.conn.close().map_err(|(_conn, error)| OpenError::sql(&path, error))?;
        if report.integrity == Integrity::Unrecoverable {
            return Err(CompactError::Unsound(Box::new(report)));
        }
        Ok(Compacted { preview, backup, bytes: bytes(&path), integrity: report.integrity })
    }

    /// Takes the run, checks the journal, and counts what would go in a transaction that is undone.
    fn hold(&self) -> Result<Held, CompactError> {
        let paths = StatePaths::new(self.dir);
        let report = verify::journal(self.dir)?;
        if report.integrity == Integrity::Unrecoverable {
            return Err(CompactError::Unsound(Box::new(report)));
        }
        let lock = lock(&paths)?;
        super::succeed::finish(&paths)?;
        let path = paths.journal();
        let mut conn = open_writing(&paths, true)?;
        schema::check(&conn).map_err(|error| OpenError::schema(&path, error))?;
        let mut count = || {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (sha256, _counts) = content::digest(&tx)?;
            let gone = prune(&tx, self.now, |_kind| self.bound())?;
            tx.rollback()?;
            Ok((sha256, gone))
        };
        let (sha256, gone) = count().map_err(|error| OpenError::sql(&path, error))?;
        let drops: Vec<_> = History::ALL.map(History::as_str).into_iter().zip(gone).collect();
        let shown = format!("{sha256} {drops:?}");
        let hash = PlanHash::of(shown.as_bytes());
        let preview = Preview { hash, drops, bytes: bytes(&path) };
        Ok(Held { conn, sha256, preview, _lock: lock })
    }

    /// The same for every kind of row.
    const fn bound(&self) -> Bound {
        Bound { least: self.keep, per_hundred: 0, age: Some(self.older_than) }
    }

    /// A backup of exactly what the journal says: the one that was named, or a new one.
    fn backed_up(&self, sha256: &str) -> Result<PathBuf, CompactError> {
        let path = self.backup.clone().map_or_else(|| self.back_up(sha256), Ok)?;
        let report = verify::backup(&path)?;
        if report.integrity == Integrity::Unrecoverable {
            return Err(BackupError::Unsound(Box::new(report)).into());
        }
        let (_conn, manifest) = vouched::open(&path)?;
        if manifest.sha256 == sha256 { Ok(path) } else { Err(CompactError::OtherContent(path)) }
    }

    fn back_up(&self, sha256: &str) -> Result<PathBuf, CompactError> {
        let dir = StatePaths::new(self.dir).backups();
        make_dir(&dir)?;
        let seconds = (self.now.as_millis() / 1_000).cast_signed();
        let stamp = stamp(seconds).map_err(|error| OpenError::sql(&dir, error))?;
        let path = dir.join(format!("{stamp}-{}.db", sha256.get(..12).unwrap_or(sha256)));
        // One of the same second and the same content stands for this one.
        if !path.exists() {
            backup::make(self.dir, &path, self.now)?;
        }
        Ok(path)
    }

    fn tell(&self, conn: &Connection, backup: &Path) -> rusqlite::Result<()> {
        let text = format!("history was dropped; the backup {} has it", backup.display());
        conn.execute(
            "INSERT INTO event (first_at, at, pass, subject, kind, text, count) \
             VALUES (?1, ?1, (SELECT coalesce(max(number), 0) FROM pass), 'run', 'compacted', ?2, 1)",
            params![time(self.now), reconciler_core::redact::Redacted::new(&text).as_str()],
        )
        .map(drop)
    }
}

/// The size of the journal with its log, in bytes.
fn bytes(path: &Path) -> u64 {
    let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    size(path).saturating_add(size(&beside(path, WAL)))
}
