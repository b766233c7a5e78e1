//! The OS lock of an operation: held from before its effects go out until what came of them is on disk (R142).
//!
//! Who takes an operation over takes the same lock first, and so waits for what is under way. The lock dies with its
//! process. The files stand in `operations/`, one for each operation with effects under way; only the names go away.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use reconciler_core::id::{OperationId, StepId};
use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};

use crate::{paths::StatePaths, step::StepWrite, store::make_dir};

/// Time between two tries; a handover holds the lock for one transaction.
const PAUSE: Duration = Duration::from_millis(5);
/// Open files that are kept for operations with nothing under way: a lock is then one call.
const IDLE_MAX: usize = 32;

/// The end of a wait that begins now.
fn after(patience: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(patience).unwrap_or(now)
}

/// The lock of one operation, held while this lives.
#[derive(Debug)]
pub(crate) struct OperationLock {
    path: PathBuf,
    file: File,
}

impl OperationLock {
    /// Takes the lock of `operation`, waiting up to `patience`; nothing if somebody else has it all the time.
    pub(crate) fn take(
        paths: &StatePaths,
        operation: OperationId,
        patience: Duration,
    ) -> io::Result<Option<Self>> {
        let until = after(patience);
        let path = paths.operation_lock(operation);
        loop {
            let file = open(&path).map_err(|error| named(&path, &error))?;
            if !is_locked(&file, until)? {
                return Ok(None);
            }
            let lock = Self { path: path.clone(), file };
            if lock.is_named()? {
                return Ok(Some(lock));
            }
        }
    }

    /// True if the name still leads to this file: whoever had the lock may have taken the name away meanwhile, and
    /// then it keeps nobody out.
    fn is_named(&self) -> io::Result<bool> {
        let (named, ours) = (fs::symlink_metadata(&self.path), self.file.metadata()?);
        Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino())))
    }

    /// Lets it go for good: the name goes first, while nobody else can hold it.
    fn remove(self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = path.parent().unwrap_or(path);
            make_dir(dir).map_err(io::Error::other)?;
            options.open(path)
        }
        opened => opened,
    }
}

/// What went wrong, with the file that it went wrong on.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn is_locked(file: &File, until: Instant) -> io::Result<bool> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < until => thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// An operation with effects under way, or one that had some.
#[derive(Debug)]
struct Held {
    lock: OperationLock,
    /// Steps whose outcome is not on disk yet; with none, the lock is not held.
    steps: BTreeSet<StepId>,
    /// True once the operation is over: the name goes with the last of its steps.
    is_over: bool,
}

/// The locks of the operations whose effects a journal gave out.
#[derive(Debug)]
pub(crate) struct OperationLocks {
    paths: StatePaths,
    held: BTreeMap<OperationId, Held>,
    of: BTreeMap<StepId, OperationId>,
}

impl OperationLocks {
    /// None is held yet; names that a dead owner left are taken away.
    pub(crate) fn new(paths: StatePaths) -> io::Result<Self> {
        let locks = Self { paths, held: BTreeMap::new(), of: BTreeMap::new() };
        locks.sweep()?;
        Ok(locks)
    }

    fn sweep(&self) -> io::Result<()> {
        let names = match fs::read_dir(self.paths.operation_locks()) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for name in names {
            let name = name?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".lock")?.parse().ok());
            let Some(number) = number else { continue };
            let taken = OperationLock::take(&self.paths, OperationId::new(number), Duration::ZERO)?;
            taken.map_or(Ok(()), OperationLock::remove)?;
        }
        Ok(())
    }

    /// Holds the lock of `operation` for `step`; false if somebody else has it all the time.
    pub(crate) fn hold(
        &mut self,
        operation: OperationId,
        step: StepId,
        patience: Duration,
    ) -> io::Result<bool> {
        let mut known = self.held.remove(&operation);
        if let Some(held) = known.take_if(|held| held.steps.is_empty()) {
            let again = is_locked(&held.lock.file, after(patience))?;
            known = (again && held.lock.is_named()?).then_some(held);
        }
        let mut held = match known {
            Some(held) => held,
            None => match OperationLock::take(&self.paths, operation, patience)? {
                Some(lock) => Held { lock, steps: BTreeSet::new(), is_over: false },
                None => return Ok(false),
            },
        };
        held.steps.insert(step);
        self.held.insert(operation, held);
        self.of.insert(step, operation);
        Ok(true)
    }

    /// Notes that `step` has nothing under way: its evidence is on disk, or it was never given out.
    pub(crate) fn let_go(&mut self, step: StepId) -> io::Result<()> {
        let Some(operation) = self.of.remove(&step) else { return Ok(()) };
        let is_crowded = self.held.len() > IDLE_MAX;
        let Some(held) = self.held.get_mut(&operation) else { return Ok(()) };
        held.steps.remove(&step);
        if !held.steps.is_empty() {
            return Ok(());
        }
        if is_crowded || held.is_over {
            return self.held.remove(&operation).map_or(Ok(()), |held| held.lock.remove());
        }
        flock(&held.lock.file, FlockOperation::Unlock).map_err(io::Error::from)
    }

    /// Lets go what `steps` are evidence for; they are on disk.
    pub(crate) fn evident(&mut self, steps: &[StepWrite]) -> io::Result<()> {
        steps.iter().try_for_each(|step| self.let_go(step.step))
    }

    /// Forgets an operation that is over: at once, or once nothing of it is under way.
    pub(crate) fn close(&mut self, operation: OperationId) -> io::Result<()> {
        let Some(held) = self.held.get_mut(&operation) else { return Ok(()) };
        held.is_over = true;
        if !held.steps.is_empty() {
            return Ok(());
        }
        let Some(held) = self.held.remove(&operation) else { return Ok(()) };
        // Its name may only go while it is locked; who has it now is about to find the operation closed.
        let now = Instant::now();
        if is_locked(&held.lock.file, now)? { held.lock.remove() } else { Ok(()) }
    }
}
