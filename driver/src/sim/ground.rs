//! The providers of a story: each does in the land what a call asks for, unless the story has it otherwise.
//!
//! `strict` refuses stale fences and reports ends of workloads; `lax` does neither, and shows what is new only later.

use std::{sync::Arc, time::Duration};

use executor::seam::{
    Capabilities, EffectContext, Exit, Fencing, Leased, ProbeAsk, Provider, SessionObservation,
    SessionSink, StartRequest, Work,
};
use reconciler_core::{
    effect::{
        CommandKind, EffectFailure, ExitStatus, FailureClass, HookSight, Listing, Look,
        NodeRequest, OwnedLease, WorkloadState,
    },
    id::{AttemptId, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, LeaseId, ProbeAnswer, SessionStage},
    redact::Redacted,
};

use super::{
    act::Doing,
    ailing::answer,
    fleet::NAMES,
    land::{Land, Origin, Thing, doubt, endpoint, handle, lease_id, refusal, session_of},
    scene::{Scene, Stage},
    story::{Fate, Sight},
};

/// One provider as one driver has it.
pub(crate) struct Ground {
    stage: Stage,
    life: usize,
    name: &'static str,
    capabilities: Capabilities,
}

impl Ground {
    /// The provider `name` in the hands of a driver.
    pub(crate) fn new(stage: Stage, life: usize, name: &'static str) -> Self {
        let strict = name == "strict";
        let capabilities = Capabilities {
            kind: name,
            version: 1,
            fencing: if strict { Fencing::Enforced } else { Fencing::Advisory },
            visibility: if strict { Duration::ZERO } else { Duration::from_secs(5) },
            listing_period: Duration::from_secs(if strict { 30 } else { 15 }),
            rate: None,
            images: false,
            resources: false,
            hooks: false,
            probes: true,
            agents: false,
            secrets: false,
        };
        Self { stage, life, name, capabilities }
    }

    /// One effect from its coming to its answer.
    async fn effect<T>(
        &self,
        ctx: &EffectContext,
        (kind, lease): (CommandKind, Option<&LeaseFacts>),
        claim: impl FnOnce() -> T + Send,
        act: impl FnOnce(&mut Land, &Doing<'_>) -> Result<T, EffectFailure> + Send,
    ) -> Result<T, EffectFailure> {
        let lease = lease.map(|lease| lease.id.as_str());
        let Some(turn) = self.stage.enter(self.life, ctx, kind, (self.name, lease)) else {
            return std::future::pending().await;
        };
        let act = |land: &mut Land, doing: &Doing<'_>| {
            fenced(land, doing)?;
            act(land, doing)
        };
        let at = turn.call;
        tokio::time::sleep(Duration::from_millis(turn.there)).await;
        let result = match turn.fate {
            None | Some(Fate::Late) => self.stage.apply(at, act),
            Some(Fate::Refused(class)) => Err(refusal(class)),
            Some(Fate::LostUndone) => Err(doubt()),
            Some(Fate::LostDone) => self.stage.apply(at, act).and(Err(doubt())),
            Some(Fate::DeniedDone) => {
                let done = self.stage.apply(at, act);
                self.stage.denies(at);
                done.and(Err(refusal(FailureClass::Unavailable)))
            }
            Some(Fate::ClaimedUndone) => {
                self.stage.denies(at);
                Ok(claim())
            }
            Some(Fate::Crashed(done)) => {
                if done {
                    drop(self.stage.apply(at, act));
                    // A crash counts as a definite failure (D13): what it left shows up as an orphan at worst.
                    self.stage.denies(at);
                }
                self.stage.answer::<T>(at, &Err(doubt()));
                std::panic::resume_unwind(Box::new("as the story has it"));
            }
        };
        tokio::time::sleep(Duration::from_millis(turn.back)).await;
        self.stage.answer(at, &result);
        result
    }
}

/// An enforcing provider refuses a fence lower than the highest that it has seen (D11).
fn fenced(land: &mut Land, doing: &Doing<'_>) -> Result<(), EffectFailure> {
    let call = doing.call;
    if call.provider != "strict" {
        return Ok(());
    }
    let highest = land.highest.entry(call.provider.clone()).or_default();
    if call.fence < *highest {
        return Err(refusal(FailureClass::Fenced));
    }
    *highest = call.fence;
    Ok(())
}

