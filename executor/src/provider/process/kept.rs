//! The output of a slot's last attempt that failed, kept when its lease is given back: it is what a person reads
//! before a release.
//!
//! One attempt per slot, under `.last.<slot>/<slot>.<attempt>`, with nothing but its output, each file as large as
//! rotation leaves it. It goes when a later attempt fails or joins, and with the slot.

use std::{fs, io};

use reconciler_core::id::LogicalNodeId;

use super::{
    files::{LeaseDir, Owner, Started, lease_name, make_private_dir},
    ground::Ground,
    identity::{Standing, standing},
    logs::{output_names, place_of},
    problem::Problem,
    sweep::remove_tree,
};

/// True if the attempt came to its end by itself, or to nothing; asked before it is ended.
pub(super) fn has_failed(
    ground: &Ground,
    started: Option<&Started>,
    owner: &Owner,
) -> Result<bool, Problem> {
    let Some(started) = started else { return Ok(true) };
    let (attempt, process) = (owner.attempt, &started.process);
    if ground.was_ended(attempt, process) || ground.is_watched_running(attempt, process) {
        return Ok(false);
    }
    Ok(!matches!(standing(process, attempt)?, Standing::Running(_)))
}

/// Moves the output of a failed attempt out of its lease; what was kept of its slot before goes.
pub(super) fn keep(ground: &Ground, dir: &LeaseDir, owner: &Owner) -> Result<(), Problem> {
    forget(ground, &owner.slot)?;
    let names = output_names();
    // One look at the directory: most of these files are never made.
    let is_written = |(name, len): &(String, u64)| *len > 0 && names.contains(name);
    if !dir.files()?.iter().any(is_written) {
        return Ok(());
    }
    ground.rotation.apply(dir)?;
    let place = place_of(&ground.place.state_dir, &owner.slot);
    let attempt = place.join(lease_name(&owner.slot, owner.ordinal));
    make_private_dir(&place)?;
    make_private_dir(&attempt)?;
    for name in names {
        match fs::rename(dir.file(&name), attempt.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Problem::io("keep", dir.file(&name))(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Removes what is kept of `slot`; succeeds if there is nothing. Must be called within the runtime.
pub(super) fn forget(ground: &Ground, slot: &LogicalNodeId) -> Result<(), Problem> {
    let place = place_of(&ground.place.state_dir, slot);
    let gone = ground.gone_path(slot.to_string().as_str());
    let moved = match fs::rename(&place, &gone) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            // What was kept before is not swept yet.
            remove_tree(&gone)?;
            fs::rename(&place, &gone)
        }
        moved => moved,
    };
    moved.map_err(Problem::io("remove", place))?;
    ground.sweeper.take(gone);
    Ok(())
}
