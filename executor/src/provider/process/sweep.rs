//! Removes what is given back, behind the back of whoever gave it back.
//!
//! A lease is gone as soon as its directory has another name. Freeing its blocks may take the file system many
//! times as long, so that happens a moment later, at the latest when the provider is closed, and what a dying driver
//! leaves is cleared by the next listing.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{lock::locked, problem::Problem};

/// How long what was given back may wait: whoever replaces a node needs the processors first.
const PAUSE: Duration = Duration::from_millis(200);

/// Directories that wait to be removed.
#[derive(Debug, Default)]
pub(super) struct Sweeper(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<PathBuf>,
    /// True while somebody is about to sweep.
    called: bool,
}

impl Sweeper {
    /// Takes a directory that nobody looks at any more. Must be called within the runtime.
    pub(super) fn take(self: &Arc<Self>, path: PathBuf) {
        let mut queue = locked(&self.0);
        queue.waiting.push(path);
        if !std::mem::replace(&mut queue.called, true) {
            let sweeper = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(PAUSE).await;
                drop(tokio::task::spawn_blocking(move || sweeper.sweep()));
            });
        }
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
        let mut queue = locked(&self.0);
        let path = queue.waiting.pop();
        queue.called = path.is_some();
        path
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
