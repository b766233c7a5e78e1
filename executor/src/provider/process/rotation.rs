//! How output is kept from filling the disk, by copy and truncate: the only way that needs nothing of the node.
//!
//! The last part of a file over its cap, up to the cap, moves to `NAME.1`, and the file begins anew. What a node wrote
//! before that part since the last rotation is lost, and so is what it writes between copy and truncation.
//! Files are looked at with each listing. One that may go over its cap before the next is looked at every second
//! meanwhile, so that a busy node loses little and an idle one costs nothing more.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    files::{LeaseDir, STREAMS},
    lock::locked,
    problem::Problem,
};

/// How often a busy file is looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// After so many looks it is judged anew whether it is busy.
const ROUNDS: u32 = 4;
/// A file is busy if it would grow by its cap within about this many looks: a listing may be that far away.
const ROUNDS_TO_LISTING: u32 = 64;

/// Rotates output files, one at a time: two who rotate the same file would lose what they both copied.
#[derive(Debug)]
pub(super) struct Rotation {
    cap: u64,
    one_at_a_time: Mutex<()>,
    busy: Mutex<Busy>,
}

#[derive(Debug, Default)]
struct Busy {
    files: BTreeMap<PathBuf, Growth>,
    /// True while somebody looks at them every now and then.
    watched: bool,
}

/// What was written to a file since it was last judged.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    len: u64,
    grown: u64,
    rounds: u32,
}

impl Rotation {
    pub(super) fn new(cap: u64) -> Self {
        Self { cap, one_at_a_time: Mutex::new(()), busy: Mutex::default() }
    }

    /// Rotates the output files of a lease that are over the cap; one that was is busy.
    pub(super) fn apply(self: &Arc<Self>, dir: &LeaseDir) -> Result<(), Problem> {
        let mut over = Vec::new();
        for name in STREAMS {
            let path = dir.file(name);
            if self.rotate(&path)?.is_some_and(|len| len > self.cap) {
                over.push(path);
            }
        }
        self.watch(over);
        Ok(())
    }

    /// Looks at the files of a workload that begins more often, until it is known how much it writes. Must be called
    /// within the runtime.
    pub(super) fn begin(self: &Arc<Self>, dir: &LeaseDir) {
        self.watch(STREAMS.iter().map(|name| dir.file(name)).collect());
    }

    fn watch(self: &Arc<Self>, files: Vec<PathBuf>) {
        let mut busy = locked(&self.busy);
        for file in files {
            busy.files.entry(file).or_default();
        }
        if !busy.files.is_empty() && !std::mem::replace(&mut busy.watched, true) {
            let rotation = Arc::clone(self);
            tokio::spawn(async move {
                let mut goes_on = true;
                while goes_on {
                    tokio::time::sleep(PERIOD).await;
                    let rotation = Arc::clone(&rotation);
                    let round = tokio::task::spawn_blocking(move || rotation.round());
                    goes_on = round.await.unwrap_or(false);
                }
            });
        }
    }

    /// Looks at every busy file; false once there is none.
    fn round(&self) -> bool {
        let files: Vec<(PathBuf, Growth)> =
            locked(&self.busy).files.iter().map(|(path, seen)| (path.clone(), *seen)).collect();
        for (path, seen) in files {
            let next = match self.rotate(&path) {
                Ok(len) => len.and_then(|len| self.judged(seen, len)),
                Err(problem) => {
                    tracing::warn!(problem = %problem.told(), "cannot rotate a node's output");
                    None
                }
            };
            let mut busy = locked(&self.busy);
            match next {
                Some(next) => drop(busy.files.insert(path, next)),
                None => drop(busy.files.remove(&path)),
            }
        }
        let mut busy = locked(&self.busy);
        busy.watched = !busy.files.is_empty();
        busy.watched
    }

    /// What is known of a file that was `len` long at this look; nothing if it is not busy.
    fn judged(&self, seen: Growth, len: u64) -> Option<Growth> {
        let grown = seen.grown.saturating_add(len.saturating_sub(seen.len));
        // What is over the cap was moved away just now.
        let len = if len > self.cap { 0 } else { len };
        let rounds = seen.rounds.saturating_add(1);
        if rounds < ROUNDS {
            return Some(Growth { len, grown, rounds });
        }
        let until_listing = grown.saturating_mul(u64::from(ROUNDS_TO_LISTING / ROUNDS));
        (until_listing >= self.cap).then_some(Growth { len, ..Growth::default() })
    }

    /// Rotates a file that is over the cap; gives the length that it had, nothing if there is no such file.
    fn rotate(&self, path: &Path) -> Result<Option<u64>, Problem> {
        let Some(len) = length(path)? else { return Ok(None) };
        if len <= self.cap {
            return Ok(Some(len));
        }
        let _guard = locked(&self.one_at_a_time);
        if length(path)?.is_some_and(|len| len > self.cap) {
            rotate_one(path, self.cap)?;
        }
        Ok(Some(len))
    }
}

/// How long a plain file is; nothing if there is none.
fn length(path: &Path) -> Result<Option<u64>, Problem> {
    match fs::symlink_metadata(path) {
        Ok(facts) => Ok(Some(facts.len()).filter(|_| facts.is_file())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Problem::io("look at", path)(error)),
    }
}

fn rotate_one(path: &Path, cap: u64) -> Result<(), Problem> {
    let fails = |error| Problem::io("rotate", path)(error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW);
    let mut from = options.open(path).map_err(fails)?;
    let len = from.metadata().map_err(fails)?.len();
    from.seek(SeekFrom::Start(len.saturating_sub(cap))).map_err(fails)?;
    let old = suffixed(path, ".1");
    let temporary = suffixed(path, ".1.new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let mut to = options.open(&temporary).map_err(fails)?;
    // No more than was there: a node that writes as fast as it is copied would never be done with.
    io::copy(&mut (&from).take(cap), &mut to).map_err(fails)?;
    from.set_len(0).map_err(fails)?;
    fs::rename(&temporary, &old).map_err(fails)
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(rotation: &Rotation, grows_by: u64) -> Option<Growth> {
        let mut len = 0;
        let mut seen = Growth::default();
        for _ in 0..ROUNDS {
            len += grows_by;
            seen = rotation.judged(seen, len)?;
        }
        Some(seen)
    }

    /// What would go over its cap before the next listing is looked at on; what would not costs nothing more.
    #[test]
    fn only_busy_files_are_looked_at_often() {
        let rotation = Rotation::new(64_000);
        assert!(looks(&rotation, 1_000).is_some());
        assert!(looks(&rotation, 100_000).is_some(), "also one that is rotated each time");
        assert!(looks(&rotation, 900).is_none());
        assert!(looks(&rotation, 0).is_none());
    }
}
