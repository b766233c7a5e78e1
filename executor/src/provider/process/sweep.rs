//! Removes what is given back, behind the back of whoever gave it back.
//!
//! A lease is gone as soon as its directory has another name. Freeing its blocks may take the file system many
//! times as long, so that happens after the answer was given, and what a dying driver leaves is cleared by the next
//! listing.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Mutex,
};

use super::{lock::locked, problem::Problem};

/// Directories that wait to be removed.
#[derive(Debug, Default)]
pub(super) struct Sweeper(Mutex<Vec<PathBuf>>);

impl Sweeper {
    /// Takes a directory that nobody looks at any more.
    pub(super) fn take(&self, path: PathBuf) {
        locked(&self.0).push(path);
    }

    /// Removes everything that was taken; several threads share the work.
    pub(super) fn sweep(&self) {
        while let Some(path) = self.next() {
            if let Err(problem) = remove_tree(&path) {
                tracing::warn!(problem = %problem.told(), "cannot remove what was given back");
            }
        }
    }

    fn next(&self) -> Option<PathBuf> {
        locked(&self.0).pop()
    }
}

/// Removes a directory and all in it; succeeds if there is none.
pub(super) fn remove_tree(path: &Path) -> Result<(), Problem> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Problem::io("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
