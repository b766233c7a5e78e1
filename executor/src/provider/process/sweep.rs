//! Removes what is given back, behind the back of whoever gave it back.
//!
//! A lease is gone as soon as its directory has another name. Freeing its blocks may take the file system many
//! times as long, so that happens on one thread, one directory after another, and what a dying driver leaves is
//! cleared by the next listing.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::{lock::locked, problem::Problem};

/// Directories that wait to be removed.
#[derive(Debug, Default)]
pub(super) struct Sweeper(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<PathBuf>,
    runs: bool,
}

impl Sweeper {
    /// Takes a directory that nobody looks at any more. Must be called within the runtime.
    pub(super) fn take(&self, path: PathBuf) {
        let mut queue = locked(&self.0);
        queue.waiting.push(path);
        if !queue.runs {
            queue.runs = true;
            let queue = Arc::clone(&self.0);
            tokio::task::spawn_blocking(move || sweep(&queue));
        }
    }
}

fn sweep(queue: &Mutex<Queue>) {
    while let Some(path) = next(queue) {
        if let Err(problem) = remove_tree(&path) {
            tracing::warn!(problem = %problem.told(), "cannot remove what was given back");
        }
    }
}

fn next(queue: &Mutex<Queue>) -> Option<PathBuf> {
    let mut queue = locked(queue);
    let path = queue.waiting.pop();
    queue.runs = path.is_some();
    path
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
