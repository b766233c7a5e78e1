//! The names of the files that `SQLite` keeps beside a database.

use std::path::{Path, PathBuf};

/// The end of the name of a database's log.
pub(crate) const WAL: &str = "-wal";
/// The end of the name of a database's shared memory.
pub(crate) const SHM: &str = "-shm";

/// The name of a file that `SQLite` keeps beside `path`.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(end);
    name.into()
}
