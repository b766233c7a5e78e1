//! The checks of hooks: completed once for each key, failures told as such, each seen by a look afterwards.

use std::time::Duration;

use reconciler_core::{
    desired::{Hook, HookPoint},
    effect::{
        ActionKind, Certainty, EffectFailure, ExitStatus, FailureClass, HookRun, HookSight,
        HookState, Look, idempotency_key,
    },
    id::{Fence, SessionId},
    time::Millis,
};

use super::{
    bench::{Bench, Node, must, told},
    report::{Verdict, failed, skipped},
    seen::Seen,
};
use crate::seam::{EffectContext, Fencing};

/// How long the hook may take that never ends by itself.
const SHORT: Duration = Duration::from_millis(300);

impl Bench {
    fn runs_hooks(&self) -> Verdict {
        if self.provider.capabilities().hooks {
            Ok(())
        } else {
            skipped("the provider does not claim to run hooks")
        }
    }

    /// Runs a hook of one session; each session's request has a key of its own.
    async fn hook(
        &self,
        node: &Node,
        seen: &Seen,
        (argv, timeout): (&[String], Duration),
        session: u64,
        fence: Fence,
    ) -> Verdict<Result<(), EffectFailure>> {
        let kind = ActionKind::Hook(HookPoint::PostStart);
        let key = idempotency_key(node.attempt.uuid, kind, &format!("conformance {session}"));
        let ctx = EffectContext { key, ..self.context(node, kind, fence) };
        let timeout = Millis::new(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let run = HookRun {
            point: HookPoint::PostStart,
            session: SessionId::new(session),
            hook: Hook { argv: argv.to_vec(), timeout },
            request: node.request.clone(),
            lease: seen.lease()?.clone(),
            endpoint: seen.endpoint()?.clone(),
        };
        self.bounded("run_hook", self.provider.run_hook(&ctx, &run)).await
    }

    /// Until one was begun, a look says that none was: a driver that died before relies on that.
    pub(super) async fn no_hook_is_seen_before_the_first(
        &self,
        node: &Node,
        seen: &Seen,
    ) -> Verdict {
        self.runs_hooks()?;
        match self.sight(node, seen).await? {
            HookSight::Nothing => Ok(()),
            other @ (HookSight::Untold | HookSight::Begun { .. }) => {
                failed(format!("inspect should say that no hook was begun; it showed {other:?}"))
            }
        }
    }

    /// A hook that completed succeeds again under its key and is not run again; a look knows how it ended.
    pub(super) async fn a_hook_completes_once(&self, node: &Node, seen: &Seen) -> Verdict {
        self.runs_hooks()?;
        let (once, fence) =
            ((self.options.once.as_slice(), self.options.bound), self.options.fence);
        must("run_hook", self.hook(node, seen, once, 1, fence).await?)?;
        self.ended(node, seen, |status| *status == ExitStatus::Code(0)).await?;
        // It cannot succeed twice: that it does says that it was not run.
        must("run_hook with the same key", self.hook(node, seen, once, 1, fence).await?)?;
        match self.hook(node, seen, once, 2, fence).await? {
            Ok(()) => failed("run_hook with another key should run the hook again"),
            Err(failure) => workload(&failure),
        }
    }

    /// A hook that fails, or takes too long, is a definite failure of the workload, and a look shows that it ended.
    pub(super) async fn a_failed_hook_is_told(&self, node: &Node, seen: &Seen) -> Verdict {
        self.runs_hooks()?;
        let (fails, stays) = (self.options.fails.as_slice(), self.options.stays.as_slice());
        for (session, hook) in [(3, (fails, self.options.bound)), (4, (stays, SHORT))] {
            match self.hook(node, seen, hook, session, self.options.fence).await? {
                Ok(()) => return failed("run_hook of a command that fails should fail"),
                Err(failure) => workload(&failure)?,
            }
            self.ended(node, seen, |status| {
                !matches!(status, ExitStatus::Code(0) | ExitStatus::Unknown)
            })
            .await?;
        }
        Ok(())
    }

    /// A controller with a lower fence runs no hook.
    pub(super) async fn a_stale_fence_runs_no_hook(&self, node: &Node, seen: &Seen) -> Verdict {
        self.runs_hooks()?;
        if self.provider.capabilities().fencing == Fencing::Advisory {
            return skipped("the provider does not claim to refuse a stale controller");
        }
        let Some(stale) = self.options.fence.get().checked_sub(1).map(Fence::new) else {
            return skipped("the trial's fence is zero, and none is lower");
        };
        let hook = (self.options.stays.as_slice(), SHORT);
        match self.hook(node, seen, hook, 5, stale).await? {
            Err(EffectFailure {
                class: FailureClass::Fenced,
                certainty: Certainty::Definite,
                ..
            }) => Ok(()),
            Ok(()) => failed("run_hook with a lower fence than was seen should be refused"),
            Err(failure) => failed(format!(
                "run_hook with a lower fence should fail as fenced and definite; it failed: {}",
                told(&failure)
            )),
        }
    }

    async fn ended(
        &self,
        node: &Node,
        seen: &Seen,
        wanted: impl Fn(&ExitStatus) -> bool,
    ) -> Verdict {
        match self.sight(node, seen).await? {
            HookSight::Begun { state: HookState::Ended { status, .. }, .. } if wanted(&status) => {
                Ok(())
            }
            other @ (HookSight::Begun { .. } | HookSight::Untold | HookSight::Nothing) => {
                failed(format!("inspect should show how the hook ended; it showed {other:?}"))
            }
        }
    }

    async fn sight(&self, node: &Node, seen: &Seen) -> Verdict<HookSight> {
        match self.look(node, Some(seen.lease()?)).await? {
            Look::Present { hook, .. } => Ok(hook),
            look @ (Look::Absent | Look::Unknown { .. }) => {
                failed(format!("inspect should show the lease; it showed {look:?}"))
            }
        }
    }
}

fn workload(failure: &EffectFailure) -> Verdict {
    if failure.class == FailureClass::Workload && failure.certainty == Certainty::Definite {
        return Ok(());
    }
    failed(format!(
        "a hook that failed should be a definite failure of class workload; it was: {}",
        told(failure)
    ))
}
