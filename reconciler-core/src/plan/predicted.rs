//! What the effects of a projection bring: each succeeds.

use crate::{
    effect::{ActionKind, CommandKind, EffectOutcome},
    id::Fence,
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
};

/// What providers give in a predicted state: the same to everyone, because nobody looks at it.
pub(super) struct Predicted {
    lease: LeaseFacts,
    endpoint: Endpoint,
    workload: Handle,
}

impl Predicted {
    pub(super) fn new(fence: Fence) -> Self {
        let handle = Handle::default();
        let lease = LeaseFacts { id: LeaseId::new("predicted"), fence, handle: handle.clone() };
        Self { lease, endpoint: Endpoint::default(), workload: handle }
    }

    /// What a step brings when it succeeds.
    pub(super) fn outcome(&self, kind: ActionKind) -> EffectOutcome {
        let command = match kind {
            ActionKind::Hook(point) => return EffectOutcome::Hooked(point),
            ActionKind::Command(command) => command,
        };
        match command {
            CommandKind::CreateLease => {
                EffectOutcome::Leased { lease: self.lease.clone(), endpoint: None }
            }
            CommandKind::LookupEndpoint => EffectOutcome::Endpoint(Some(self.endpoint.clone())),
            CommandKind::StartBootstrap => {
                EffectOutcome::Started { workload: self.workload.clone() }
            }
            CommandKind::BootstrapConvergenceObserved => EffectOutcome::Closed,
            CommandKind::CancelBootstrap => EffectOutcome::Cancelled,
            CommandKind::DestroyLease => EffectOutcome::Released,
        }
    }
}
