//! What all operations of one process provider share: its place, its reservations, and one lane per attempt.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, TryLockError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use reconciler_core::id::{AttemptId, LogicalNodeId, Uuid};
use rustix::{
    io::Errno,
    process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, prlimit, setrlimit},
};

use tokio::sync::Semaphore;

use super::{
    census::Census,
    ending::wait,
    errands::Errands,
    fence::FenceFile,
    files::{LeaseDir, Owner, Process, lease_name, parse_lease_name},
    lock::locked,
    ports::Ports,
    prepare::Inherited,
    problem::Problem,
    rotation::Rotation,
    spawners::Spawners,
    sweep::Sweeper,
};
use crate::seam::{EffectContext, FENCE_FILE, ProviderPlace};

/// Released attempts that are remembered; enough for every attempt that is under way at once.
const RELEASED_MAX: usize = 65_536;

/// The shared part of a process provider.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) place: ProviderPlace,
    pub(super) fence: FenceFile,
    pub(super) ports: Ports,
    pub(super) inherited: Inherited,
    pub(super) rotation: Arc<Rotation>,
    pub(super) sweeper: Arc<Sweeper>,
    pub(super) census: Census,
    pub(super) errands: Errands,
    pub(super) spawners: Spawners,
    /// Turns for effects that only work and never wait.
    pub(super) turns: Semaphore,
    open_files: Option<Rlimit>,
    /// True once no probe of an earlier driver is left.
    pub(super) asks_alone: Mutex<bool>,
    begun: AtomicBool,
    lanes: Mutex<BTreeMap<Uuid, Arc<Lane>>>,
    released: Mutex<BTreeSet<Uuid>>,
    watched: Mutex<BTreeMap<Uuid, (Process, Weak<OwnedFd>)>>,
    ended: Mutex<BTreeMap<Uuid, Process>>,
}

impl Ground {
    pub(super) fn new(mut place: ProviderPlace, log_max_bytes: u64) -> Self {
        place.state_dir = resolved(&place.state_dir);
        Self {
            fence: FenceFile::new(place.state_dir.join(FENCE_FILE)),
            ports: Ports::default(),
            inherited: Inherited::read(),
            rotation: Arc::new(Rotation::new(log_max_bytes)),
            sweeper: Arc::default(),
            census: Census::default(),
            errands: Errands::default(),
            spawners: Spawners::default(),
            turns: Semaphore::new(turns()),
            open_files: raise_open_files(),
            asks_alone: Mutex::default(),
            begun: AtomicBool::new(false),
            lanes: Mutex::default(),
            released: Mutex::default(),
            watched: Mutex::default(),
            ended: Mutex::default(),
            place,
        }
    }

    /// True once: for the first effect that was admitted here.
    pub(super) fn begins_here(&self) -> bool {
        !self.begun.swap(true, Ordering::SeqCst)
    }

    /// The directory of an attempt's lease.
    pub(super) fn dir(&self, slot: &LogicalNodeId, attempt: AttemptId) -> LeaseDir {
        LeaseDir::new(self.place.state_dir.join(lease_name(slot, attempt.ordinal)))
    }

    /// The directory of the lease of that name, if it is one.
    pub(super) fn leased(&self, name: &str) -> Option<LeaseDir> {
        parse_lease_name(name)?;
        Some(LeaseDir::new(self.place.state_dir.join(name)))
    }

    /// Where the lease of that name is moved before it is removed.
    pub(super) fn gone_path(&self, name: &str) -> PathBuf {
        self.place.state_dir.join(format!(".gone.{name}"))
    }

    /// The lease of `ctx` and whose it is; `None` if there is no such lease.
    pub(super) fn owned(&self, ctx: &EffectContext) -> Result<(LeaseDir, Option<Owner>), Problem> {
        let dir = self.dir(&ctx.slot, ctx.attempt);
        let owner = owned_by(&dir, ctx.run, &ctx.slot, ctx.attempt)?;
        if let Some(owner) = &owner {
            super::fence::refuse_if_older(ctx.fence, owner.fence)?;
        }
        Ok((dir, owner))
    }

    /// The lane of an attempt.
    pub(super) fn lane(&self, attempt: Uuid) -> Arc<Lane> {
        Arc::clone(locked(&self.lanes).entry(attempt).or_default())
    }

    /// Forgets an attempt that is gone, but for the fact that this process saw it go.
    pub(super) fn release(&self, attempt: Uuid) {
        locked(&self.lanes).remove(&attempt);
        locked(&self.watched).remove(&attempt);
        locked(&self.ended).remove(&attempt);
        let mut released = locked(&self.released);
        if released.len() >= RELEASED_MAX {
            released.clear();
        }
        released.insert(attempt);
    }

    /// Forgets that the attempt went: it gets a lease once more.
    pub(super) fn unrelease(&self, attempt: Uuid) {
        locked(&self.released).remove(&attempt);
    }

    /// Notes that `process` is watched through `fd`.
    pub(super) fn note_watched(&self, attempt: Uuid, process: &Process, fd: &Arc<OwnedFd>) {
        locked(&self.watched).insert(attempt, (process.clone(), Arc::downgrade(fd)));
    }

