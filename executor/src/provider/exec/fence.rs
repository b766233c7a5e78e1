//! The highest fence that any controller has shown here, kept in a file, so that a stale one is refused (D11).
//!
//! Each effect holds the lock shared while its program runs; a higher fence takes it alone to be written. So a
//! newer controller's first effect begins only after the older one's calls have ended, and none begins after it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use reconciler_core::{effect::FailureClass, id::Fence};
use rustix::fs::{FlockOperation, flock};

use crate::seam::FENCE_FILE;

/// Time between two tries for the lock; another controller's call holds it for longer only at a handover.
const RETRY: Duration = Duration::from_millis(10);

/// Where the highest fence is kept.
#[derive(Debug)]
pub(super) struct FenceFile {
    directory: PathBuf,
}

/// Permission for one effect; ends when dropped.
#[derive(Debug)]
pub(super) struct Entered {
    _lock: File,
}

/// Why an effect may not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum FenceError {
    /// A newer controller was here.
    #[error("fence {mine} is older than {seen}, which was seen here")]
    Stale {
        /// The effect's.
        mine: Fence,
        /// The highest.
        seen: Fence,
    },
    /// An older controller's call has not ended in time.
    #[error("a call of an older controller is still under way")]
    Busy,
    /// The file does not hold a number.
    #[error("{0} does not hold a fence")]
    Garbled(PathBuf),
    /// The file could not be used.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl FenceError {
    /// The policy's class.
    pub(super) const fn class(&self) -> FailureClass {
        match self {
            Self::Stale { .. } => FailureClass::Fenced,
            Self::Busy | Self::Garbled(_) | Self::Io { .. } => FailureClass::Unavailable,
        }
    }
}

impl FenceFile {
    /// Keeps the fence in `directory`, which is made if it is not there.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Waits until an effect under `mine` may begin, or says why it may not.
    pub(super) async fn enter(
        &self,
        mine: Fence,
        deadline: Instant,
    ) -> Result<Entered, FenceError> {
        loop {
            if let Some(entered) = self.try_enter(mine)? {
                return Ok(entered);
            }
            if Instant::now() >= deadline {
                return Err(FenceError::Busy);
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// One try; `None` if somebody holds the lock against us.
    fn try_enter(&self, mine: Fence) -> Result<Option<Entered>, FenceError> {
        let path = self.directory.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| FenceError::Io { path: path.clone(), source })?;
        if !locked(&lock, &path, FlockOperation::NonBlockingLockShared)? {
            return Ok(None);
        }
        if self.seen()? < mine {
            // Changing a shared lock gives it up first, so what was read is read again.
            if !locked(&lock, &path, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(None);
            }
            if self.seen()? < mine {
                self.write(mine)?;
            }
            if !locked(&lock, &path, FlockOperation::NonBlockingLockShared)? {
                return Ok(None);
            }
        }
        let seen = self.seen()?;
        if seen > mine {
            return Err(FenceError::Stale { mine, seen });
        }
        Ok(Some(Entered { _lock: lock }))
    }

    fn seen(&self) -> Result<Fence, FenceError> {
        let path = self.directory.join(FENCE_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fence::default()),
            Err(source) => return Err(FenceError::Io { path, source }),
        };
        text.trim().parse().map(Fence::new).map_err(|_number| FenceError::Garbled(path))
    }

    /// Replaces the number as a whole, and has it on disk before any effect under it.
    fn write(&self, fence: Fence) -> Result<(), FenceError> {
        let (path, draft) = (self.directory.join(FENCE_FILE), self.directory.join("fence.new"));
        let replace = || {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(true)
                .write(true)
                .mode(0o600)
                .open(&draft)?;
            writeln!(file, "{fence}")?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(&self.directory)?.sync_all()
        };
        replace().map_err(|source| FenceError::Io { path: path.clone(), source })
    }
}

fn locked(lock: &File, path: &Path, how: FlockOperation) -> Result<bool, FenceError> {
    match flock(lock, how) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(FenceError::Io { path: path.to_owned(), source: error.into() }),
    }
}
