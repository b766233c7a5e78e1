//! Folding what a pass decided.

use alloc::boxed::Box;

use super::{
    NoteKind, StepEnd, Transition, Verdict, failure,
    folding::{Folding, ambiguity},
    probe,
};
use crate::{
    desired::LogicalNodeSpec,
    effect::{Certainty, FailureClass},
    hold::HoldCode,
    id::LogicalNodeId,
    observed::{
        Backoff, ClusterState, DeleteReason, Deletion, FailureFacts, NodeRecord, NodeStage,
        Remains, Second, Side, StageName,
    },
    redact::Redacted,
    time::Timestamp,
};

impl ClusterState {
    pub(super) fn fold_decided(
        &mut self,
        slot: &LogicalNodeId,
        transition: Transition,
        now: Timestamp,
    ) -> Verdict {
        if let Transition::Beside(transition) = transition {
            return self.fold_on_side(slot, Side::Second, *transition, now);
        }
        self.fold_on_side(slot, Side::Present, transition, now)
    }

    fn fold_on_side(
        &mut self,
        slot: &LogicalNodeId,
        side: Side,
        transition: Transition,
        now: Timestamp,
    ) -> Verdict {
        match transition {
            Transition::Insert(spec) if side == Side::Present => {
                self.insert(*spec, Backoff::default(), now)
            }
            Transition::Candidate(spec) if side == Side::Present => {
                self.with_any(slot, now, |f| begin_beside(f, *spec))
            }
            Transition::Promote if side == Side::Present => self.with_any(slot, now, promote),
            Transition::Restart(spec) => match side {
                Side::Present => self.restart(slot, *spec, now),
                Side::Second => self.with_side(slot, side, now, |f| begin_again(f, *spec)),
            },
            Transition::Reap => match side {
                Side::Present => self.reap(slot, now),
                Side::Second => {
                    let verdict = self.with_any(slot, now, retire);
                    self.reaped(&slot.group, now);
                    verdict
                }
            },
            Transition::BeginDelete(reason) => self.with_side(slot, side, now, |f| {
                if f.record.deletion.is_some() {
                    return Verdict::Illegal;
                }
                f.record.deletion = Some(Deletion { reason, since: now });
                f.record.retry = None;
                Verdict::Applied
            }),
            Transition::GiveUp(kind) => self.give_up(slot, side, kind, now),
            Transition::Retune(spec) => self.with_side(slot, side, now, |f| {
                probe::retuned(f, &spec.policy.probes, side);
                f.record.policy = spec.policy;
                if !f.record.may_run() {
                    // What is started from now on is of that round; what runs is of an earlier one.
                    f.record.round = spec.round;
                }
                Verdict::Applied
            }),
            Transition::Hold(hold) => self.with_side(slot, side, now, |f| {
                f.tell(NoteKind::Held(hold.code, hold.text.clone()));
                f.record.hold = Some(hold);
                Verdict::Applied
            }),
            Transition::Settle
            | Transition::Rest
            | Transition::Expire
            | Transition::TimeOut
            | Transition::MarkDestroyed => {
                self.with_side(slot, side, now, |f| advance(f, &transition))
            }
            Transition::Insert(_)
            | Transition::Candidate(_)
            | Transition::Promote
            | Transition::Beside(_) => Verdict::Illegal,
        }
    }

    fn insert(&mut self, spec: LogicalNodeSpec, backoff: Backoff, now: Timestamp) -> Verdict {
        if self.record(&spec.slot).is_some() {
            return Verdict::Illegal;
        }
        let slot = spec.slot.clone();
        self.put(NodeRecord::fresh(spec, backoff, now), now);
        self.tell(&slot, NoteKind::Stage { from: None, to: StageName::New });
        Verdict::Applied
    }

