//! One record under change: what every fold of a record works on, and the way in to it.
//!
//! What a fact means for the record stands beside, a file for each kind of fact.

use alloc::{boxed::Box, vec::Vec};

use super::{NoteKind, Settlement, StepEnd, fact::Verdict, saga::Before};
use crate::{
    desired::HookPoint,
    effect::{ActionKind, Certainty, FailureClass, FailureKind},
    id::{AttemptId, LogicalNodeId},
    observed::{Ambiguity, ClusterState, Hooked, NodeRecord, NodeStage, Pending, Side, StageName},
    redact::Redacted,
    time::Timestamp,
};

/// The record under change, and what the change tells.
pub(super) struct Folding<'a> {
    pub(super) record: &'a mut NodeRecord,
    pub(super) now: Timestamp,
    pub(super) notes: Vec<NoteKind>,
    pub(super) settled: Vec<Settlement>,
    /// The hook that completed, or may have.
    pub(super) hooked: Option<HookPoint>,
    /// True where nobody will ask what the change told.
    pub(super) quiet: bool,
}

impl Folding<'_> {
    /// Moves to `stage`.
    pub(super) fn enter(&mut self, stage: NodeStage) {
        let (from, leased) = (self.record.stage.name(), self.record.stage.lease().is_some());
        self.record.stage = stage;
        self.entered(from, leased);
    }

    /// Moves to what `next` makes of the present stage, whose facts it takes over; false if it gives it back.
    pub(super) fn goes_on(
        &mut self,
        next: impl FnOnce(NodeStage, &NodeRecord) -> Result<NodeStage, NodeStage>,
    ) -> bool {
        let (from, leased) = (self.record.stage.name(), self.record.stage.lease().is_some());
        let present = core::mem::replace(&mut self.record.stage, NodeStage::New);
        let next = next(present, self.record);
        let moved = next.is_ok();
        self.record.stage = next.unwrap_or_else(|present| present);
        if moved {
            self.entered(from, leased);
        }
        moved
    }

    /// Notes that another stage was entered than `from`, in which there was a lease or not.
    fn entered(&mut self, from: StageName, leased: bool) {
        let (to, emptied) =
            (self.record.stage.name(), leased && self.record.stage.lease().is_none());
        if from != to || emptied {
            self.record.since = self.now;
        }
        if self.record.stage.session().is_none() {
            self.record.health = None;
            self.record.agent = None;
        }
        if from != to {
            self.record.said = None;
            self.tell(NoteKind::Stage { from: Some(from), to });
        }
    }

    /// The step at hand, if there is one, ends without effect because of what happened first.
    pub(super) fn overtaken(&mut self, by: &str) {
        if let Some(kind) = self.record.under_way() {
            self.settle(StepEnd::NoEffect, Redacted::new(by));
            if let ActionKind::Hook(point) = kind {
                // It was cut off, or came to its end unheard.
                self.hooked = Some(point);
            }
        }
        self.record.pending = None;
        self.record.ambiguity = None;
    }

    /// Says how the step at hand ended, if there is one.
    pub(super) fn settle(&mut self, end: StepEnd, message: Redacted) {
        self.settle_as(end, None, message);
    }

    /// Says how the step at hand failed, if there is one.
    pub(super) fn settle_failed(
        &mut self,
        end: StepEnd,
        (class, certainty): (FailureClass, Certainty),
        message: Redacted,
    ) {
        self.settle_as(end, Some(FailureKind { class, certainty }), message);
    }

    fn settle_as(&mut self, end: StepEnd, failure: Option<FailureKind>, message: Redacted) {
        let step = match (&self.record.pending, &self.record.ambiguity) {
            (Some(p), _) => (p.operation, p.step),
            (None, Some(a)) => (a.operation, a.step),
            (None, None) => return,
        };
        if self.quiet {
            return;
        }
        self.settled.push(Settlement {
            operation: step.0,
            step: step.1,
            slot: self.record.slot.clone(),
            end,
            failure,
            message,
        });
    }

    /// Notes a failure.
    pub(super) fn tell(&mut self, note: NoteKind) {
        if !self.quiet {
            self.notes.push(note);
        }
    }
}

