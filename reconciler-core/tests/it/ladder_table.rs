//! The ladder over every combination of stage, wish, open effect, due time, hold and deletion.
//!
//! Named rows, each with its exact answer, stand in `ladder_rows`.

use reconciler_core::{
    desired::{ClusterShape, Policy},
    effect::CommandKind,
    fold::Transition,
    hold::{Hold, HoldCode},
    observed::{DeleteReason, Deletion, NodeRecord, Retry, StageName},
    reconcile::{ReconcilePlan, Rung},
    redact::Redacted,
    time::Timestamp,
};

use crate::fleet::{ambiguity, at, command_of, decide, in_stage, pending, shape_with, stage};

/// What is wanted of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Same,
    Other,
    None,
}

/// What is open about the last effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Pending,
    Overdue,
    Ambiguous,
    LookDue,
}

/// One combination.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    stage: StageName,
    wish: Wish,
    open: Open,
    retrying: bool,
    hold: Option<HoldCode>,
    deleting: bool,
    due: bool,
}

const OPEN: [Open; 5] =
    [Open::Nothing, Open::Pending, Open::Overdue, Open::Ambiguous, Open::LookDue];
const HOLDS: [Option<HoldCode>; 3] = [None, Some(HoldCode::CrashLoop), Some(HoldCode::NewerFence)];

pub(crate) fn rows() -> impl Iterator<Item = Row> {
    let flags = [false, true];
    StageName::ALL.into_iter().flat_map(move |stage| {
        [Wish::Same, Wish::Other, Wish::None].into_iter().flat_map(move |wish| {
            OPEN.into_iter().flat_map(move |open| {
                HOLDS.into_iter().flat_map(move |hold| {
                    (0..8).map(move |bits: usize| Row {
                        stage,
                        wish,
                        open,
                        hold,
                        retrying: flags[bits & 1],
                        deleting: flags[(bits >> 1) & 1],
                        due: flags[(bits >> 2) & 1],
                    })
                })
            })
        })
    })
}

impl Row {
    pub(crate) fn now(&self) -> Timestamp {
        if self.due { at(10_000) } else { at(200) }
    }

    pub(crate) fn shape(&self) -> ClusterShape {
        match self.wish {
            Wish::Same => shape_with(2, &[("web", 1, "v1")], &Policy::default()),
            Wish::Other => shape_with(2, &[("web", 1, "v2")], &Policy::default()),
            Wish::None => shape_with(2, &[("web", 0, "v1")], &Policy::default()),
        }
    }

    pub(crate) fn record(&self) -> NodeRecord {
        let born = shape_with(1, &[("web", 1, "v1")], &Policy::default());
        let mut record = in_stage(&born, "web-0", stage(self.stage));
        let kind = CommandKind::StartBootstrap;
        match self.open {
            Open::Nothing => {}
            Open::Pending => record.pending = Some(pending(kind, 1, at(20_000))),
            Open::Overdue => record.pending = Some(pending(kind, 1, at(100))),
            Open::Ambiguous => record.ambiguity = Some(ambiguity(kind, at(20_000))),
            Open::LookDue => record.ambiguity = Some(ambiguity(kind, at(100))),
        }
        let message = Redacted::new("it broke");
        record.retry = self.retrying.then_some(Retry { tries: 1, at: at(20_000), message });
        let text = Redacted::new("held");
        record.hold = self.hold.map(|code| Hold { code, text, since: at(0) });
        let deletion = Deletion { reason: DeleteReason::Undesired, since: at(0) };
        record.deletion = self.deleting.then_some(deletion);
        record
    }

    /// The record contradicts itself.
    fn is_nonsense(&self) -> bool {
        let open = self.open != Open::Nothing;
        let on_the_way = matches!(self.open, Open::Pending | Open::Overdue);
        (self.stage == StageName::LeaseRequested && !open)
            || (self.stage == StageName::Destroyed && (on_the_way || self.deleting))
    }

