//! Which steps were dispatched, so that a step has one effect however often it comes (R66).

use std::collections::{BTreeMap, VecDeque};

use reconciler_core::{
    effect::{ActionKind, EffectReport, Intent},
    id::{AttemptId, IdempotencyKey, LogicalNodeId, ProviderName, StepId},
};

/// Results that are kept for a repeat: many times what is under way at once, and little memory.
const RESULTS_MAX: usize = 512;

/// What makes two dispatches of one step the same request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) step: StepId,
    pub(super) slot: LogicalNodeId,
    pub(super) provider: ProviderName,
    pub(super) attempt: AttemptId,
    pub(super) kind: ActionKind,
    pub(super) key: IdempotencyKey,
}

impl Identity {
    /// The identity of `intent`.
    pub(super) fn of(intent: &Intent) -> Self {
        Self {
            step: intent.step,
            slot: intent.slot.clone(),
            provider: intent.provider.clone(),
            attempt: intent.attempt,
            kind: intent.action.kind(),
            key: intent.key,
        }
    }
}

/// What is to be done with a step that comes in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is new: perform it.
    Fresh,
    /// It is under way; its one report will come.
    UnderWay,
    /// It is done: this is its result.
    Done(Box<EffectReport>),
    /// Its number belongs to another request.
    Reused,
    /// It is older than anything remembered: it may have been performed.
    Forgotten,
}

/// The steps that are under way, and the last results.
#[derive(Default)]
pub(super) struct Ledger {
    steps: BTreeMap<StepId, (Identity, Option<EffectReport>)>,
    done: VecDeque<StepId>,
    forgotten_to: Option<StepId>,
}

impl Ledger {
    /// Notes that a step came in, and says what to do with it.
    pub(super) fn admit(&mut self, identity: &Identity) -> Admission {
        match self.steps.get(&identity.step) {
            Some((known, _)) if known != identity => Admission::Reused,
            Some((_, None)) => Admission::UnderWay,
            Some((_, Some(report))) => Admission::Done(Box::new(report.clone())),
            None if self.forgotten_to.is_some_and(|last| identity.step <= last) => {
                Admission::Forgotten
            }
            None => {
                self.steps.insert(identity.step, (identity.clone(), None));
                Admission::Fresh
            }
        }
    }

    /// Keeps a step's result, and forgets the oldest if there are too many.
    ///
    /// A refusal of another request under the same number is not the step's result.
    pub(super) fn settle(&mut self, identity: &Identity, report: &EffectReport) {
        let Some((known, result)) = self.steps.get_mut(&report.step) else { return };
        if known != identity {
            return;
        }
        if result.replace(report.clone()).is_none() {
            self.done.push_back(report.step);
        }
        if self.done.len() > RESULTS_MAX
            && let Some(oldest) = self.done.pop_front()
        {
            self.steps.remove(&oldest);
            self.forgotten_to = self.forgotten_to.max(Some(oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use reconciler_core::{
        effect::{ActionKind, CommandKind, EffectOutcome, EffectReport, idempotency_key},
        id::{AttemptId, AttemptOrdinal, Generation, StepId, Uuid},
    };

    use super::{Admission, Identity, Ledger, RESULTS_MAX};

    fn identity(step: u64) -> Identity {
        let run = Uuid::from_bytes([1; 16]);
        let slot = "web-0".parse().unwrap();
        let attempt = AttemptId::derive(run, &slot, Generation::new(1), AttemptOrdinal::new(1));
        let kind = ActionKind::from(CommandKind::DestroyLease);
        let key = idempotency_key(attempt.uuid, kind, "");
        let provider = "process".parse().unwrap();
        Identity { step: StepId::new(step), slot, provider, attempt, kind, key }
    }

    fn report(step: u64) -> EffectReport {
        let Identity { step, slot, attempt, kind, .. } = identity(step);
        let result = Ok(EffectOutcome::Released);
        EffectReport { step, slot, attempt, command: kind, result, look: None }
    }

    /// R66: the same step replays its result, and its number serves no other request.
    #[test]
    fn a_step_is_fresh_once() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.admit(&identity(1)), Admission::Fresh);
        assert_eq!(ledger.admit(&identity(1)), Admission::UnderWay);
        ledger.settle(&identity(1), &report(1));
        assert_eq!(ledger.admit(&identity(1)), Admission::Done(Box::new(report(1))));
        let other = Identity { kind: CommandKind::LookupEndpoint.into(), ..identity(1) };
        assert_eq!(ledger.admit(&other), Admission::Reused);
    }

    /// R66: memory is bounded, and what was forgotten is never taken for new.
    #[test]
    fn a_forgotten_step_is_not_fresh_again() {
        let mut ledger = Ledger::default();
        let last = u64::try_from(RESULTS_MAX).unwrap() + 1;
        for step in 1..=last {
            assert_eq!(ledger.admit(&identity(step)), Admission::Fresh);
            ledger.settle(&identity(step), &report(step));
        }
        assert_eq!(ledger.steps.len(), RESULTS_MAX);
        assert_eq!(ledger.admit(&identity(1)), Admission::Forgotten);
        assert_eq!(ledger.admit(&identity(last)), Admission::Done(Box::new(report(last))));
    }
}
