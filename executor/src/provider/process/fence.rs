//! Refuses a stale controller: the highest fence that this place has seen, shared by all drivers through a file.
//!
//! The file is read on every effect (one call on a descriptor that stays open), because a newer controller may
//! be another process; it is written only when the fence rises, which is once per driver. It holds the number
//! in twenty digits, so that one write replaces it whole.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use reconciler_core::id::Fence;
use rustix::fs::{FlockOperation, flock};

use super::problem::Problem;

const DIGITS: usize = 20;

/// The highest fence seen in one place.
#[derive(Debug)]
pub(super) struct FenceFile {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl FenceFile {
    /// Opens the file if it is there; one that cannot be opened is reported by the first effect.
    pub(super) fn new(path: PathBuf) -> Self {
        let made = Self { path, file: Mutex::new(None) };
        if let Ok(Some(file)) = made.open(false) {
            *made.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        }
        made
    }

    /// Admits `given` unless a higher one was seen, and remembers it.
    ///
    /// With `create`, the file is made if there is none; otherwise a place without one has seen nothing.
    pub(super) fn admit(&self, given: Fence, create: bool) -> Result<(), Problem> {
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = self.open(create)?;
        }
        let Some(file) = slot.as_ref() else { return Ok(()) };
        let seen = read(file, &self.path)?;
        if given > seen {
            return self.raise(file, given);
        }
        refuse_if_older(given, seen)
    }

    /// True if this place was in use before, as far as this process knows.
    pub(super) fn was_used(&self) -> bool {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The highest fence seen, as far as it is known.
    pub(super) fn seen(&self) -> Option<Fence> {
        let slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().and_then(|file| read(file, &self.path).ok())
    }

    fn open(&self, create: bool) -> Result<Option<File>, Problem> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).truncate(false);
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        match options.open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !create => Ok(None),
            Err(error) => Err(Problem::io("open", &self.path)(error)),
        }
    }

    /// Two drivers may rise at once; the lock makes the higher one win, whoever comes first.
    fn raise(&self, file: &File, given: Fence) -> Result<(), Problem> {
        let fails = |error: io::Error| Problem::io("write", &self.path)(error);
        flock(file, FlockOperation::LockExclusive).map_err(|error| fails(error.into()))?;
        let raised = self.raise_locked(file, given);
        flock(file, FlockOperation::Unlock).map_err(|error| fails(error.into()))?;
        raised
    }

    fn raise_locked(&self, file: &File, given: Fence) -> Result<(), Problem> {
        let seen = read(file, &self.path)?;
        if given > seen {
            let digits = format!("{:0DIGITS$}", given.get());
            file.write_all_at(digits.as_bytes(), 0)
                .and_then(|()| file.sync_data())
                .map_err(Problem::io("write", &self.path))?;
        }
        refuse_if_older(given, seen)
    }
}

/// Refuses `given` if it is older than `seen`.
pub(super) fn refuse_if_older(given: Fence, seen: Fence) -> Result<(), Problem> {
    if given < seen { Err(Problem::Fenced { given, seen }) } else { Ok(()) }
}

fn read(file: &File, path: &Path) -> Result<Fence, Problem> {
    let mut digits = [0; DIGITS];
    let len = file.read_at(&mut digits, 0).map_err(Problem::io("read", path))?;
    if len == 0 {
        return Ok(Fence::new(0));
    }
    let number = std::str::from_utf8(&digits).ok().filter(|_| len == DIGITS);
    match number.and_then(|text| text.parse().ok()) {
        Some(number) => Ok(Fence::new(number)),
        None => Err(Problem::Garbled {
            path: path.to_owned(),
            source: io::Error::from(io::ErrorKind::InvalidData),
        }),
    }
}
