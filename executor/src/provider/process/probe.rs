//! Asks a workload by a command of its own: a child with the node's environment, directory and ports, which is ended
//! with all that it started when its time is up.
//!
//! It is marked, so that nobody takes it for a workload, and whoever gives the lease back ends it as well. What an
//! earlier driver asked and died over is ended before this one asks for the first time.

use std::fs;

use reconciler_core::{effect::ExitStatus, observed::ProbeAnswer};

use super::{
    command::{KILL_TIMEOUT, deadline_in, failure, spawned},
    ending::{peek, reap, wait},
    ground::{Ground, kill_group, owned_by},
    identity::open,
    lock::locked,
    prepare::Preparation,
    problem::Problem,
    spawn::Launch,
    stop::end_probes,
};
use crate::seam::ProbeAsk;

/// Runs the command of `ask` to its end.
pub(super) fn ask(ground: &Ground, ask: &ProbeAsk) -> ProbeAnswer {
    match asked(ground, ask) {
        Ok(None) => ProbeAnswer::Passed,
        // That its program is not there, or fails, is the node's own doing.
        Ok(Some(problem @ Problem::Workload(_))) | Err(problem @ Problem::Workload(_)) => {
            ProbeAnswer::Failed(problem.told())
        }
        Ok(Some(problem)) | Err(problem) => ProbeAnswer::Unknown(problem.told()),
    }
}

/// What is wrong with the answer; nothing if it passed.
fn asked(ground: &Ground, ask: &ProbeAsk) -> Result<Option<Problem>, Problem> {
    let request = &ask.request;
    let dir = ground.dir(&request.slot, request.attempt);
    let owner = owned_by(&dir, request.run, &request.slot, request.attempt)?;
    let Some(owner) = owner else { return Err(Problem::NoLease(dir.path().to_owned())) };
    let boot = &request.spec.boot;
    let log = dir.file(&format!("probe-{}.log", ask.kind.as_str()));
    end_older(ground)?;
    let preparation = Preparation::new(&ground.inherited, &ground.place, &dir, &owner, boot)?;
    let launch = preparation.probe(&ask.argv, &log)?;
    // Its last words are those of this time.
    if let Err(error) = fs::remove_file(&log)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(Problem::io("remove", &log)(error));
    }
    let ended = run(ground, launch, ask)?;
    Ok(failure("the command", ended.as_ref(), &log, &ground.place.secrets))
}

/// Ends the probes that an earlier driver left, once: no probe of ours begins before that is over.
fn end_older(ground: &Ground) -> Result<(), Problem> {
    let mut alone = locked(&ground.asks_alone);
    if !*alone {
        end_probes(&ground.place.state_dir)?;
        *alone = true;
    }
    Ok(())
}

/// Runs it; `None` if it was ended because its time was over.
fn run(ground: &Ground, launch: Launch, ask: &ProbeAsk) -> Result<Option<ExitStatus>, Problem> {
    let deadline = deadline_in(ask.timeout);
    let pid = spawned(&ground.spawners, launch)?;
    ground.restore_open_files(pid);
    let Some(fd) = open(pid)? else { return Ok(Some(ExitStatus::Unknown)) };
    let in_time = wait(&fd, deadline);
    // Also what it left in the background; its id is its own until it is reaped.
    kill_group(pid);
    let ended = wait(&fd, deadline_in(KILL_TIMEOUT));
    let status = peek(&fd).unwrap_or(ExitStatus::Unknown);
    reap(&fd);
    if !ended? {
        return Err(Problem::Unkillable { pid: pid.as_raw_nonzero().get() });
    }
    Ok(in_time?.then_some(status))
}