    /// True if `process` is watched and runs: the descriptor tells at a small part of what `/proc` costs.
    pub(super) fn is_watched_running(&self, attempt: Uuid, process: &Process) -> bool {
        let fd = match locked(&self.watched).get(&attempt) {
            Some((watched, fd)) if watched == process => fd.upgrade(),
            Some(_) | None => None,
        };
        fd.is_some_and(|fd| matches!(wait(&fd, Instant::now()), Ok(false)))
    }

    /// Notes that `process` ends because it was asked to.
    pub(super) fn note_ended(&self, attempt: Uuid, process: &Process) {
        locked(&self.ended).insert(attempt, process.clone());
    }

    /// True if `process` ended because it was asked to.
    pub(super) fn was_ended(&self, attempt: Uuid, process: &Process) -> bool {
        locked(&self.ended).get(&attempt) == Some(process)
    }

    /// True if this process itself saw the attempt's processes and directory go.
    pub(super) fn has_released(&self, attempt: Uuid) -> bool {
        locked(&self.released).contains(&attempt)
    }

    /// Gives a new process the limit of open files that the driver had before it raised its own: programs that
    /// use `select` do not survive a high one.
    pub(super) fn restore_open_files(&self, pid: Pid) {
        if let Some(limit) = &self.open_files
            && let Err(error) = prlimit(Some(pid), Resource::Nofile, *limit)
        {
            tracing::warn!(%error, "cannot restore a node's limit of open files");
        }
    }
}

/// The path without links, whichever way it was given: nodes carry it, and are recognised by it. What does not
/// exist yet will be made as a plain directory.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let whole = path.ancestors().find_map(|known| {
        let rest = path.strip_prefix(known).ok()?;
        Some(fs::canonicalize(known).ok()?.iter().chain(rest).collect())
    });
    whole.unwrap_or(path)
}

/// Whose the lease in `dir` is, if it is the given attempt's.
pub(super) fn owned_by(
    dir: &LeaseDir,
    run: Uuid,
    slot: &LogicalNodeId,
    attempt: AttemptId,
) -> Result<Option<Owner>, Problem> {
    let Some(owner) = dir.owner()? else { return Ok(None) };
    let foreign = |why| Err(Problem::Foreign { path: dir.path().to_owned(), why });
    if owner.run != run {
        return foreign("another run");
    }
    if owner.attempt != attempt.uuid || owner.slot != *slot || owner.ordinal != attempt.ordinal {
        return foreign("another attempt");
    }
    Ok(Some(owner))
}

/// One attempt's way through the provider: its effects come one after another, and a cancel overtakes.
#[derive(Debug, Default)]
pub(super) struct Lane {
    busy: Mutex<()>,
    cancelled: AtomicBool,
    verifying: Mutex<Option<Pid>>,
}

impl Lane {
    /// Waits until no other effect of this attempt is under way.
    pub(super) fn enter(&self) -> MutexGuard<'_, ()> {
        locked(&self.busy)
    }

    /// Breaks a verify command or a hook off that still runs, then waits for the lane.
    pub(super) fn overtake(&self) -> MutexGuard<'_, ()> {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(pid) = *locked(&self.verifying) {
            kill_group(pid);
        }
        let guard = locked(&self.busy);
        self.cancelled.store(false, Ordering::SeqCst);
        guard
    }

    /// Enters if no effect of this attempt is under way.
    pub(super) fn try_enter(&self) -> Option<MutexGuard<'_, ()>> {
        match self.busy.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// True if an effect of this attempt is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.try_enter().is_none()
    }

    /// True if a cancel waits for the lane.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Notes the verify command or hook that runs; a cancel ends it. It must not be reaped while it is noted.
    pub(super) fn note_verifying(&self, pid: Option<Pid>) {
        *locked(&self.verifying) = pid;
        if let Some(pid) = pid.filter(|_| self.is_cancelled()) {
            kill_group(pid);
        }
    }
}

/// Kills the group of a child that was not reaped yet, so that its id cannot be another's.
pub(super) fn kill_group(pid: Pid) {
    match kill_process_group(pid, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => {
            tracing::warn!(pid = pid.as_raw_nonzero().get(), %error, "cannot kill a process group");
        }
    }
}

/// Two for each processor: one works while the other waits for the file system.
fn turns() -> usize {
    std::thread::available_parallelism().map_or(4, |cores| cores.get().saturating_mul(2))
}

/// Watching a node takes a descriptor, and the usual soft limit is 1 024. Gives the limit before the change.
fn raise_open_files() -> Option<Rlimit> {
    static BEFORE: OnceLock<Option<Rlimit>> = OnceLock::new();
    *BEFORE.get_or_init(|| {
        let before = getrlimit(Resource::Nofile);
        if before.current == before.maximum {
            return None;
        }
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => Some(before),
            Err(error) => {
                tracing::warn!(%error, "cannot raise the limit of open files");
                None
            }
        }
    })
}
