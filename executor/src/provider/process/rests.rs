//! What a create or destroy that did not get to its end left, and when it may be cleared away.
//!
//! A lease that was given back (`.gone.`) may go at any time. One that was being made (`.new.`) may still be under
//! way in a driver that lives; under an older fence than the one in force its create would be refused by now, so
//! what stands there is a rest.

use std::{
    fs,
    path::{Path, PathBuf},
};

use reconciler_core::id::Fence;

use super::{ground::Ground, owners::is_rest};

/// Clears what a listing found, but for what may still be under way.
pub(super) fn clear(ground: &Ground, rests: &[PathBuf]) {
    let seen = ground.fence.seen();
    for rest in rests.iter().filter(|rest| is_done_with(rest, seen)) {
        ground.sweeper.take(rest.clone());
    }
}

/// Clears once what older drivers left: this one was admitted just now, so their creates are over.
pub(super) fn clear_of_older(ground: &Ground) {
    if !ground.begins_here() {
        return;
    }
    let entries = match fs::read_dir(&ground.place.state_dir) {
        Ok(entries) => entries,
        // The effect itself says what is wrong with the place; rests are no reason to fail it.
        Err(error) => return tracing::debug!(%error, "rests of older drivers cannot be looked for"),
    };
    let names = entries.filter_map(Result::ok);
    let rests = names.filter(|entry| entry.file_name().to_str().is_some_and(is_rest));
    clear(ground, &rests.map(|entry| entry.path()).collect::<Vec<_>>());
}

/// A create of this driver may be under way; one of an older driver would be refused by now.
fn is_done_with(rest: &Path, seen: Option<Fence>) -> bool {
    let name = rest.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(new) = name.strip_prefix(".new.") else { return true };
    let fence = new.rsplit_once('.').and_then(|(_, fence)| fence.parse().ok()).map(Fence::new);
    fence.zip(seen).is_some_and(|(fence, seen)| fence < seen)
}