/// The side on which a record has an attempt.
fn side_of(record: &NodeRecord, attempt: AttemptId) -> Option<Side> {
    let has = |side: &Side| record.side(*side).is_some_and(|one| one.attempt == attempt);
    [Side::Present, Side::Second].into_iter().find(has)
}

fn pick(record: &mut NodeRecord, side: Side) -> Option<&mut NodeRecord> {
    match side {
        Side::Present => Some(record),
        Side::Second => record.second.as_deref_mut().map(|second| &mut second.record),
    }
}

impl ClusterState {
    /// Folds into one attempt's record, if the fact is about an attempt that the slot has.
    pub(super) fn with(
        &mut self,
        slot: &LogicalNodeId,
        attempt: AttemptId,
        now: Timestamp,
        fold: impl FnOnce(&mut Folding<'_>) -> Verdict,
    ) -> Verdict {
        let side = self.record(slot).and_then(|record| side_of(record, attempt));
        side.map_or(Verdict::Stale, |side| self.with_side(slot, side, now, fold))
    }

    /// Folds into the record of the present attempt, whichever that is.
    pub(super) fn with_any(
        &mut self,
        slot: &LogicalNodeId,
        now: Timestamp,
        fold: impl FnOnce(&mut Folding<'_>) -> Verdict,
    ) -> Verdict {
        self.with_side(slot, Side::Present, now, fold)
    }

    /// Folds into the record on one side, whichever attempt that has.
    pub(super) fn with_side(
        &mut self,
        slot: &LogicalNodeId,
        side: Side,
        now: Timestamp,
        fold: impl FnOnce(&mut Folding<'_>) -> Verdict,
    ) -> Verdict {
        let mut verdict = Verdict::Stale;
        let (mut notes, mut settled) = (Vec::new(), Vec::new());
        let quiet = self.quiet;
        let (mut beside, mut hooked, mut failing) = (None, None, None);
        self.change(slot, now, |record| {
            let Some(record) = pick(record, side) else { return false };
            beside = (side == Side::Second).then_some(record.attempt.ordinal);
            let (before, revision) = (Before::of(record), record.revision);
            let (told, ended) = (Vec::new(), Vec::new());
            let mut folding =
                Folding { record, now, notes: told, settled: ended, hooked: None, quiet };
            verdict = fold(&mut folding);
            failing = before.turned(folding.record).map(|why| (revision, why));
            (notes, settled, hooked) = (folding.notes, folding.settled, folding.hooked);
            verdict == Verdict::Applied
        });
        if let Some(ordinal) = beside {
            notes = notes.into_iter().map(|n| NoteKind::Beside(ordinal, Box::new(n))).collect();
        }
        self.tell_all(slot, notes, settled);
        if let Some(point) = hooked {
            self.note_hook(slot, point);
        }
        if let Some((revision, why)) = failing {
            self.note_failing(slot, revision, why);
        }
        verdict
    }

    /// An update that a hook completed under has no way back any more (R138).
    fn note_hook(&mut self, slot: &LogicalNodeId, point: HookPoint) {
        let rollout = self.rollouts.get_mut(&slot.group);
        if let Some(rollout) = rollout.filter(|rollout| rollout.hooked.is_none()) {
            rollout.hooked = Some(Hooked { slot: slot.clone(), point });
            self.dirty_rollouts.insert(slot.group.clone());
        }
    }
}

/// The unknown outcome of an effect that was on its way; looked for at once.
pub(super) fn ambiguity(pending: &Pending, now: Timestamp) -> Ambiguity {
    Ambiguity {
        operation: pending.operation,
        step: pending.step,
        command: pending.command,
        since: now,
        first_miss: None,
        looks: 0,
        look_at: now,
    }
}
