//! Looks: at one attempt by its id, and at everything that stands in the provider's directory.
//!
//! What cannot be read is unknown, never absent (P1), and one bad directory never hides another (C17). A lease
//! that was made and has no directory any more counts as absent only after no process carries its UUID, unless
//! this process saw both go.

use reconciler_core::{
    effect::{ExitStatus, Listing, Look, OwnedLease, WorkloadState},
    id::{AttemptId, LogicalNodeId, Uuid},
    redact::Redacted,
};

use super::{
    ending::conclude,
    files::{LeaseDir, Owner},
    ground::{Ground, owned_by},
    hook,
    identity::{Standing, scan, standing},
    logs::tail,
    owners::owners,
    problem::Problem,
    rests,
    session::{find_unrecorded, was_spawned},
};

/// Looks at one attempt.
pub(super) fn inspect(
    ground: &Ground,
    run: Uuid,
    slot: &LogicalNodeId,
    attempt: AttemptId,
    leased: bool,
) -> Look {
    let dir = ground.dir(slot, attempt);
    let look = match owned_by(&dir, run, slot, attempt) {
        Ok(Some(owner)) => present(ground, &dir, &owner),
        Ok(None) => absent(ground, &dir, attempt.uuid, leased),
        Err(problem) => Err(problem),
    };
    look.unwrap_or_else(|problem| Look::Unknown { why: problem.told() })
}

fn absent(ground: &Ground, dir: &LeaseDir, attempt: Uuid, leased: bool) -> Result<Look, Problem> {
    if !leased || ground.has_released(attempt) {
        return Ok(Look::Absent);
    }
    match scan(&dir.mark(), attempt)?.first() {
        None => Ok(Look::Absent),
        Some(carrier) => Ok(Look::Unknown {
            why: Redacted::from(format!(
                "{} is gone, but process {} of this attempt still runs",
                dir.path().display(),
                carrier.pid.as_raw_nonzero()
            )),
        }),
    }
}

fn present(ground: &Ground, dir: &LeaseDir, owner: &Owner) -> Result<Look, Problem> {
    if let Err(problem) = ground.rotation.apply(dir) {
        tracing::warn!(problem = %problem.told(), "cannot rotate a node's output");
    }
    let workload = workload(ground, dir, owner)?;
    let hook = hook::seen(ground, dir, owner)?;
    Ok(Look::Present { lease: owner.lease(), endpoint: Some(owner.endpoint()), workload, hook })
}

fn workload(ground: &Ground, dir: &LeaseDir, owner: &Owner) -> Result<WorkloadState, Problem> {
    if dir.is_starting()? {
        return unrecorded(ground, dir, owner);
    }
    let Some(started) = dir.started()? else {
        // The record of a workload may have been lost; what it wrote into says that there may be one.
        let lost = if was_spawned(dir)? { find_unrecorded(dir, owner.attempt)? } else { None };
        return Ok(lost.map_or(WorkloadState::Absent, |process| WorkloadState::Running {
            workload: process.handle(),
        }));
    };
    if ground.is_watched_running(owner.attempt, &started.process) {
        return Ok(WorkloadState::Running { workload: started.handle() });
    }
    let fd = match standing(&started.process, owner.attempt)? {
        Standing::Running(_) => {
            return Ok(WorkloadState::Running { workload: started.handle() });
        }
        Standing::Zombie(fd) => Some(fd),
        Standing::Gone => None,
    };
    let status = conclude(dir, &started.process, fd.as_ref());
    Ok(WorkloadState::Exited { status, tail: tail(dir, &ground.place.secrets) })
}

/// A start is under way or was broken off: only the processes themselves can tell.
fn unrecorded(ground: &Ground, dir: &LeaseDir, owner: &Owner) -> Result<WorkloadState, Problem> {
    Ok(match find_unrecorded(dir, owner.attempt)? {
        Some(process) => WorkloadState::Running { workload: process.handle() },
        None if ground.lane(owner.attempt).is_busy() => WorkloadState::Unknown,
        None if was_spawned(dir)? => {
            let tail = tail(dir, &ground.place.secrets);
            WorkloadState::Exited { status: ExitStatus::Unknown, tail }
        }
        None => WorkloadState::Absent,
    })
}

/// Lists what stands here for `run`.
pub(super) fn list(ground: &Ground, run: Uuid) -> Listing {
    let state_dir = &ground.place.state_dir;
    if ground.fence.was_used() && !state_dir.exists() {
        let text = format!("{} was removed while it was in use", state_dir.display());
        return Listing::Unknown(Redacted::from(text));
    }
    let found = match owners(state_dir) {
        Ok(found) => found,
        Err(problem) => return Listing::Unknown(problem.told()),
    };
    rests::clear(ground, &found.rests);
    let mut listed = Vec::with_capacity(found.readable.len());
    for owner in found.readable.into_iter().filter(|owner| owner.run == run) {
        let dir =
            ground.dir(&owner.slot, AttemptId { ordinal: owner.ordinal, uuid: owner.attempt });
        if let Err(problem) = ground.rotation.apply(&dir) {
            tracing::warn!(problem = %problem.told(), "cannot rotate a node's output");
        }
        // A lease whose workload cannot be told is a lease all the same.
        let workload = workload(ground, &dir, &owner).unwrap_or_else(|problem| {
            tracing::warn!(problem = %problem.told(), "cannot tell what runs on a lease");
            WorkloadState::Unknown
        });
        listed.push(OwnedLease {
            workload,
            lease: owner.lease(),
            endpoint: Some(owner.endpoint()),
            slot: owner.slot,
            attempt: owner.attempt,
            fence: owner.fence,
        });
    }
    listed.sort_unstable_by(|a, b| a.slot.cmp(&b.slot).then(a.attempt.cmp(&b.attempt)));
    if found.bad.is_empty() {
        Listing::Complete(listed)
    } else {
        Listing::Partial(listed, Redacted::from(found.bad.join("; ")))
    }
}
