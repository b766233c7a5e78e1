//! The checks of the bootstrap side: started once, seen to run, seen to end, ended on demand.

use reconciler_core::{
    effect::{ExitStatus, Look, WorkloadState},
    id::SessionId,
    observed::{Handle, LeaseFacts},
};

use super::{
    bench::{Bench, Node, must},
    report::{Verdict, failed},
    seen::Seen,
};

impl Bench {
    /// `start_bootstrap` runs the workload and numbers its reports from 1.
    pub(super) async fn start_runs(&self, node: &Node, seen: &mut Seen) -> Verdict {
        let lease = seen.lease()?.clone();
        let workload = self.start(node, &lease, seen.endpoint()?).await?;
        seen.workload = Some(workload);
        let numbers: Vec<u64> = self.heard().iter().map(|report| report.seq).collect();
        let wanted = 1_u64..;
        if !numbers.iter().copied().eq(wanted.take(numbers.len())) {
            return failed(format!("reports must count 1, 2, 3 and so on; they were {numbers:?}"));
        }
        self.see_running(node, &lease).await.map(drop)
    }

    /// A second `start_bootstrap` with the same key gives the same workload.
    pub(super) async fn start_again_adopts(&self, node: &Node, seen: &Seen) -> Verdict {
        let (lease, first) = (seen.lease()?, seen.workload()?);
        let again = self.start(node, lease, seen.endpoint()?).await?;
        if again != *first {
            return failed(format!(
                "the same key started two workloads, {first:?} and {again:?}; the second call must \
                 find the first's"
            ));
        }
        let running = self.see_running(node, lease).await?;
        if running == *first {
            Ok(())
        } else {
            failed(format!("inspect shows {running:?}; start_bootstrap said {first:?}"))
        }
    }

    /// `complete_bootstrap` closes the session and leaves the workload alone.
    pub(super) async fn complete_keeps_running(&self, node: &Node, seen: &Seen) -> Verdict {
        let (lease, workload) = (seen.lease()?, seen.workload()?);
        let kind = reconciler_core::effect::CommandKind::BootstrapConvergenceObserved;
        let ctx = self.context(node, kind, self.options.fence);
        let call = self.provider.complete_bootstrap(&ctx, lease, workload);
        must("complete_bootstrap", self.bounded("complete_bootstrap", call).await?)?;
        self.see_running(node, lease).await.map(drop)
    }

    /// `cancel_bootstrap` ends the workload, and cancelling again succeeds.
    pub(super) async fn cancel_ends_the_workload(&self, node: &Node, seen: &Seen) -> Verdict {
        let (lease, workload) = (seen.lease()?, seen.workload()?);
        let fence = self.options.fence;
        must("cancel_bootstrap", self.cancel(node, lease, workload, fence).await?)?;
        self.see(node, Some(lease), "no running workload", |look| !may_run(look)).await?;
        must("a second cancel_bootstrap", self.cancel(node, lease, workload, fence).await?)
    }

    /// After a cancel, the start of another session runs the workload anew on the same lease: what is stopped can be
    /// started.
    pub(super) async fn start_after_cancel_runs(&self, node: &Node, seen: &Seen) -> Verdict {
        let (lease, first) = (seen.lease()?, seen.workload()?);
        let endpoint = seen.endpoint()?;
        let anew = self.start_session(node, lease, endpoint, SessionId::new(2)).await?;
        let running = self.see_running(node, lease).await?;
        if running != anew {
            return failed(format!("inspect shows {running:?}; start_bootstrap said {anew:?}"));
        }
        if anew == *first {
            return failed(format!(
                "both sessions have the handle {anew:?}; the end of the first could be taken for that of the second"
            ));
        }
        must("cancel_bootstrap", self.cancel(node, lease, &anew, self.options.fence).await?)
    }

    /// The end of a workload that fails is noticed, and is no success.
    pub(super) async fn exit_is_noticed(&self, node: &Node) -> Verdict {
        let leased = must("create_lease", self.create(node, self.options.fence).await?)?;
        let lease = leased.lease.clone();
        let mut seen =
            Seen { lease: Some(leased.lease), endpoint: leased.endpoint, workload: None };
        if seen.endpoint.is_none() {
            self.endpoint_becomes_known(node, &mut seen).await?;
        }
        let workload = self.start(node, &lease, seen.endpoint()?).await?;
        let status = match self.provider.watch(&lease, &workload) {
            Some(watch) => self.bounded("watch", watch).await?.status,
            None => self.exit_seen(node, &lease).await?,
        };
        if status == ExitStatus::Code(0) {
            return failed("the workload failed, and the provider says that it exited with 0");
        }
        self.exit_seen(node, &lease).await.map(drop)
    }

    async fn exit_seen(&self, node: &Node, lease: &LeaseFacts) -> Verdict<ExitStatus> {
        let ended = |look: &Look| exit_of(look).is_some();
        let look = self.see(node, Some(lease), "that the workload ended", ended).await?;
        exit_of(&look).map_or_else(|| failed("the end of the workload vanished again"), Ok)
    }

    /// Looks until the workload runs.
    pub(super) async fn see_running(&self, node: &Node, lease: &LeaseFacts) -> Verdict<Handle> {
        let runs = |look: &Look| running(look).is_some();
        let look = self.see(node, Some(lease), "a running workload", runs).await?;
        running(&look).map_or_else(|| failed("the running workload vanished again"), Ok)
    }
}

fn running(look: &Look) -> Option<Handle> {
    match look {
        Look::Present { workload: WorkloadState::Running { workload }, .. } => {
            Some(workload.clone())
        }
        Look::Present { .. } | Look::Absent | Look::Unknown { .. } => None,
    }
}

fn exit_of(look: &Look) -> Option<ExitStatus> {
    match look {
        Look::Present { workload: WorkloadState::Exited { status, .. }, .. } => {
            Some(status.clone())
        }
        Look::Present { .. } | Look::Absent | Look::Unknown { .. } => None,
    }
}

/// What is unknown may run.
fn may_run(look: &Look) -> bool {
    match look {
        Look::Unknown { .. } => true,
        Look::Absent => false,
        Look::Present { workload, .. } => match workload {
            WorkloadState::Running { .. } | WorkloadState::Unknown => true,
            WorkloadState::Absent | WorkloadState::Exited { .. } => false,
        },
    }
}
