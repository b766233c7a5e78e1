//! How a process ended: asked of the kernel once, kept on disk for the next driver.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use reconciler_core::effect::ExitStatus;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{WaitId, WaitIdOptions, WaitIdStatus, waitid},
};

use super::{
    files::{Ended, LeaseDir, Process},
    problem::Problem,
};

/// A process that ended, and how.
///
/// The kernel is asked without reaping first, and the process is reaped only after its status is on disk: of
/// two who notice the same end, one finds the process and the other finds the record. A process that is not our
/// child (its driver died) tells us nothing; then the record counts, or nobody knows.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    pub(super) status: ExitStatus,
    /// The process, if it is still there to be reaped.
    unreaped: Option<&'a OwnedFd>,
}

impl<'a> Ending<'a> {
    /// How `process` ended.
    pub(super) fn of(dir: &LeaseDir, process: &Process, fd: Option<&'a OwnedFd>) -> Self {
        match fd.and_then(|fd| Some((peek(fd)?, fd))) {
            Some((status, fd)) => Self { status, unreaped: Some(fd) },
            None => Self { status: recorded(dir, process), unreaped: None },
        }
    }

    /// Keeps the status in the lease, and lets the process go.
    pub(super) fn keep(&self, dir: &LeaseDir, process: &Process) {
        let Some(fd) = self.unreaped else { return };
        let ended = Ended { status: self.status.clone(), process: process.clone() };
        match dir.record_ended(&ended) {
            // The lease was given back meanwhile: nobody will ask.
            Err(Problem::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(problem) => {
                tracing::warn!(problem = %problem.told(), "cannot record how a node ended");
            }
            Ok(()) => {}
        }
        reap(fd);
    }
}

/// The status of a process that ended, kept in its lease.
pub(super) fn conclude(dir: &LeaseDir, process: &Process, fd: Option<&OwnedFd>) -> ExitStatus {
    let ending = Ending::of(dir, process, fd);
    ending.keep(dir, process);
    ending.status
}

fn recorded(dir: &LeaseDir, process: &Process) -> ExitStatus {
    match dir.ended(process) {
        Ok(status) => status.unwrap_or(ExitStatus::Unknown),
        Err(problem) => {
            tracing::warn!(problem = %problem.told(), "cannot read how a node ended");
            ExitStatus::Unknown
        }
    }
}

/// The status of an ended child that was not reaped yet.
pub(super) fn peek(fd: &OwnedFd) -> Option<ExitStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::PidFd(fd.as_fd()), options).ok().flatten().map(|status| status_of(&status))
}

/// Lets the kernel forget an ended child.
pub(super) fn reap(fd: &OwnedFd) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    match waitid(WaitId::PidFd(fd.as_fd()), options) {
        Ok(_) | Err(Errno::CHILD) => {}
        Err(error) => tracing::warn!(%error, "cannot reap a process"),
    }
}

fn status_of(status: &WaitIdStatus) -> ExitStatus {
    let code = status.exit_status().map(ExitStatus::Code);
    code.or_else(|| status.terminating_signal().map(ExitStatus::Signal))
        .unwrap_or(ExitStatus::Unknown)
}

/// Waits until the process of `fd` ended or `deadline` passed; true if it ended.
pub(super) fn wait(fd: &OwnedFd, deadline: Instant) -> Result<bool, Problem> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(Problem::io("wait for", "a process")(error.into())),
        }
    }
}

fn timespec(length: Duration) -> Timespec {
    // A day is longer than any deadline, and far from what the type cannot hold.
    Timespec::try_from(length.min(Duration::from_hours(24)))
        .unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 })
}
