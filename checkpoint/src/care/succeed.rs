//! One journal takes the place of another, however often that is broken off.
//!
//! The new one is made under a name of its own and renamed to `journal.db.next`: from that rename on it is the journal
//! for whoever looks. The rest is tidying, done by whoever holds the run's lock next: the old one goes aside with its
//! log, and the new one takes the usual name. Its log cannot be taken for the new one's, because the new name is taken
//! only after the log is gone.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::part::sync_dir_of;
use crate::{
    paths::StatePaths,
    store::{OpenError, SHM, WAL, beside, check_own},
};

/// Puts a journal that stands ready in its place, and says where the old one went. The caller holds the run's lock.
pub(crate) fn finish(paths: &StatePaths) -> Result<Option<PathBuf>, OpenError> {
    finish_watched(paths, &mut |_deed| {})
}

/// As [`finish`], telling of each deed before it is done.
pub(super) fn finish_watched(
    paths: &StatePaths,
    tell: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, OpenError> {
    let next = paths.next_journal();
    check_own(&next, false)?;
    let found = match fs::symlink_metadata(&next) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::io(&next, error)),
    };
    // Named after when the new one was made, so that one that is broken off goes on with the same name.
    let stamp = stamp(found.mtime()).map_err(|error| OpenError::sql(&next, error))?;
    let aside = paths.quarantine().join(format!("{stamp}-{}", found.ino()));
    let journal = paths.journal();
    let old = [WAL, SHM, ""].map(|end| beside(&journal, end));
    let there = |path: &&PathBuf| fs::symlink_metadata(path).is_ok();
    if old.iter().any(|path| there(&path)) {
        tell("makes room in the quarantine");
        make_dir(&paths.quarantine()).and_then(|()| make_dir(&aside)).map_err(failed(&aside))?;
    }
    for path in old.iter().filter(there) {
        let name = path.file_name().unwrap_or_default();
        tell(&format!("moves {} aside", name.display()));
        fs::rename(path, aside.join(name)).map_err(failed(path))?;
    }
    let moved = aside.exists().then_some(aside);
    if let Some(aside) = &moved {
        tell("syncs the quarantine");
        for made in [&aside.join("journal.db"), aside, &paths.quarantine()] {
            sync_dir_of(made).map_err(failed(made))?;
        }
    }
    tell("gives the new journal its name");
    fs::rename(&next, &journal).map_err(failed(&next))?;
    tell("syncs the state directory");
    sync_dir_of(&journal).map_err(failed(&journal))?;
    Ok(moved)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    |error| OpenError::io(path, error)
}

fn make_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// A time in whole seconds as `20261129T223904Z`.
pub(super) fn stamp(seconds: i64) -> rusqlite::Result<String> {
    let conn = Connection::open_in_memory()?;
    conn.query_row("SELECT strftime('%Y%m%dT%H%M%SZ', ?1, 'unixepoch')", [seconds], |row| {
        row.get(0)
    })
}
