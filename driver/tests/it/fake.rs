//! The provider that stands on a [`World`]: does what a call asks for, unless the script says otherwise.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use executor::seam::{
    BuildError, Capabilities, EffectContext, Exit, Fencing, Leased, OptionProblem, Provider,
    ProviderFactory, ProviderOptions, ProviderPlace, SessionSink, StartRequest, Work,
};
use reconciler_core::{
    effect::{
        Certainty, CommandKind, EffectFailure, FailureClass, Listing, Look, NodeRequest,
        OwnedLease, WorkloadState,
    },
    id::{AttemptId, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
    redact::Redacted,
};

use crate::world::{Land, Lease, Sight, Turn, World};

/// The kind of the provider.
pub(crate) const KIND: &str = "fake";

/// Makes providers on one world.
pub(crate) struct Factory {
    pub(crate) world: World,
    pub(crate) listing_period: Duration,
}

impl ProviderFactory for Factory {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn capabilities(&self, _options: &ProviderOptions) -> Capabilities {
        Capabilities {
            kind: KIND,
            version: 1,
            fencing: Fencing::Advisory,
            visibility: Duration::ZERO,
            listing_period: self.listing_period,
            rate: None,
            images: false,
            resources: false,
            hooks: false,
            probes: false,
            agents: true,
            secrets: false,
        }
    }

    fn validate(&self, _options: &ProviderOptions) -> Vec<OptionProblem> {
        Vec::new()
    }

    fn build(
        &self,
        options: &ProviderOptions,
        place: &ProviderPlace,
    ) -> Result<Arc<dyn Provider>, BuildError> {
        let name = place.state_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (world, capabilities) = (self.world.clone(), self.capabilities(options));
        Ok(Arc::new(Ground { world, name, capabilities }))
    }
}

/// One provider.
struct Ground {
    world: World,
    name: String,
    capabilities: Capabilities,
}

/// A definite failure of this class.
pub(crate) fn failure(class: FailureClass) -> EffectFailure {
    let message = Redacted::new("as it is written in the script");
    EffectFailure { certainty: Certainty::Definite, class, message }
}

fn doubt() -> EffectFailure {
    EffectFailure { certainty: Certainty::Ambiguous, ..failure(FailureClass::TimedOut) }
}

fn id(attempt: AttemptId) -> String {
    format!("lease-{}", attempt.uuid)
}

fn facts(lease: &Lease) -> LeaseFacts {
    let id = LeaseId::new(&id(lease.attempt));
    LeaseFacts { id, fence: lease.fence, handle: Handle::default() }
}

fn endpoint() -> Endpoint {
    Endpoint { host: "127.0.0.1".into(), ports: Arc::default() }
}

fn handle(session: u64) -> Handle {
    Handle::new(BTreeMap::from([("session".to_owned(), session.to_string())]))
}

fn workload(lease: &Lease) -> WorkloadState {
    match (lease.session, &lease.exit) {
        (None, _) => WorkloadState::Absent,
        (Some(_), Some(status)) => {
            WorkloadState::Exited { status: status.clone(), tail: Redacted::default() }
        }
        (Some(session), None) => WorkloadState::Running { workload: handle(session) },
    }
}

impl Ground {
    /// One effect as the script has it.
    async fn effect<T>(
        &self,
        ctx: &EffectContext,
        kind: CommandKind,
        act: impl FnOnce(&mut Land) -> Result<T, EffectFailure> + Send,
    ) -> Result<T, EffectFailure> {
        let busy = self.world.enter(ctx, kind);
        let turn = self.world.with(|land| land.turn(ctx, kind));
        let result = match turn {
            Turn::Do => self.world.with(act),
            Turn::Fail(failure) => Err(failure),
            Turn::Doubt { done } => {
                let _lost = done.then(|| self.world.with(act));
                Err(doubt())
            }
            Turn::Panic { done } => {
                let _lost = done.then(|| self.world.with(act));
                drop(busy);
                std::panic::resume_unwind(Box::new("as it is written in the script"));
            }
            Turn::Block => {
                self.world.gate().await;
                self.world.with(act)
            }
            Turn::Die { done } => {
                let _lost = done.then(|| self.world.with(act));
                std::future::pending().await
            }
        };
        drop(busy);
        result
    }
}

impl Provider for Ground {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>> {
        let (ground, slot, attempt, fence) =
            (self.name.clone(), ctx.slot.clone(), ctx.attempt, ctx.fence);
        Box::pin(self.effect(ctx, CommandKind::CreateLease, move |land| {
            let lease = Lease { ground, slot, attempt, fence, session: None, exit: None };
            // A key that was used before adopts what it made (D7).
            if !land.leases.contains_key(&id(attempt)) {
                World::made(land, id(attempt), lease.clone());
            }
            Ok(Leased { lease: facts(&lease), endpoint: None })
        }))
    }

    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        Box::pin(self.effect(ctx, CommandKind::LookupEndpoint, |land| {
            let known = land.leases.contains_key(lease.id.as_str());
            if known { Ok(Some(endpoint())) } else { Err(failure(FailureClass::NotFound)) }
        }))
    }

    fn list_owned(&self, _run: Uuid) -> Work<'_, Listing> {
        Box::pin(async {
            if self.world.with(|land| land.sight == Sight::Late) {
                self.world.gate().await;
            }
            self.world.with(|land| {
                land.listings += 1;
                let sight = land.sight;
                let owned = |(id, lease): (&String, &Lease)| OwnedLease {
                    slot: lease.slot.clone(),
                    attempt: lease.attempt.uuid,
                    fence: lease.fence,
                    lease: LeaseFacts { id: LeaseId::new(id), ..facts(lease) },
                    endpoint: None,
                    workload: match sight {
                        Sight::True | Sight::Late => workload(lease),
                        Sight::Ended => {
                            let status = reconciler_core::effect::ExitStatus::Unknown;
                            WorkloadState::Exited { status, tail: Redacted::default() }
                        }
                        Sight::Leases | Sight::Empty | Sight::Blind => WorkloadState::Unknown,
                    },
                };
                let here = land.leases.iter().filter(|(_, lease)| lease.ground == self.name);
                match sight {
                    Sight::True | Sight::Late | Sight::Ended | Sight::Leases => {
                        Listing::Complete(here.map(owned).collect())
                    }
                    Sight::Empty => Listing::Complete(Vec::new()),
                    Sight::Blind => Listing::Unknown(Redacted::new("nothing can be seen")),
                }
            })
        })
    }

    fn inspect<'a>(
        &'a self,
        _run: Uuid,
        _slot: &'a LogicalNodeId,
        attempt: AttemptId,
        _lease: Option<&'a LeaseFacts>,
    ) -> Work<'a, Look> {
        Box::pin(async move {
            self.world.with(|land| match land.leases.get(&id(attempt)) {
                _any if land.blind => Look::Unknown { why: "nothing can be seen".into() },
                None => Look::Absent,
                Some(lease) => {
                    let hook = reconciler_core::effect::HookSight::Untold;
                    let (lease, workload) = (facts(lease), workload(lease));
                    Look::Present { lease, endpoint: None, workload, hook }
                }
            })
        })
    }

    fn destroy_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(self.effect(ctx, CommandKind::DestroyLease, |land| {
            land.leases.remove(lease.id.as_str());
            Ok(())
        }))
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        start: &'a StartRequest,
        _sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        Box::pin(self.effect(ctx, CommandKind::StartBootstrap, |land| {
            let lease = land.leases.get_mut(start.lease.id.as_str());
            let lease = lease.ok_or_else(|| failure(FailureClass::NotFound))?;
            let session = *lease.session.get_or_insert(start.session.get());
            Ok(handle(session))
        }))
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        _workload: &'a Handle,
        _grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(self.effect(ctx, CommandKind::CancelBootstrap, |land| {
            if let Some(lease) = land.leases.get_mut(lease.id.as_str()) {
                (lease.session, lease.exit) = (None, None);
            }
            Ok(())
        }))
    }

    fn complete_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        _lease: &'a LeaseFacts,
        _workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(self.effect(ctx, CommandKind::BootstrapConvergenceObserved, |_| Ok(())))
    }

    fn watch(&self, lease: &LeaseFacts, _workload: &Handle) -> Option<Work<'static, Exit>> {
        if !self.world.with(|land| land.watched) {
            return None;
        }
        let (world, id) = (self.world.clone(), lease.id.to_string());
        Some(Box::pin(async move {
            let status = world.ended(&id).await;
            Exit { status, tail: Redacted::default() }
        }))
    }
}
