//! What the provider of a fake world holds for an attempt, and what becomes of hooks there.

use std::collections::BTreeMap;

use reconciler_core::{
    desired::HookPoint,
    effect::{
        ActionKind, CommandKind, EffectFailure, EffectOutcome, ExitStatus, FailureClass, HookRun,
        HookSight, HookState, WorkloadState, idempotency_key,
    },
    id::{IdempotencyKey, LogicalNodeId, SessionId, Uuid},
    observed::{LeaseFacts, NodeRecord},
    redact::Redacted,
};

use crate::fleet::definite;
use crate::world::{Flight, World};

/// What the provider really holds for one attempt.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) slot: LogicalNodeId,
    pub(crate) lease: LeaseFacts,
    pub(crate) workload: WorkloadState,
    /// What a look shows of its hooks.
    pub(crate) hook: HookSight,
    /// How each hook that was begun on it ended.
    pub(crate) hooks: BTreeMap<IdempotencyKey, ExitStatus>,
}

impl Thing {
    fn note_hook(&mut self, key: IdempotencyKey, status: ExitStatus) {
        self.hooks.insert(key, status.clone());
        let state = HookState::Ended { status, tail: Redacted::default() };
        self.hook = HookSight::Begun { key, state };
    }
}

impl World {
    /// A start with a pre-start hook comes after that hook was begun, in every session.
    pub(crate) fn check_hooked(&self, record: &NodeRecord, kind: ActionKind) {
        if kind == CommandKind::StartBootstrap && record.policy.hooks.pre_start.is_some() {
            let thing = self.things.get(&record.attempt.uuid);
            let key = hook_key(record.attempt.uuid, HookPoint::PreStart, record.next_session);
            let begun = thing.is_none_or(|thing| thing.hooks.contains_key(&key));
            assert!(begun, "a start without its pre-start hook: {record:?}");
        }
    }

    /// Runs a hook to its end, unless one under its key completed before.
    pub(crate) fn run_hook(
        &mut self,
        flight: &Flight,
        run: &HookRun,
    ) -> Result<EffectOutcome, EffectFailure> {
        let key = flight.action.idempotency_key(flight.attempt.uuid);
        let thing = self.things.get_mut(&flight.attempt.uuid);
        let thing = thing.ok_or_else(|| definite(FailureClass::NotFound))?;
        let known = thing.hooks.get(&key);
        assert!(known != Some(&ExitStatus::Unknown), "in doubt, and repeated blind: {run:?}");
        thing.note_hook(key, ExitStatus::Code(0));
        Ok(EffectOutcome::Hooked(run.point))
    }

    /// A driver died while a hook ran: nobody sees how it ends.
    pub(crate) fn lose_hook(&mut self, flight: &Flight) {
        let key = flight.action.idempotency_key(flight.attempt.uuid);
        let thing = self.things.get_mut(&flight.attempt.uuid);
        if let Some(thing) = thing.filter(|thing| !thing.hooks.contains_key(&key)) {
            thing.note_hook(key, ExitStatus::Unknown);
        }
    }
}

/// The key of a hook's request.
pub(crate) fn hook_key(attempt: Uuid, point: HookPoint, session: SessionId) -> IdempotencyKey {
    let first = session == SessionId::new(1);
    let detail = if first { String::new() } else { format!("session {session}") };
    idempotency_key(attempt, ActionKind::Hook(point), &detail)
}
