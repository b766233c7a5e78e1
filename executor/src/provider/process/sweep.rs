//! Removes what is given back, behind the back of whoever gave it back.
//!
//! A lease is gone as soon as its directory has another name. Freeing its files may take the file system many
//! times as long, and some file systems are slow to make files right after others were freed. So that happens on
//! one thread, one directory after another, once no effect came for a moment; what a dying driver leaves is cleared
//! by the next listing.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{lock::locked, problem::Problem};

/// How long no effect must have come before files are freed.
const QUIET: Duration = Duration::from_millis(200);
/// Moments of waiting after which files are freed all the same: ten seconds.
const MOMENTS_MAX: u32 = 50;

/// Directories that wait to be removed.
#[derive(Debug, Default)]
pub(super) struct Sweeper(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<PathBuf>,
    runs: bool,
    /// Counts effects, so that a quiet moment can be told.
    effects: u64,
}

impl Sweeper {
    /// Takes a directory that nobody looks at any more. Must be called within the runtime.
    pub(super) fn take(&self, path: PathBuf) {
        let mut queue = locked(&self.0);
        queue.waiting.push(path);
        if !queue.runs {
            queue.runs = true;
            let queue = Arc::clone(&self.0);
            tokio::spawn(async move {
                quiet(&queue).await;
                tokio::task::spawn_blocking(move || sweep(&queue));
            });
        }
    }

    /// Notes that an effect is under way, which is to have the file system for itself.
    pub(super) fn note_effect(&self) {
        let mut queue = locked(&self.0);
        queue.effects = queue.effects.wrapping_add(1);
    }
}

impl Drop for Sweeper {
    /// A driver that ends in peace leaves nothing behind.
    fn drop(&mut self) {
        sweep(&self.0);
    }
}

/// Waits until no effect came for a moment.
async fn quiet(queue: &Mutex<Queue>) {
    for _ in 0..MOMENTS_MAX {
        let seen = locked(queue).effects;
        tokio::time::sleep(QUIET).await;
        if locked(queue).effects == seen {
            return;
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
