//! The ladder over every combination of stage, open effect, hold, deletion, gate, power and kind.
//!
//! What is wanted of shape and count stands in `ladder_table`.

use reconciler_core::{
    desired::{ClusterShape, GateCondition, GroupKind, Policy, Power},
    effect::CommandKind,
    fold::Transition,
    hold::{Hold, HoldCode},
    observed::{DeleteReason, Deletion, NodeRecord, NodeStage, StageName},
    reconcile::{ReconcilePlan, Rung, reconcile},
    redact::Redacted,
};

use crate::fleet::{
    ambiguity, at, command_of, gated, in_stage, pending, powered, slot, stage, state,
};

/// What is asked of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    On,
    Off,
    Anew,
}

/// One combination.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one for each axis of the table")]
struct Row {
    stage: StageName,
    /// The open effect, and whether its outcome is unknown.
    open: Option<(CommandKind, bool)>,
    held: bool,
    deleting: bool,
    gate_open: bool,
    asked: Asked,
    kind: GroupKind,
    completed: bool,
}

const OPEN: [Option<(CommandKind, bool)>; 5] = [
    None,
    Some((CommandKind::StartBootstrap, false)),
    Some((CommandKind::StartBootstrap, true)),
    Some((CommandKind::CancelBootstrap, false)),
    Some((CommandKind::CancelBootstrap, true)),
];

fn rows() -> impl Iterator<Item = Row> {
    StageName::ALL.into_iter().flat_map(|stage| {
        OPEN.into_iter().flat_map(move |open| {
            [Asked::On, Asked::Off, Asked::Anew].into_iter().flat_map(move |asked| {
                (0..32_u32).map(move |bits| {
                    let bit = |n: u32| bits >> n & 1 == 1;
                    let kind = if bit(3) { GroupKind::Job } else { GroupKind::Service };
                    let completed = bit(4) && stage == StageName::Dormant;
                    let (held, deleting, gate_open) = (bit(0), bit(1), bit(2));
                    Row { stage, open, held, deleting, gate_open, asked, kind, completed }
                })
            })
        })
    })
}

impl Row {
    fn shape(&self) -> ClusterShape {
        let db = u32::from(!self.gate_open);
        let after = [("db", GateCondition::Ready)];
        let groups = [("db", db, GroupKind::Service, &[][..]), ("web", 1, self.kind, &after[..])];
        let shape = gated(1, "v1", &groups).expect("a shape");
        match self.asked {
            Asked::On => shape,
            Asked::Off => powered(&shape, "web", |power| power.switched(true)),
            Asked::Anew => powered(&shape, "web", Power::anew),
        }
    }

    fn record(&self) -> NodeRecord {
        let mut record = in_stage(&self.shape(), "web-0", stage(self.stage));
        record.round = 0;
        if let NodeStage::Dormant { completed, .. } = &mut record.stage {
            *completed = self.completed.then_some(at(0));
        }
        match self.open {
            Some((kind, true)) => record.ambiguity = Some(ambiguity(kind, at(20_000))),
            Some((kind, false)) => record.pending = Some(pending(kind, 1, at(20_000))),
            None => {}
        }
        let text = Redacted::new("held");
        record.hold = self.held.then_some(Hold { code: HoldCode::CrashLoop, text, since: at(0) });
        let deletion = Deletion { reason: DeleteReason::Undesired, since: at(0) };
        record.deletion = self.deleting.then_some(deletion);
        record
    }

    /// True if the record has nothing to do first.
    fn is_free(&self) -> bool {
        let gone = [StageName::Failed, StageName::Destroyed, StageName::LeaseRequested];
        let stands = !gone.contains(&self.stage) && !self.held && !self.deleting;
        stands && self.open.is_none() && !self.runs_again()
    }

    /// True for what has to end as an attempt before it can run again.
    fn runs_again(&self) -> bool {
        match self.kind {
            GroupKind::Service => self.completed,
            GroupKind::Job => {
                let ran = self.completed || self.record().may_run() || self.held;
                self.asked == Asked::Anew && ran
            }
        }
    }

    fn check(&self, plan: &ReconcilePlan) {
        let of_web = |s: &reconciler_core::id::LogicalNodeId| *s == slot("web-0");
        let commands: Vec<_> = plan
            .per_node
            .iter()
            .filter(|(s, _)| of_web(s))
            .map(|(_, c)| command_of(c.kind()))
            .collect();
        let moves: Vec<_> =
            plan.transitions.iter().filter(|(s, _)| of_web(s)).map(|(_, t)| t).collect();
        assert!(commands.len() + moves.len() <= 1, "one step at most (R46)");
        let begins = |kind| [CommandKind::CreateLease, CommandKind::StartBootstrap].contains(kind);
        if commands.iter().any(begins) {
            assert!(self.gate_open, "a closed gate lets nothing begin (R167)");
            assert!(self.asked != Asked::Off, "what is off begins nothing");
        }
        if self.open.is_some() {
            assert!(commands.is_empty(), "what is open is waited for (D7)");
        }
        if self.deleting {
            assert!(!moves.iter().any(|t| matches!(t, Transition::Retune(_))), "it only goes (D8)");
            return;
        }
        if self.is_free() {
            self.check_free(plan, &commands, &moves);
        }
    }

    fn check_free(&self, plan: &ReconcilePlan, commands: &[CommandKind], moves: &[&Transition]) {
        let reason = plan.reasons.iter().find(|(s, _)| *s == slot("web-0")).map(|(_, r)| &r.rung);
        let runs = self.record().stage.has_workload();
        let retuned = matches!(moves, [Transition::Retune(_)]);
        match self.asked {
            Asked::Anew if runs && !self.gate_open => {
                assert!(matches!(reason, Some(Rung::Gate(_))), "what could not start is not ended");
            }
            Asked::Off | Asked::Anew if runs => {
                assert_eq!(commands, [CommandKind::CancelBootstrap]);
            }
            Asked::Off if self.completed => assert!(reason.is_none(), "what is done is steady"),
            Asked::Off => assert_eq!(reason, Some(&Rung::Off)),
            Asked::Anew => assert!(retuned, "what does not run is of the present round at once"),
            Asked::On if self.stage == StageName::Dormant => assert!(reason.is_none()),
            Asked::On => {}
        }
        let waits = [StageName::New, StageName::EndpointKnown].contains(&self.stage);
        if waits && self.asked == Asked::On && !self.gate_open {
            assert!(matches!(reason, Some(Rung::Gate(_))), "it says whom it waits for (P7)");
        }
    }
}

/// R46, R167, D7, D8 in every combination of gate, power and kind with what else a record may be.
#[test]
fn gates_power_and_kinds_keep_the_promises_of_the_ladder() {
    let mut n_rows = 0;
    for row in rows() {
        let shape = row.shape();
        let plan = reconcile(&state([row.record()]), &shape, at(200));
        row.check(&plan);
        assert!(plan.is_empty() || !plan.reasons.is_empty(), "whoever acts says why (P7)");
        n_rows += 1;
    }
    assert_eq!(n_rows, 10 * 5 * 3 * 32);
    // The defaults leave everything as it was before there were gates, power and jobs.
    let plain = Policy::default();
    assert!(plain.after.is_empty() && plain.kind == GroupKind::Service);
}