    fn restart(&mut self, slot: &LogicalNodeId, spec: LogicalNodeSpec, now: Timestamp) -> Verdict {
        let Some(record) = self.record(slot) else { return Verdict::Stale };
        if !matches!(record.stage, NodeStage::Destroyed { .. }) {
            return Verdict::Illegal;
        }
        let from = Some(record.stage.name());
        let next = successor(record, spec, now);
        self.put(next, now);
        self.tell(slot, NoteKind::Stage { from, to: StageName::New });
        Verdict::Applied
    }

    fn reap(&mut self, slot: &LogicalNodeId, now: Timestamp) -> Verdict {
        if !self.record(slot).is_some_and(|r| r.is_destroyed() && r.second.is_none()) {
            return Verdict::Illegal;
        }
        self.remove(slot);
        self.reaped(&slot.group, now);
        if self.group(&slot.group).is_some_and(|group| group.is_empty()) {
            // A doubt about nodes of which none is left is no doubt any more.
            self.release_group(&slot.group);
        }
        self.tell(slot, NoteKind::Reaped);
        Verdict::Applied
    }
}

/// The attempt that follows a destroyed one on its side.
fn successor(record: &NodeRecord, spec: LogicalNodeSpec, now: Timestamp) -> NodeRecord {
    // Another revision or round is a fresh start: what failed before says nothing about it.
    let same = record.revision == spec.revision && record.round >= spec.round;
    let mut backoff = if same { record.backoff.clone() } else { Backoff::default() };
    backoff.not_before = None;
    let mut next = NodeRecord::fresh(spec, backoff, now);
    (next.second, next.spent) = (record.second.clone(), record.spent);
    if same {
        next.revived.clone_from(&record.revived);
    }
    next
}

fn begin_beside(f: &mut Folding<'_>, spec: LogicalNodeSpec) -> Verdict {
    if f.record.second.is_some() || spec.attempt.ordinal < f.record.next_ordinal() {
        return Verdict::Illegal;
    }
    let begins = NoteKind::Stage { from: None, to: StageName::New };
    f.tell(NoteKind::Beside(spec.attempt.ordinal, Box::new(begins)));
    let candidate = NodeRecord::fresh(spec, Backoff::default(), f.now);
    f.record.second = Some(Box::new(Second::new(candidate)));
    Verdict::Applied
}

fn begin_again(f: &mut Folding<'_>, spec: LogicalNodeSpec) -> Verdict {
    if !f.record.is_destroyed() || spec.attempt.ordinal <= f.record.attempt.ordinal {
        return Verdict::Illegal;
    }
    f.tell(NoteKind::Stage { from: Some(StageName::Destroyed), to: StageName::New });
    *f.record = successor(f.record, spec, f.now);
    Verdict::Applied
}

/// The candidate serves from now on; what served before begins to go in the same instant, so that at no time
/// two attempts of one slot count as wanted.
fn promote(f: &mut Folding<'_>) -> Verdict {
    let Some(mut second) = f.record.second.take_if(|second| second.record.is_live()) else {
        return Verdict::Illegal;
    };
    core::mem::swap(f.record, &mut second.record);
    let old = &mut second.record;
    let (from, to) = (old.attempt.ordinal, f.record.attempt.ordinal);
    f.record.spent = old.spent.max(f.record.spent);
    (old.due, old.settled) = (None, false);
    f.tell(NoteKind::Promoted { from, to });
    if old.is_destroyed() {
        f.record.spent = f.record.spent.max(from);
        return Verdict::Applied;
    }
    old.retry = None;
    old.deletion.get_or_insert(Deletion { reason: DeleteReason::Replaced, since: f.now });
    (second.seen, second.look_at) = (None, None);
    f.record.second = Some(second);
    Verdict::Applied
}

/// Nothing of the second attempt is left: it goes, and its ordinal is never used again.
fn retire(f: &mut Folding<'_>) -> Verdict {
    let Some(second) = f.record.second.take_if(|second| second.record.is_destroyed()) else {
        return Verdict::Illegal;
    };
    let ordinal = second.record.attempt.ordinal;
    f.record.spent = f.record.spent.max(ordinal);
    f.tell(NoteKind::Beside(ordinal, Box::new(NoteKind::Reaped)));
    Verdict::Applied
}