    fn check(&self, plan: &ReconcilePlan) {
        let steps = plan.per_node.len()
            + plan.transitions.len()
            + plan.to_start.len()
            + plan.to_destroy.len();
        assert!(steps <= 1, "one step at most (R46): {plan:?}");
        let acts = steps > 0;
        if self.hold == Some(HoldCode::NewerFence) {
            assert!(!acts, "a record that is not to be trusted is not touched (D11)");
            return;
        }
        if self.is_nonsense() {
            self.check_nonsense(plan);
            return;
        }
        if self.open != Open::Nothing {
            assert!(plan.per_node.is_empty(), "what is open is waited for (R45, D7)");
        }
        if self.deleting {
            self.check_deleting(plan);
        } else if self.wish != Wish::Same && self.stage != StageName::Destroyed {
            assert!(marks_deletion(plan), "what is not wanted so begins to go (R24, R29)");
        } else if self.hold.is_some() && self.stage != StageName::Failed {
            self.check_held(plan);
        }
        if self.retrying && !self.deleting {
            assert!(plan.per_node.is_empty(), "a retry waits for its time");
        }
        assert_eq!(plan.looks.len(), usize::from(self.looks()), "a look when it is due");
    }

    fn check_nonsense(&self, plan: &ReconcilePlan) {
        let held = matches!(
            plan.transitions.first(),
            Some((_, Transition::Hold(hold))) if hold.code == HoldCode::Unrecognised
        );
        assert!(held, "a record that makes no sense is held by itself (D13, C17): {self:?}");
    }

    /// A deletion is never cancelled: cancel, destroy, mark, whatever is wanted and held (R31, R44, D8).
    fn check_deleting(&self, plan: &ReconcilePlan) {
        assert!(!marks_deletion(plan), "a deletion begins once");
        for (_, command) in &plan.per_node {
            let kind = command_of(command.kind());
            assert!(matches!(kind, CommandKind::CancelBootstrap | CommandKind::DestroyLease));
        }
        let free = self.open == Open::Nothing && !self.retrying;
        let steps = plan.per_node.len() + plan.transitions.len();
        assert!(!free || steps == 1, "a hold or a wish does not delay a deletion");
    }

    /// A held slot waits, and only what is open is still followed.
    fn check_held(&self, plan: &ReconcilePlan) {
        assert!(plan.per_node.is_empty(), "a held slot takes no step (P6)");
        let restarts = matches!(plan.transitions.first(), Some((_, Transition::Restart(_))));
        assert!(!restarts || self.wish != Wish::Same, "another revision is a fresh start");
    }

    /// An unknown outcome whose look is due, unless the slot has something else to do first.
    fn looks(&self) -> bool {
        let first = self.stage == StageName::Destroyed
            || (!self.deleting && (self.wish != Wish::Same || self.stage == StageName::Failed));
        self.open == Open::LookDue && !first
    }
}

fn marks_deletion(plan: &ReconcilePlan) -> bool {
    let begins = |(_, t): &(_, Transition)| matches!(t, Transition::BeginDelete(_));
    !plan.to_destroy.is_empty() || plan.transitions.iter().any(begins)
}

/// R23 to R33, R35 to R46: whatever the combination, the ladder keeps its promises.
#[test]
fn the_ladder_keeps_its_promises_in_every_combination() {
    let mut n_rows = 0;
    for row in rows() {
        let plan = decide(&row.record(), &row.shape(), row.now());
        row.check(&plan);
        n_rows += 1;
    }
    assert_eq!(n_rows, 10 * 3 * 5 * 3 * 8);
}

/// P7: a slot that is not steady says why; a steady one is ready and says nothing.
#[test]
fn whoever_is_not_steady_says_why() {
    for row in rows() {
        let plan = decide(&row.record(), &row.shape(), row.now());
        let acts = !plan.is_empty();
        let steady = plan.reasons.is_empty();
        assert!(!(acts && steady), "{row:?}");
        if steady {
            assert_eq!(row.stage, StageName::Dormant, "{row:?}");
        }
        assert!(plan.reasons.iter().all(|(_, reason)| reason.rung != Rung::Steady));
        assert!(plan.reasons.iter().all(|(_, reason)| !reason.to_string().is_empty()));
    }
}