fn create(land: &mut Land, doing: &Doing<'_>) -> Leased {
    let call = doing.call;
    let id = lease_id(call.attempt.uuid);
    // A key that was used before adopts what it made (D7).
    let thing = land.things.entry(id.clone()).or_insert_with(|| Thing {
        provider: call.provider.clone(),
        slot: call.slot.clone(),
        attempt: call.attempt.uuid,
        fence: call.fence,
        session: None,
        exit: None,
        visible_at: doing.now + doing.hidden_ms,
        origin: if doing.known { Origin::Ours } else { Origin::Stray },
    });
    Leased { lease: thing.facts(&id), endpoint: None }
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
        let id = LeaseId::new(&lease_id(ctx.attempt.uuid));
        let lease = LeaseFacts { id, fence: ctx.fence, handle: Handle::default() };
        let claim = move || Leased { lease, endpoint: None };
        let kind = CommandKind::CreateLease;
        Box::pin(self.effect(ctx, (kind, None), claim, |land, doing| Ok(create(land, doing))))
    }

    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>> {
        let kind = CommandKind::LookupEndpoint;
        Box::pin(self.effect(
            ctx,
            (kind, Some(lease)),
            || None,
            |land, doing| {
                let thing = land.things.get(lease.id.as_str());
                match thing.filter(|thing| thing.visible_at <= doing.now) {
                    Some(_) => Ok(Some(endpoint())),
                    None if land.things.contains_key(lease.id.as_str()) => Ok(None),
                    None => Err(refusal(FailureClass::NotFound)),
                }
            },
        ))
    }

    fn list_owned(&self, _run: Uuid) -> Work<'_, Listing> {
        Box::pin(async move {
            let sight = self.stage.with(|scene| scene.land.sight(self.name));
            if let Some(Sight::Slow(seconds)) = sight {
                let listing = self.stage.with(|scene| listing(scene, self.name, sight));
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                return listing;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.stage.with(|scene| listing(scene, self.name, sight))
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
            tokio::time::sleep(Duration::from_millis(30)).await;
            self.stage.with(|scene| look(scene, attempt))
        })
    }

    fn destroy_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let kind = CommandKind::DestroyLease;
        Box::pin(self.effect(
            ctx,
            (kind, Some(lease)),
            || (),
            |land, _| {
                land.things.remove(lease.id.as_str());
                Ok(())
            },
        ))
    }

    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        start: &'a StartRequest,
        sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>> {
        let session = start.session.get();
        let kind = CommandKind::StartBootstrap;
        let work = self.effect(
            ctx,
            (kind, Some(&start.lease)),
            move || handle(session),
            move |land, _| {
                let thing = land.things.get_mut(start.lease.id.as_str());
                let thing = thing.ok_or_else(|| refusal(FailureClass::NotFound))?;
                // A session that is over, or that runs, is not begun a second time.
                if thing.session.is_none_or(|known| known < session) {
                    (thing.session, thing.exit) = (Some(session), None);
                }
                Ok(handle(thing.session.unwrap_or(session)))
            },
        );
        sink(SessionObservation { seq: 1, stage: SessionStage::Created, line: None });
        Box::pin(work)
    }

    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        workload: &'a Handle,
        _grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let kind = CommandKind::CancelBootstrap;
        Box::pin(self.effect(
            ctx,
            (kind, Some(lease)),
            || (),
            |land, _| {
                let ended = session_of(workload);
                let thing = land.things.get_mut(lease.id.as_str());
                // What came after the session that is meant is not touched.
                if let Some(thing) =
                    thing.filter(|t| ended == 0 || t.session.is_some_and(|s| s <= ended))
                {
                    (thing.session, thing.exit) = (None, None);
                }
                Ok(())
            },
        ))
    }

    fn complete_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        _workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let kind = CommandKind::BootstrapConvergenceObserved;
        Box::pin(self.effect(
            ctx,
            (kind, Some(lease)),
            || (),
            |land, _| {
                let there = land.things.contains_key(lease.id.as_str());
                if there { Ok(()) } else { Err(refusal(FailureClass::NotFound)) }
            },
        ))
    }

    fn probe<'a>(&'a self, ask: &'a ProbeAsk) -> Work<'a, ProbeAnswer> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.stage.with(|scene| answer(scene, ask))
        })
    }

    fn watch(&self, lease: &LeaseFacts, workload: &Handle) -> Option<Work<'static, Exit>> {
        if self.name != "strict" {
            return None;
        }
        let (stage, life) = (self.stage.clone(), self.life);
        let (id, session) = (lease.id.to_string(), session_of(workload));
        Some(Box::pin(async move {
            let mut changes = stage.with(|scene| scene.land.changes.subscribe());
            loop {
                if let Some(status) = stage.with(|scene| ended(scene, &id, session)) {
                    return Exit { status, tail: Redacted::default() };
                }
                if changes.changed().await.is_err() || stage.is_dead(life) {
                    return std::future::pending().await;
                }
            }
        }))
    }
}

