//! Creates and gives back leases.
//!
//! A lease is made under a name that nobody looks at and appears by one rename, with its owner file; it goes by
//! one rename as well. A driver that dies at any point leaves a lease, no lease, or a rest that the next create,
//! destroy or listing of the same place clears away.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
    time::Duration,
};

use reconciler_core::effect::{EffectFailure, NodeRequest};

use super::{
    files::{LeaseDir, Owner, lease_name},
    ground::Ground,
    kept,
    problem::Problem,
    rests::clear_of_older,
    stop::{end_carriers, stop_all},
    sweep::remove_tree,
};
use crate::provider::template::{self, Values};
use crate::seam::{EffectContext, Leased};

/// Makes the lease of `ctx`, or adopts the one that the same request made before.
pub(super) fn create(
    ground: &Ground,
    ctx: &EffectContext,
    request: &NodeRequest,
) -> Result<Leased, EffectFailure> {
    create_or_adopt(ground, ctx, request).map_err(|problem| problem.definite())
}

fn create_or_adopt(
    ground: &Ground,
    ctx: &EffectContext,
    request: &NodeRequest,
) -> Result<Leased, Problem> {
    if !ground.fence.was_used() {
        make_place(&ground.place.state_dir)?;
    }
    ground.fence.admit(ctx.fence, true)?;
    clear_of_older(ground);
    let lane = ground.lane(ctx.attempt.uuid);
    let _busy = lane.enter();
    let (dir, found) = ground.owned(ctx)?;
    let owner = match found {
        Some(owner) if owner.request == ctx.key => owner,
        Some(_) => {
            let text = format!("the lease {} was made by another request", dir.path().display());
            return Err(Problem::Invalid(text));
        }
        None => make(ground, ctx, request, &dir)?,
    };
    Ok(Leased { lease: owner.lease(), endpoint: Some(owner.endpoint()) })
}

fn make_place(path: &Path) -> Result<(), Problem> {
    DirBuilder::new().mode(0o700).recursive(true).create(path).map_err(Problem::io("create", path))
}

fn make(
    ground: &Ground,
    ctx: &EffectContext,
    request: &NodeRequest,
    dir: &LeaseDir,
) -> Result<Owner, Problem> {
    let boot = &request.spec.boot;
    if boot.command.first().is_none_or(String::is_empty) {
        return Err(Problem::Invalid("the command is empty".to_owned()));
    }
    let names = template::port_names(boot)?;
    let unset = names.iter().map(|name| (name.clone(), 0)).collect();
    template::check(boot, &Values::new(&ctx.slot, ctx.attempt.uuid, boot, &unset))?;
    let ports = ground.ports.reserve(&names, &ground.place.state_dir)?;
    let owner = Owner {
        form: Owner::FORM,
        run: ctx.run,
        slot: ctx.slot.clone(),
        attempt: ctx.attempt.uuid,
        ordinal: ctx.attempt.ordinal,
        fence: ctx.fence,
        request: ctx.key,
        ports,
    };
    place(ground, dir, &owner).inspect_err(|_| ground.ports.free(&owner.ports))?;
    Ok(owner)
}

/// Builds the lease under its hidden name and lets it appear.
fn place(ground: &Ground, dir: &LeaseDir, owner: &Owner) -> Result<(), Problem> {
    let name = lease_name(&owner.slot, owner.ordinal);
    let hidden = ground.place.state_dir.join(format!(".new.{name}.{}", owner.fence));
    let hidden = LeaseDir::new(hidden);
    let built = match hidden.fill(owner) {
        // What stands there was left by a create that did not get to its end.
        Err(Problem::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
            remove_tree(hidden.path())?;
            hidden.fill(owner)
        }
        other => other,
    };
    let appears = || {
        ground.unrelease(owner.attempt);
        fs::rename(hidden.path(), dir.path()).map_err(Problem::io("create", dir.path()))
    };
    built.and_then(|()| appears()).inspect_err(|_| {
        if let Err(problem) = remove_tree(hidden.path()) {
            tracing::warn!(problem = %problem.told(), "cannot remove a lease that was not made");
        }
    })
}

/// Gives the lease of `ctx` back; succeeds if there is none.
pub(super) fn destroy(ground: &Ground, ctx: &EffectContext) -> Result<(), EffectFailure> {
    destroy_or_finish(ground, ctx).map_err(|problem| problem.ambiguous())
}

fn destroy_or_finish(ground: &Ground, ctx: &EffectContext) -> Result<(), Problem> {
    ground.fence.admit(ctx.fence, false)?;
    clear_of_older(ground);
    let lane = ground.lane(ctx.attempt.uuid);
    let _busy = lane.overtake();
    let (dir, owner) = ground.owned(ctx)?;
    let gone = ground.gone_path(&lease_name(&ctx.slot, ctx.attempt.ordinal));
    let Some(owner) = owner else {
        // Somebody else may have removed the directory of a node that still runs.
        if !ground.has_released(ctx.attempt.uuid) {
            end_carriers(&dir, ctx.attempt.uuid, Duration::ZERO)?;
            ground.release(ctx.attempt.uuid);
        }
        return remove_tree(&gone);
    };
    let started = dir.started()?;
    let failed = kept::has_failed(ground, started.as_ref(), &owner)?;
    stop_all(ground, &dir, (&owner, started.as_ref()), Duration::ZERO)?;
    if failed && let Err(problem) = kept::keep(ground, &dir, &owner) {
        // Output is for people: a lease goes whether or not there is room for it.
        tracing::warn!(problem = %problem.told(), "cannot keep the output of a failed attempt");
    }
    if let Err(error) = fs::rename(dir.path(), &gone) {
        // A rest of an earlier lease of this name is in the way, or nothing helps.
        tracing::debug!(%error, "a lease cannot be moved aside at once");
        remove_tree(&gone)?;
        fs::rename(dir.path(), &gone).map_err(Problem::io("remove", dir.path()))?;
    }
    ground.release(owner.attempt);
    ground.ports.free(&owner.ports);
    ground.sweeper.take(gone);
    Ok(())
}
