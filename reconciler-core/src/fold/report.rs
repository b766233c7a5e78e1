//! Folding an effect's outcome: command × result.

use super::{
    NoteKind, StepEnd, Verdict,
    apply::fold_dispatched,
    ending, failure,
    folding::{Folding, ambiguity},
    hooks, look, seen, stages,
};
use crate::{
    effect::{
        ActionKind, Certainty, CommandKind, EffectFailure, EffectOutcome, EffectReport,
        FailureClass, Look,
    },
    id::{AttemptId, LogicalNodeId},
    limits,
    observed::{ClusterState, FailureFacts, NodeStage, Pending, Remains},
    redact::Redacted,
    time::{Millis, Timestamp},
};

impl ClusterState {
    pub(super) fn fold_report(&mut self, report: EffectReport, now: Timestamp) -> Verdict {
        let (slot, attempt) = (report.slot.clone(), report.attempt);
        let pause = match &report.result {
            Err(EffectFailure { class: FailureClass::RateLimited { retry_after }, .. }) => {
                Some(*retry_after)
            }
            Ok(_) | Err(_) => None,
        };
        let verdict = self.with(&slot, report.attempt, now, |f| fold_outcome(f, report));
        if let (Verdict::Applied, Some(length)) = (verdict, pause) {
            self.pause_provider(&slot, attempt, now.after(length.min(limits::PAUSE_MAX)));
        }
        verdict
    }

    /// Sends a step and hears of its success at once, as a projection does: the two folds in one change of the
    /// record. A look right after it finds nothing, which speaks for an end and not against a beginning.
    pub(crate) fn fold_predicted(
        &mut self,
        slot: &LogicalNodeId,
        attempt: AttemptId,
        pending: Pending,
        outcome: EffectOutcome,
        now: Timestamp,
    ) -> Verdict {
        self.with(slot, attempt, now, |f| match fold_dispatched(f, pending) {
            Verdict::Applied => {
                fold_success(f, outcome, Some(Look::Absent));
                Verdict::Applied
            }
            refused @ (Verdict::Unchanged | Verdict::Stale | Verdict::Illegal) => refused,
        })
    }

    fn pause_provider(&mut self, slot: &LogicalNodeId, attempt: AttemptId, until: Timestamp) {
        let record = self.record(slot).and_then(|record| record.of_attempt(attempt));
        let Some(name) = record.map(|r| r.spec.provider.clone()) else { return };
        let provider = self.providers.entry(name.clone()).or_default();
        provider.paused_until = provider.paused_until.max(Some(until));
        self.tell(&name.clone(), NoteKind::Paused(name));
    }
}

fn fold_outcome(f: &mut Folding<'_>, report: EffectReport) -> Verdict {
    if f.record.pending.as_ref().is_none_or(|pending| pending.step != report.step) {
        return Verdict::Stale;
    }
    let asked = f.record.pending.as_ref().map(|pending| pending.command);
    let unseen = matches!(report.look, Some(Look::Unknown { .. }));
    match report.result {
        Ok(outcome) if asked == Some(outcome.answers()) => fold_success(f, outcome, report.look),
        Ok(_) => {
            let message = Redacted::new("the provider answered another question");
            fold_ambiguous(f, FailureClass::Crashed, message, report.look);
        }
        // After a crash that nobody could look behind, it may have happened.
        Err(error)
            if error.certainty == Certainty::Ambiguous
                || (unseen && error.class == FailureClass::Crashed) =>
        {
            fold_ambiguous(f, error.class, error.message, report.look);
        }
        Err(error) => fold_definite(f, report.command, &error, report.look),
    }
    Verdict::Applied
}

fn fold_ambiguous(f: &mut Folding<'_>, class: FailureClass, message: Redacted, seen: Option<Look>) {
    let Some(pending) = f.record.pending.clone() else { return };
    failure::retry_later(f, &message);
    f.settle_failed(StepEnd::Ambiguous, (class, Certainty::Ambiguous), message);
    f.record.pending = None;
    f.record.ambiguity = Some(ambiguity(&pending, f.now));
    f.tell(NoteKind::Ambiguous(pending.command));
    // An absence this early proves nothing: the effect may still be under way.
    if let Some(seen) = seen.filter(|seen| !matches!(seen, Look::Absent)) {
        let _same_record = look::fold_look(f, seen, Millis::ZERO);
    }
}

fn fold_success(f: &mut Folding<'_>, outcome: EffectOutcome, seen: Option<Look>) {
    if matches!(outcome, EffectOutcome::Released) {
        return look::fold_released(f, seen.as_ref());
    }
    f.settle(StepEnd::Verified, Redacted::default());
    f.record.pending = None;
    f.record.retry = None;
    match outcome {
        EffectOutcome::Started { workload } => {
            stages::started(f, f.record.stage.clone(), workload);
            // A workload may end before its start is reported: the look right after it tells.
            if let Some(Look::Present { lease, endpoint, workload, hook: _ }) = seen {
                let _verdict = seen::present(f, lease, endpoint, workload);
            }
        }
        EffectOutcome::Cancelled => stages::stopped(f, f.record.stage.clone()),
        EffectOutcome::Hooked(point) => hooks::completed(f, point),
        outcome @ (EffectOutcome::Leased { .. }
        | EffectOutcome::Endpoint(_)
        | EffectOutcome::Closed
        | EffectOutcome::Released) => goes_on(f, outcome),
    }
}