/// How a session's workload ended, if it did.
fn ended(scene: &Scene, id: &str, session: u64) -> Option<ExitStatus> {
    let thing = scene.land.things.get(id)?;
    thing.exit.clone().filter(|_| thing.session == Some(session))
}

/// What a look by id shows.
fn look(scene: &mut Scene, attempt: AttemptId) -> Look {
    if scene.land.blind_looks > 0 {
        scene.land.blind_looks -= 1;
        return Look::Unknown { why: Redacted::new("as the story has it") };
    }
    let now = scene.now();
    scene.book.looked(attempt.uuid, now);
    let id = lease_id(attempt.uuid);
    let thing = scene.land.things.get(&id).filter(|thing| thing.visible_at <= now);
    thing.map_or(Look::Absent, |thing| Look::Present {
        lease: thing.facts(&id),
        endpoint: None,
        workload: thing.workload(),
        hook: HookSight::Untold,
    })
}

/// What a listing shows, and what the book keeps of it.
fn listing(scene: &mut Scene, provider: &str, sight: Option<Sight>) -> Listing {
    let now = scene.now();
    let here = scene.land.things.iter();
    let here = here.filter(|(_, thing)| thing.provider == provider && thing.visible_at <= now);
    let mut shown: Vec<OwnedLease> = here.map(|(id, thing)| thing.owned(id)).collect();
    if let Some(sight) = sight {
        scene.tell(&format!("{provider} lists {sight:?}"));
    }
    let why = || Redacted::new("as the story has it");
    match sight {
        None | Some(Sight::Slow(_)) => {}
        Some(Sight::Empty) => shown.clear(),
        Some(Sight::Short) => drop(shown.drain(..shown.len().min(1))),
        Some(Sight::Partial) => {
            shown.truncate(shown.len() / 2);
            for lease in &shown {
                scene.book.looked(lease.attempt, now);
            }
            return Listing::Partial(shown, why());
        }
        Some(Sight::Failed) => return Listing::Unknown(why()),
        Some(Sight::Ended) => {
            for lease in &mut shown {
                let (status, tail) = (ExitStatus::Unknown, Redacted::default());
                lease.workload = WorkloadState::Exited { status, tail };
                scene.book.causes.insert(lease.attempt);
            }
        }
    }
    let attempts: std::collections::BTreeSet<Uuid> = shown.iter().map(|l| l.attempt).collect();
    for attempt in &attempts {
        scene.book.looked(*attempt, now);
    }
    let lacking = scene.land.things.values().filter(|thing| thing.provider == provider);
    let lacking: Vec<Uuid> = lacking.map(|t| t.attempt).filter(|a| !attempts.contains(a)).collect();
    for attempt in lacking {
        scene.book.unlisted(attempt, now);
    }
    Listing::Complete(shown)
}

/// The providers of a story in the hands of a driver.
pub(crate) fn grounds(
    stage: &Stage,
    life: usize,
) -> std::collections::BTreeMap<reconciler_core::id::ProviderName, Arc<dyn Provider>> {
    let ground = |name: &'static str| {
        let provider: Arc<dyn Provider> = Arc::new(Ground::new(stage.clone(), life, name));
        (name.parse().expect("a provider may be called so"), provider)
    };
    NAMES.into_iter().map(ground).collect()
}
