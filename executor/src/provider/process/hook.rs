//! Hooks: run once for each key, and recognised afterwards.
//!
//! What was begun stands in the lease before it runs, which process it is as soon as there is one, and how it ended
//! before that is told. Whoever comes after a driver that died in between sees a hook that was not begun, one that
//! runs, one whose end is on record, or one that is gone unseen: only its parent hears how a process ended.

use std::time::Duration;

use reconciler_core::{
    desired::HookPoint,
    effect::{EffectFailure, ExitStatus, HookRun, HookSight, HookState},
};

use super::{
    command::{KILL_TIMEOUT, deadline_in, failure, identify, run_to_end},
    files::{Begun, LeaseDir, Owner, Process, exists},
    ground::{Ground, Lane},
    identity::{Role, Standing, scan, standing},
    logs::tail_of,
    prepare::Preparation,
    problem::Problem,
};
use crate::seam::EffectContext;

/// Runs the hook of `ctx` to its end, unless it completed before.
pub(super) fn run(
    ground: &Ground,
    ctx: &EffectContext,
    run: &HookRun,
) -> Result<(), EffectFailure> {
    let definite = |problem: Problem| problem.definite();
    ground.fence.admit(ctx.fence, false).map_err(definite)?;
    let lane = ground.lane(ctx.attempt.uuid);
    let _busy = lane.enter();
    let (dir, owner) = ground.owned(ctx).map_err(definite)?;
    let Some(owner) = owner else {
        return Err(Problem::NoLease(dir.path().to_owned()).definite());
    };
    match seen(ground, &dir, &owner).map_err(definite)? {
        HookSight::Begun { key, state } if key == ctx.key => match state {
            HookState::Ended { status: ExitStatus::Code(0), .. } => return Ok(()),
            HookState::Running | HookState::Ended { status: ExitStatus::Unknown, .. } => {
                let text = format!("the {} hook was begun before", run.point.as_str());
                return Err(Problem::Workload(text).ambiguous());
            }
            // It failed, and is asked for once more.
            HookState::Ended { .. } => {}
        },
        HookSight::Begun { .. } | HookSight::Nothing | HookSight::Untold => {}
    }
    Attempt { ground, ctx, run, dir: &dir, owner: &owner, lane: &lane }.perform()
}

/// One try of a hook.
struct Attempt<'a> {
    ground: &'a Ground,
    ctx: &'a EffectContext,
    run: &'a HookRun,
    dir: &'a LeaseDir,
    owner: &'a Owner,
    lane: &'a Lane,
}

impl Attempt<'_> {
    fn perform(&self) -> Result<(), EffectFailure> {
        let definite = |problem: Problem| problem.definite();
        let (point, hook) = (self.run.point, &self.run.hook);
        let boot = &self.run.request.spec.boot;
        let (inherited, place) = (&self.ground.inherited, &self.ground.place);
        // Whatever fails up to here has begun nothing.
        let launch = Preparation::new(inherited, place, self.dir, self.owner, boot)
            .and_then(|preparation| preparation.hook(&hook.argv, point))
            .map_err(definite)?;
        self.dir.forget_hook_log(point).map_err(definite)?;
        self.record(None, None).map_err(definite)?;
        let own = deadline_in(Duration::from_millis(hook.timeout.get()));
        let deadline = own.min(self.ctx.deadline.checked_sub(KILL_TIMEOUT).unwrap_or(own));
        let (mut spawned, mut process) = (false, None);
        let begun = |pid| {
            spawned = true;
            let found = process.insert(identify(pid)?);
            self.record(Some(found), None)
        };
        let ended = run_to_end(self.ground, self.lane, launch, deadline, begun);
        let cancelled = self.lane.is_cancelled();
        match ended {
            Ok(ended) => {
                let status = ended.clone().unwrap_or(ExitStatus::Signal(libc::SIGKILL));
                self.record(process.as_ref(), Some(&status)).map_err(|p| p.ambiguous())?;
                let what = format!("the {} hook", point.as_str());
                let log = self.dir.hook_log(point);
                match failure(&what, ended.as_ref(), &log, &place.secrets) {
                    Some(_) if cancelled => {
                        Err(Problem::Workload(format!("{what} was cancelled")).definite())
                    }
                    Some(problem) => Err(problem.definite()),
                    None => Ok(()),
                }
            }
            // A spawn that fails has executed nothing: as if it had never been begun.
            Err(problem) if !spawned => {
                let undone = self.dir.forget_hook_log(point);
                undone.map_err(|p| p.ambiguous())?;
                Err(problem.definite())
            }
            Err(problem) => Err(problem.ambiguous()),
        }
    }

    fn record(
        &self,
        process: Option<&Process>,
        status: Option<&ExitStatus>,
    ) -> Result<(), Problem> {
        self.dir.record_hook(&Begun {
            key: self.ctx.key,
            point: self.run.point,
            process: process.cloned(),
            status: status.cloned(),
        })
    }
}

/// What can be said of the hook that was begun last on a lease.
pub(super) fn seen(ground: &Ground, dir: &LeaseDir, owner: &Owner) -> Result<HookSight, Problem> {
    let Some(begun) = dir.hook()? else { return Ok(HookSight::Nothing) };
    let ended = |status| {
        let tail = tail_of(&dir.hook_log(begun.point), &ground.place.secrets);
        HookSight::Begun { key: begun.key, state: HookState::Ended { status, tail } }
    };
    let running = HookSight::Begun { key: begun.key, state: HookState::Running };
    Ok(match (&begun.status, &begun.process) {
        (Some(status), _) => ended(status.clone()),
        (None, Some(process)) => match standing(process, owner.attempt)? {
            Standing::Running(_) => running,
            Standing::Zombie(_) | Standing::Gone => ended(ExitStatus::Unknown),
        },
        // The driver died between the mark and the record of the process.
        (None, None) if unrecorded(dir, owner)? => running,
        (None, None) if was_spawned(dir, begun.point)? => ended(ExitStatus::Unknown),
        (None, None) => HookSight::Nothing,
    })
}

fn unrecorded(dir: &LeaseDir, owner: &Owner) -> Result<bool, Problem> {
    Ok(scan(&dir.mark(), owner.attempt)?.iter().any(|carrier| carrier.role == Role::Errand))
}

/// Whether a hook that was marked came as far as its process: that is what makes its output file.
fn was_spawned(dir: &LeaseDir, point: HookPoint) -> Result<bool, Problem> {
    exists(&dir.hook_log(point))
}