/// The stage that follows an outcome, if it follows the present one.
fn goes_on(f: &mut Folding<'_>, outcome: EffectOutcome) {
    let now = f.now;
    f.goes_on(|stage, record| match (outcome, stage) {
        (EffectOutcome::Leased { lease, endpoint }, NodeStage::LeaseRequested) => {
            Ok(NodeStage::LeaseCreated { lease, endpoint, probe_at: None })
        }
        (EffectOutcome::Endpoint(Some(endpoint)), NodeStage::LeaseCreated { lease, .. }) => {
            Ok(NodeStage::EndpointKnown { lease, endpoint })
        }
        (EffectOutcome::Endpoint(None), NodeStage::LeaseCreated { lease, endpoint, .. }) => {
            let probe_at = Some(now.after(limits::ENDPOINT_PROBE));
            Ok(NodeStage::LeaseCreated { lease, endpoint, probe_at })
        }
        (
            EffectOutcome::Closed,
            NodeStage::SwactorJoined { lease, endpoint, session, joined_at },
        ) => {
            let member = stages::member(session, joined_at, now);
            let stable_at = now.after(record.policy.stable);
            Ok(NodeStage::HandedOff { lease, endpoint, member, stable_at })
        }
        (_, stage) => Err(stage),
    });
}

fn fold_definite(f: &mut Folding<'_>, kind: ActionKind, error: &EffectFailure, seen: Option<Look>) {
    let failure = (error.class, Certainty::Definite);
    f.settle_failed(end_of(error.class), failure, error.message.clone());
    f.record.pending = None;
    let note = NoteKind::Failure { command: Some(kind), message: error.message.clone() };
    if matches!(error.class, FailureClass::RateLimited { .. } | FailureClass::Withdrawn) {
        // The provider's wish (C7) or the controller's own, not the node's fault: nothing is charged.
        if matches!(f.record.stage, NodeStage::LeaseRequested) {
            f.enter(NodeStage::New);
        }
        return;
    }
    if error.class == FailureClass::Fenced {
        f.tell(note);
        if matches!(f.record.stage, NodeStage::LeaseRequested) {
            f.enter(NodeStage::New);
        }
        return failure::hold(f, crate::hold::HoldCode::NewerFence, &error.message);
    }
    let gone = error.class == FailureClass::NotFound;
    let facts = FailureFacts { at: f.now, class: error.class, message: error.message.clone() };
    let command = match kind {
        ActionKind::Hook(point) => return hooks::failed(f, point, facts),
        ActionKind::Command(command) => command,
    };
    match (command, f.record.stage.clone()) {
        (CommandKind::CreateLease, _) => failure::fail(f, facts, made(seen)),
        (CommandKind::LookupEndpoint, _) if gone => failure::fail(f, facts, Remains::Nothing),
        (CommandKind::StartBootstrap, stage) => {
            let remains = stage
                .lease()
                .map_or(Remains::Nothing, |lease| Remains::Lease { lease: lease.clone() });
            failure::fail(f, facts, remains);
        }
        (
            CommandKind::BootstrapConvergenceObserved,
            NodeStage::SwactorJoined { lease, session, .. },
        ) if gone || error.class == FailureClass::Workload => {
            if !ending::awaits_end(f, &error.message) {
                failure::fail(f, facts, Remains::Session { lease, session });
            }
        }
        (CommandKind::CancelBootstrap, stage) if gone => stages::stopped(f, stage),
        (CommandKind::DestroyLease, stage) if gone => f.enter(stages::without_lease(stage)),
        (
            CommandKind::BootstrapConvergenceObserved,
            NodeStage::SwactorJoined { lease, session, .. },
        ) if failure::is_last_try(f) => {
            failure::fail(f, facts, Remains::Session { lease, session });
        }
        // What a retry cannot mend is for a person, who is told which slot it is (P6).
        (CommandKind::CancelBootstrap | CommandKind::DestroyLease, _)
            if matches!(error.class, FailureClass::Auth | FailureClass::Invalid) =>
        {
            f.tell(note);
            f.record.retry = None;
            failure::hold(f, crate::hold::HoldCode::CleanupRefused, &error.message);
        }
        _ => {
            f.tell(note);
            failure::retry_later(f, &error.message);
        }
    }
}

/// What a provider made before it crashed is cleaned up, never forgotten.
fn made(seen: Option<Look>) -> Remains {
    match seen {
        Some(Look::Present { lease, .. }) => Remains::Lease { lease },
        Some(Look::Absent | Look::Unknown { .. }) | None => Remains::Nothing,
    }
}

/// How a step ends that surely failed so.
const fn end_of(class: FailureClass) -> StepEnd {
    match class {
        FailureClass::Withdrawn => StepEnd::NotBegun,
        FailureClass::Fenced => StepEnd::ContextStale,
        FailureClass::Auth
        | FailureClass::Quota
        | FailureClass::Capacity
        | FailureClass::RateLimited { .. }
        | FailureClass::NotFound
        | FailureClass::Invalid
        | FailureClass::Unavailable
        | FailureClass::TimedOut
        | FailureClass::Crashed
        | FailureClass::Workload => StepEnd::NoEffect,
    }
}
