//! Ends workloads: politely, and after a grace by force; never anything that is not proven ours.
//!
//! A group is signalled as a whole only while its leader is proven to be the process that was started, because
//! then its id is that group's. What is left of a group after its leader ended is found by its session and by
//! the attempt's UUID in its environment, and is ended one by one. What left both group and session (a daemon
//! of its own making) is found only where no directory is left to ask.

use std::{
    os::fd::OwnedFd,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use reconciler_core::{
    effect::{EffectFailure, ExitStatus},
    id::Uuid,
};
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process_group, pidfd_send_signal, test_kill_process_group},
};

use super::{
    command::{KILL_TIMEOUT, deadline_in},
    ending::{conclude, wait},
    files::{Begun, LeaseDir, Owner, Process, Started},
    ground::Ground,
    identity::{Carrier, Role, Standing, carriers, open, probes_in, scan, standing, stat},
    problem::Problem,
};
use crate::seam::EffectContext;

/// Left of an effect's time for the forced end and the report.
const MARGIN: Duration = Duration::from_secs(1);
/// A killed process may have started another one meanwhile; one that still does so is a fork bomb.
const ROUNDS_MAX: u32 = 8;
/// How often a group is asked again whether it is empty before `/proc` is read for its members.
const ASKS: u32 = 5;

/// Ends session and workload of `ctx`; succeeds if there is none.
pub(super) fn cancel(
    ground: &Ground,
    ctx: &EffectContext,
    known: Option<&Process>,
    grace: Duration,
) -> Result<(), EffectFailure> {
    cancel_any(ground, ctx, known, grace).map_err(|problem| problem.ambiguous())
}

fn cancel_any(
    ground: &Ground,
    ctx: &EffectContext,
    known: Option<&Process>,
    grace: Duration,
) -> Result<(), Problem> {
    ground.fence.admit(ctx.fence, false)?;
    let lane = ground.lane(ctx.attempt.uuid);
    let _busy = lane.overtake();
    let left = ctx.deadline.saturating_duration_since(Instant::now());
    let grace = grace.min(left.saturating_sub(MARGIN));
    let (dir, owner) = ground.owned(ctx)?;
    match (owner, known) {
        (Some(owner), _) => {
            let started = dir.started()?;
            stop_all(ground, &dir, (&owner, started.as_ref()), grace)
        }
        // Its directory is gone, and still it may run.
        (None, Some(process)) => stop(ground, &dir, (process, true), ctx.attempt.uuid, grace),
        (None, None) => Ok(()),
    }
}

/// Ends everything that was started on a lease.
pub(super) fn stop_all(
    ground: &Ground,
    dir: &LeaseDir,
    (owner, started): (&Owner, Option<&Started>),
    grace: Duration,
) -> Result<(), Problem> {
    end_hook_left(dir, owner)?;
    if dir.is_starting()? {
        end_carriers(dir, owner.attempt, grace)?;
        dir.unmark_starting()?;
    }
    match started {
        Some(started) => stop(ground, dir, (&started.process, started.agent), owner.attempt, grace),
        None if dir.file("stdout.log").exists() => end_carriers(dir, owner.attempt, grace),
        None => Ok(()),
    }
}

/// Ends one process with all of its group; where it has `groups` below it, with those of its session.
fn stop(
    ground: &Ground,
    dir: &LeaseDir,
    (process, groups): (&Process, bool),
    attempt: Uuid,
    grace: Duration,
) -> Result<(), Problem> {
    let Some(pid) = Some(process.pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) else {
        return Ok(());
    };
    let deadline = deadline_in(grace);
    let told = match standing(process, attempt)? {
        Standing::Running(fd) => {
            ground.note_ended(attempt, process);
            end_leader(pid, &fd, deadline)?;
            conclude(dir, process, Some(&fd));
            true
        }
        Standing::Zombie(fd) => {
            conclude(dir, process, Some(&fd));
            false
        }
        Standing::Gone => {
            if !is_seen_to_end(dir, process)? {
                // It may run under another id than the one that was recorded.
                let mark = dir.mark();
                end_found(deadline, false, || scan(&mark, attempt))?;
            }
            false
        }
    };
    if !groups && is_empty(pid) {
        return Ok(());
    }
    // What is left of the group after its leader ended, if it is more than a leader that nobody reaped yet.
    let (session, mark) = (pid.as_raw_nonzero().get(), dir.mark());
    end_found(deadline, told, || {
        let members = ground.census.since(Instant::now())?;
        carriers(members.members(session), &mark, attempt)
    })
}

/// True if somebody saw how the process ended, which nobody can of one that was never there.
fn is_seen_to_end(dir: &LeaseDir, process: &Process) -> Result<bool, Problem> {
    Ok(dir.ended(process)?.is_some_and(|status| status != ExitStatus::Unknown))
}