fn advance(f: &mut Folding<'_>, transition: &Transition) -> Verdict {
    let now = f.now;
    if matches!(transition, Transition::Settle | Transition::Rest) {
        return grow(f, transition);
    }
    match (transition, f.record.stage.clone()) {
        (Transition::Expire, _) => {
            let Some(pending) = f.record.pending.clone() else { return Verdict::Illegal };
            let message = Redacted::new("no answer in time");
            failure::retry_later(f, &message);
            let kind = (FailureClass::TimedOut, Certainty::Ambiguous);
            f.settle_failed(StepEnd::Ambiguous, kind, message);
            f.record.pending = None;
            f.record.ambiguity = Some(ambiguity(&pending, now));
            f.tell(NoteKind::Ambiguous(pending.command));
        }
        (Transition::TimeOut, stage) => {
            let (message, remains) = match stage {
                NodeStage::LeaseCreated { lease, .. } => {
                    (Redacted::new("no endpoint became known in time"), Remains::Lease { lease })
                }
                NodeStage::BootstrapRunning { lease, session, .. } => {
                    let said = f.record.said.take().unwrap_or_default();
                    let message = failure::quoting("it did not join in time", &said);
                    (message, Remains::Session { lease, session })
                }
                NodeStage::New
                | NodeStage::LeaseRequested
                | NodeStage::EndpointKnown { .. }
                | NodeStage::SwactorJoined { .. }
                | NodeStage::HandedOff { .. }
                | NodeStage::Dormant { .. }
                | NodeStage::Failed { .. }
                | NodeStage::Destroyed { .. } => return Verdict::Illegal,
            };
            let failure = FailureFacts { at: now, class: FailureClass::TimedOut, message };
            failure::fail(f, failure, remains);
        }
        (Transition::MarkDestroyed, stage) => return mark_destroyed(f, stage),
        _ => return Verdict::Illegal,
    }
    Verdict::Applied
}

/// A node comes on by the time that it ran.
fn grow(f: &mut Folding<'_>, transition: &Transition) -> Verdict {
    let now = f.now;
    let grown = f.goes_on(|stage, _| match (transition, stage) {
        (Transition::Settle, NodeStage::BootstrapRunning { lease, endpoint, session, .. }) => {
            Ok(NodeStage::SwactorJoined { lease, endpoint, session, joined_at: now })
        }
        (Transition::Rest, NodeStage::HandedOff { lease, endpoint, member, .. }) => {
            Ok(NodeStage::Dormant { lease, endpoint, member, completed: None })
        }
        (_, stage) => Err(stage),
    });
    if !grown {
        return Verdict::Illegal;
    }
    if matches!(transition, Transition::Rest) {
        f.record.backoff = Backoff::default();
    }
    Verdict::Applied
}

fn mark_destroyed(f: &mut Folding<'_>, stage: NodeStage) -> Verdict {
    if f.record.deletion.is_none() || f.record.pending.is_some() {
        return Verdict::Illegal;
    }
    let failure = match stage {
        NodeStage::New => None,
        NodeStage::Failed { failure, remains: Remains::Nothing } => Some(failure),
        NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::BootstrapRunning { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => return Verdict::Illegal,
    };
    f.record.deletion = None;
    f.record.retry = None;
    if f.record.hold.as_ref().is_some_and(|hold| hold.code == HoldCode::CleanupRefused) {
        // Nothing is left to be cleaned up; whether the slot may begin anew is another question.
        f.record.hold = None;
        f.tell(NoteKind::Released(HoldCode::CleanupRefused));
        failure::hold_if_used_up(f);
    }
    f.enter(NodeStage::Destroyed { at: f.now, failure });
    Verdict::Applied
}
