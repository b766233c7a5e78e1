//! One machine: what is folded and what is decided are two readings of the same record (R8, R9, R15, R16, D1).

use std::sync::Arc;

use proptest::prelude::*;
use reconciler_core::{
    effect::{Action, EffectOutcome, EffectReport, FailureClass},
    fold::{Fact, Verdict},
    id::{AttemptId, LogicalNodeId, StepId},
    observed::{ClusterState, Side},
    reconcile::{ReconcilePlan, reconcile, reconcile_node},
    time::Millis,
};

use crate::{
    fleet::{RUN, T0, at, definite, pending, shape, slot},
    ladder_table::rows,
    laws_single::records,
    model::{Dice, NOW, agrees},
    world::{Fate, World},
};

/// The identity of one side of a slot.
fn attempt(state: &ClusterState, slot: &LogicalNodeId, side: Side) -> AttemptId {
    let record = state.record(slot).and_then(|record| record.side(side));
    record.expect("a step is for a record").attempt
}

/// Folds all that was decided; everything is legal.
fn folded(state: &mut ClusterState, mut plan: ReconcilePlan) -> Result<(), TestCaseError> {
    let steps = plan.per_node.drain(..).map(|(slot, step)| (slot, Side::Present, step));
    let beside = plan.per_second.drain(..).map(|(slot, step)| (slot, Side::Second, step));
    let steps: Vec<_> = steps.chain(beside).collect();
    for (slot, transition) in plan.take_transitions() {
        let told = format!("{slot}: {transition:?}");
        let verdict = state.fold(Fact::Decided { slot, transition }, at(NOW));
        prop_assert_eq!(verdict, Verdict::Applied, "{}", told);
    }
    for (slot, side, step) in steps {
        let attempt = attempt(state, &slot, side);
        let told = format!("{slot}: {step:?}");
        let pending = pending(step.kind(), 7, at(NOW + 1));
        let verdict = state.fold(Fact::Dispatched { slot, attempt, pending }, at(NOW));
        prop_assert_eq!(verdict, Verdict::Applied, "{}", told);
    }
    Ok(())
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        failure_persistence: None, max_shrink_iters: 0, ..Default::default()
    })]

    /// R15: whatever is decided of whatever record, the fold takes it: one machine, read in two ways.
    #[test]
    fn what_is_decided_is_always_legal(seed: u64) {
        let mut dice = Dice::new(seed);
        let shape = dice.shape();
        let mut state = dice.state(&shape);
        let plan = reconcile(&state, &shape, at(NOW));
        folded(&mut state, plan)?;
        let next = reconcile(&state, &shape, at(NOW));
        agrees(&state, &shape, at(NOW), &next);
    }

    /// R9: who carries effects out only reports, and what nobody asked for changes no record.
    #[test]
    fn a_report_of_a_step_that_nobody_took_changes_nothing(seed: u64) {
        let mut dice = Dice::new(seed);
        let shape = dice.shape();
        let mut state = dice.state(&shape);
        let before = records(&state);
        let results = [Ok(EffectOutcome::Released), Ok(EffectOutcome::Closed),
            Err(definite(FailureClass::Workload))];
        for record in &before {
            for (attempt, result) in record.attempts().zip(results.iter().cycle()) {
                let command = reconciler_core::effect::CommandKind::DestroyLease.into();
                let (step, slot) = (StepId::new(99), attempt.slot.clone());
                let (attempt, result) = (attempt.attempt, result.clone());
                let report = EffectReport { step, slot, attempt, command, result, look: None };
                let verdict = state.fold(Fact::Reported(report), at(NOW));
                prop_assert_eq!(verdict, Verdict::Stale);
            }
        }
        prop_assert_eq!(records(&state), before);
    }

    /// R16: nothing of a provider but its name is known here, and no decision asks for the name.
    #[test]
    fn a_provider_of_another_name_is_decided_the_same(seed: u64) {
        let decided = |provider: &str| {
            let mut dice = Dice::of_provider(seed, provider);
            let shape = dice.shape();
            let state = dice.state(&shape);
            let plan = reconcile(&state, &shape, at(NOW));
            (plan.reasons, plan.second_reasons, plan.looks, plan.requeue_at)
        };
        prop_assert_eq!(decided("docker"), decided("fake"));
    }
}

/// R8: who was given a record may change what it was given, and changes nothing of what is known.
#[test]
fn what_is_handed_out_is_no_way_in() {
    let mut world = World::new(shape(&[("web", 2)]), T0);
    assert!(world.settle().is_some());
    let (before, snapshot) = (records(&world.state), world.state.snapshot());
    let mut mine = Arc::clone(world.state.record(&slot("web-0")).expect("a record"));
    Arc::make_mut(&mut mine).pending =
        Some(pending(reconciler_core::effect::CommandKind::DestroyLease, 1, at(1)));
    assert_eq!(records(&world.state), before);
    // Nor does what is folded later change what was handed out before.
    world.reshape(shape(&[("web", 0)]));
    assert!(world.settle().is_some());
    assert!(world.state.is_empty());
    assert_eq!(records(&snapshot), before);
}

/// R15: a node asked by itself gives the step that the pass gives it.
#[test]
fn a_node_alone_and_in_a_pass_takes_the_same_step() {
    for row in rows() {
        let (record, shape, now) = (row.record(), row.shape(), row.now());
        let Some(spec) = shape.expand().pop().filter(|_| record.hold.is_none()) else { continue };
        let plan = crate::fleet::decide(&record, &shape, now);
        let Some((_, step)) = plan.per_node.first() else { continue };
        let alone: Option<Action> = reconcile_node(&record, &spec, RUN, now);
        assert_eq!(alone.as_ref(), Some(step), "{row:?}");
    }
}

/// D1, R44, R46: a node that goes does so one step a pass: the mark, the end of its workload, that of its lease, the
/// proof that nothing is left, and last its record.
#[test]
fn a_node_goes_one_step_a_pass() {
    let mut world = World::new(shape(&[("web", 1)]), T0);
    assert!(world.settle().is_some());
    world.reshape(shape(&[("web", 0)]));
    let mut steps = Vec::new();
    for _ in 0..8 {
        let plan = world.pass();
        let marks = plan.to_destroy.iter().map(|_| "mark".to_owned());
        let commands = plan.per_node.iter().map(|(_, step)| step.kind().as_str().to_owned());
        let moves = plan.transitions.iter().map(|(_, transition)| format!("{transition:?}"));
        let all: Vec<String> = marks.chain(commands).chain(moves).collect();
        assert!(all.len() <= 1, "{all:?}");
        steps.extend(all);
        world.deliver(0, Fate::Succeed);
        world.advance(Millis::from_secs(1));
    }
    assert_eq!(steps, ["mark", "CancelBootstrap", "DestroyLease", "MarkDestroyed", "Reap"]);
}