/// Ends a group through its leader, which `fd` proves to be ours.
fn end_leader(pid: Pid, fd: &OwnedFd, deadline: Instant) -> Result<(), Problem> {
    signal_group(pid, Signal::TERM)?;
    // One that was stopped would not notice that it is asked to end.
    signal_group(pid, Signal::CONT)?;
    if wait(fd, deadline)? {
        return Ok(());
    }
    signal_group(pid, Signal::KILL)?;
    signal_one(pid, fd, Signal::KILL)?;
    if wait(fd, deadline_in(KILL_TIMEOUT))? { Ok(()) } else { Err(unkillable(pid)) }
}

/// Ends every process that carries the attempt's UUID.
pub(super) fn end_carriers(dir: &LeaseDir, attempt: Uuid, grace: Duration) -> Result<(), Problem> {
    let mark = dir.mark();
    end_found(deadline_in(grace), false, || scan(&mark, attempt))
}

/// Ends a hook that an earlier driver left running.
fn end_hook_left(dir: &LeaseDir, owner: &Owner) -> Result<(), Problem> {
    match dir.hook()? {
        Some(Begun { status: None, .. }) => end_verifying(dir, owner.attempt),
        Some(Begun { status: Some(_), .. }) | None => Ok(()),
    }
}

/// Ends every verify command and hook of the attempt that an earlier driver left.
pub(super) fn end_verifying(dir: &LeaseDir, attempt: Uuid) -> Result<(), Problem> {
    let mark = dir.mark();
    end_found(Instant::now(), true, || {
        let mut found = scan(&mark, attempt)?;
        found.retain(|carrier| carrier.role == Role::Errand);
        Ok(found)
    })
}

/// Ends every probe of the leases in `place`.
pub(super) fn end_probes(place: &Path) -> Result<(), Problem> {
    end_found(Instant::now(), true, || probes_in(place))
}

/// Ends whatever `look` finds, until it finds nothing.
fn end_found(
    deadline: Instant,
    told: bool,
    look: impl Fn() -> Result<Vec<Carrier>, Problem>,
) -> Result<(), Problem> {
    let mut told = told;
    for _ in 0..ROUNDS_MAX {
        let mut found = Vec::new();
        for carrier in look()? {
            if let Some(fd) = held(&carrier)? {
                found.push((carrier.pid, fd));
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        end_each(&found, deadline, told)?;
        told = true;
    }
    Err(Problem::Workload("processes of this attempt start others faster than they end".to_owned()))
}

fn end_each(found: &[(Pid, OwnedFd)], deadline: Instant, told: bool) -> Result<(), Problem> {
    if !told {
        for (pid, fd) in found {
            signal_one(*pid, fd, Signal::TERM)?;
        }
    }
    let mut left = Vec::new();
    for (pid, fd) in found {
        if !wait(fd, deadline)? {
            signal_one(*pid, fd, Signal::KILL)?;
            left.push((pid, fd));
        }
    }
    let deadline = deadline_in(KILL_TIMEOUT);
    for (pid, fd) in left {
        if !wait(fd, deadline)? {
            return Err(unkillable(*pid));
        }
    }
    Ok(())
}

/// Takes hold of the process that was found, unless its id is another's by now.
fn held(carrier: &Carrier) -> Result<Option<OwnedFd>, Problem> {
    let Some(fd) = open(carrier.pid)? else { return Ok(None) };
    let same = stat(carrier.pid)?.is_some_and(|stat| stat.start == carrier.stat.start);
    Ok(Some(fd).filter(|_| same))
}

/// True if the group of a leader that ended has no member; a leader that is about to be reaped still is one.
fn is_empty(leader: Pid) -> bool {
    for _ in 0..ASKS {
        if test_kill_process_group(leader) == Err(Errno::SRCH) {
            return true;
        }
        // Whoever is to reap it may want this processor.
        thread::yield_now();
    }
    false
}

fn signal_group(pid: Pid, signal: Signal) -> Result<(), Problem> {
    gone_is_fine(pid, kill_process_group(pid, signal))
}

fn signal_one(pid: Pid, fd: &OwnedFd, signal: Signal) -> Result<(), Problem> {
    gone_is_fine(pid, pidfd_send_signal(fd, signal))
}

fn gone_is_fine(pid: Pid, result: Result<(), Errno>) -> Result<(), Problem> {
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => {
            let path = format!("/proc/{}", pid.as_raw_nonzero());
            Err(Problem::io("signal", path)(error.into()))
        }
    }
}

fn unkillable(pid: Pid) -> Problem {
    Problem::Unkillable { pid: pid.as_raw_nonzero().get() }
}
