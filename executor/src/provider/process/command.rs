//! Commands that run to their end on a lease: verify commands and hooks.
//!
//! Each leads a session of its own, is ended with its whole group when it is over or its time is up, and is noted in
//! the lane of its attempt meanwhile, so that whoever ends the attempt ends it too.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use reconciler_core::effect::ExitStatus;
use rustix::process::Pid;

use super::{
    ending::{peek, reap, wait},
    files::Process,
    ground::{Ground, Lane, kill_group},
    identity::{boot_id, open, stat},
    logs,
    problem::Problem,
    spawn::Launch,
    spawners::Spawners,
};
use crate::secret::Secrets;

/// How long a killed command may take to be gone.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs one command to its end; `None` if it was killed because its time was over.
///
/// `begun` hears of the process before it is waited for; if it fails, the command is ended and fails with it.
pub(super) fn run_to_end(
    ground: &Ground,
    lane: &Lane,
    launch: Launch,
    deadline: Instant,
    begun: impl FnOnce(Pid) -> Result<(), Problem>,
) -> Result<Option<ExitStatus>, Problem> {
    let pid = spawned(&ground.spawners, launch)?;
    ground.restore_open_files(pid);
    let Some(fd) = open(pid)? else { return Ok(Some(ExitStatus::Unknown)) };
    lane.note_verifying(Some(pid));
    let in_time = begun(pid).and_then(|()| wait(&fd, deadline));
    // Also what it left in the background; its id is its own until it is reaped.
    kill_group(pid);
    let ended = wait(&fd, deadline_in(KILL_TIMEOUT));
    lane.note_verifying(None);
    let status = peek(&fd).unwrap_or(ExitStatus::Unknown);
    reap(&fd);
    if !ended? {
        return Err(Problem::Unkillable { pid: pid.as_raw_nonzero().get() });
    }
    Ok(in_time?.then_some(status))
}

/// What is wrong with a command that ended so, its last lines included; nothing if it succeeded.
pub(super) fn failure(
    what: &str,
    ended: Option<&ExitStatus>,
    log: &Path,
    secrets: &Secrets,
) -> Option<Problem> {
    let how = match ended {
        Some(ExitStatus::Code(0)) => return None,
        Some(ExitStatus::Code(code)) => format!("exited with {code}"),
        Some(ExitStatus::Signal(signal)) => format!("was ended by signal {signal}"),
        Some(ExitStatus::Unknown) => "ended in an unknown way".to_owned(),
        None => "took too long".to_owned(),
    };
    let text = format!("{what} {how}: {}", logs::tail_of(log, secrets));
    Some(Problem::Workload(text.trim_end_matches([':', ' ']).to_owned()))
}

/// What tells the child `pid` from every other process.
pub(super) fn identify(pid: Pid) -> Result<Process, Problem> {
    let raw = pid.as_raw_nonzero().get();
    let gone = || Problem::Workload("the process vanished as it was started".to_owned());
    let stat = stat(pid)?.ok_or_else(gone)?;
    Ok(Process { pid: raw, start: stat.start, boot: boot_id()?.to_owned() })
}

/// Spawns, and says what is wrong with the program where it is the program's fault.
pub(super) fn spawned(spawners: &Spawners, launch: Launch) -> Result<Pid, Problem> {
    let program = launch.program.clone();
    spawners.spawn(launch).map_err(|source: io::Error| {
        let program = program.to_string_lossy();
        let why = match source.raw_os_error() {
            Some(libc::ENOEXEC) => "is neither a program nor a script with a `#!` line",
            Some(libc::ENOENT | libc::ENOTDIR) => {
                "or the interpreter in its first line was not found"
            }
            Some(libc::EACCES | libc::EPERM) => "may not be executed",
            Some(libc::E2BIG) => "gets more arguments and environment than the system allows",
            Some(_) | None => return Problem::io("start", program.as_ref())(source),
        };
        Problem::Workload(format!("program {program} {why}"))
    })
}

/// The instant after `length` from now.
pub(super) fn deadline_in(length: Duration) -> Instant {
    // A day is longer than any timeout that makes sense, and an instant can always hold it.
    Instant::now() + length.min(Duration::from_hours(24))
}
