//! The model against a plan: every reason is the same, and the lists of the plan are just what the reasons say.

use std::collections::BTreeSet;

use reconciler_core::{
    desired::ClusterShape,
    fold::Transition,
    id::{GroupId, LogicalNodeId},
    observed::{ClusterState, DeleteReason, NodeRecord},
    reconcile::{Parking, Reason, ReconcilePlan, Rung},
    time::Timestamp,
};

use super::{
    group::{Sight, records},
    node::{Answer, act},
};

type Said = Vec<(LogicalNodeId, Answer)>;

/// What the model says of a whole state: of every present attempt, and of every second one.
fn says(state: &ClusterState, shape: &ClusterShape, now: Timestamp) -> (Said, Said) {
    let (mut present, mut beside) = (Said::new(), Said::new());
    let declared = shape.groups().map(|spec| &spec.group);
    let names: BTreeSet<&GroupId> = declared.chain(state.groups().map(|(name, _)| name)).collect();
    for name in names {
        let mut sight = Sight::of(state, shape, name, now);
        let known: Vec<&NodeRecord> = records(state, name).collect();
        let indices: BTreeSet<u32> =
            (0..sight.wanted()).chain(known.iter().map(|record| record.slot.index)).collect();
        for index in indices {
            let slot = LogicalNodeId::new(name.clone(), index);
            let Some(record) = known.iter().find(|record| record.slot.index == index) else {
                present.push((slot, act(Rung::Insert)));
                continue;
            };
            let other = record.second.as_deref().map(|other| sight.beside_it(record, other));
            if let Some(takes_over) = other.clone().filter(|a| a.why.rung == Rung::Promote) {
                present.push((slot, takes_over));
                continue;
            }
            present.push((slot.clone(), sight.present(record)));
            beside.extend(other.map(|answer| (slot, answer)));
        }
    }
    let steady = |(_, answer): &(LogicalNodeId, Answer)| answer.why.rung != Rung::Steady;
    (present.into_iter().filter(steady).collect(), beside.into_iter().filter(steady).collect())
}

/// Asserts that the model decides as `plan` does.
pub(crate) fn agrees(
    state: &ClusterState,
    shape: &ClusterShape,
    now: Timestamp,
    plan: &ReconcilePlan,
) {
    let (present, beside) = says(state, shape, now);
    let why = |said: &Said| -> Vec<(LogicalNodeId, Reason)> {
        said.iter().map(|(slot, answer)| (slot.clone(), answer.why.clone())).collect()
    };
    same(&plan.reasons, &why(&present), state);
    same(&plan.second_reasons, &why(&beside), state);
    let slots = |said: &Said, holds: &dyn Fn(&Answer) -> bool| -> Vec<LogicalNodeId> {
        said.iter().filter(|(_, a)| holds(a)).map(|(slot, _)| slot.clone()).collect()
    };
    let is = |rung: Rung| move |answer: &Answer| answer.acts && answer.why.rung == rung;
    let starts: Vec<_> = plan.to_start.iter().map(|start| start.slot.clone()).collect();
    assert_eq!(starts, slots(&present, &is(Rung::Insert)));
    let undesired = Rung::BeginDelete(DeleteReason::Undesired);
    assert_eq!(plan.to_destroy, slots(&present, &is(undesired)));
    for (steps, said) in [(&plan.per_node, &present), (&plan.per_second, &beside)] {
        let is_step = |answer: &Answer| matches!(answer.why.rung, Rung::Step(_));
        let found: Vec<_> =
            steps.iter().map(|(slot, step)| (slot.clone(), Rung::Step(step.kind()))).collect();
        let steps = said.iter().filter(|(_, answer)| is_step(answer));
        let steps: Vec<_> = steps.map(|(slot, a)| (slot.clone(), a.why.rung.clone())).collect();
        assert_eq!(found, steps, "a step for each that is said to take one (R17, R46)");
    }
    moves(plan, &present, &beside);
    waits(plan, &present, &beside, now);
}

type Reasons = [(LogicalNodeId, Reason)];

/// Asserts that both say the same, and names the first slot where they do not.
fn same(decided: &Reasons, said: &Reasons, state: &ClusterState) {
    let slots: BTreeSet<_> = decided.iter().chain(said).map(|(slot, _)| slot).collect();
    for slot in slots {
        let of = |all: &Reasons| all.iter().find(|(s, _)| s == slot).map(|(_, why)| why.clone());
        let record = || state.record(slot);
        assert_eq!(of(decided), of(said), "decided and said of {slot}: {:#?}", record());
    }
    assert_eq!(decided, said, "in the order of the slots (R34)");
}

/// The changes of records, each with the rung that it stands on.
fn moves(plan: &ReconcilePlan, present: &Said, beside: &Said) {
    let undesired = Rung::BeginDelete(DeleteReason::Undesired);
    let elsewhere =
        |rung: &Rung| matches!(rung, Rung::Step(_) | Rung::Insert) || *rung == undesired;
    let of = |said: &Said, second: bool| -> Vec<(LogicalNodeId, bool, &'static str)> {
        let moves = said.iter().filter(|(_, answer)| answer.acts);
        let moves = moves.filter(|(_, answer)| {
            let rung = &answer.why.rung;
            !matches!(rung, Rung::Step(_)) && (second || !elsewhere(rung))
        });
        moves.map(|(slot, answer)| (slot.clone(), second, answer.why.rung.name())).collect()
    };
    let mut said = of(present, false);
    said.extend(of(beside, true));
    let decided = plan.transitions.iter().map(|(slot, transition)| {
        if let Transition::Beside(inner) = transition {
            (slot.clone(), true, word(inner))
        } else {
            (slot.clone(), false, word(transition))
        }
    });
    let mut decided: Vec<_> = decided.collect();
    decided.sort();
    said.sort();
    assert_eq!(decided, said, "a change for each that is said to change (R17, R46)");
}

/// The name of the rung that a change stands on.
fn word(transition: &Transition) -> &'static str {
    match transition {
        Transition::Insert(_) => "insert",
        Transition::BeginDelete(_) => "begin-delete",
        Transition::MarkDestroyed => "mark-destroyed",
        Transition::Restart(_) => "restart",
        Transition::Settle => "settle",
        Transition::Rest => "rest",
        Transition::Expire => "expire",
        Transition::TimeOut => "time-out",
        Transition::GiveUp(_) => "give-up",
        Transition::Retune(_) => "retune",
        Transition::Hold(_) => "held",
        Transition::Reap => "reap",
        Transition::Candidate(_) => "candidate",
        Transition::Promote => "promote",
        Transition::Beside(_) => "beside",
    }
}

/// What is due when, whom to look at, and who waits for something outside its record (R17).
fn waits(plan: &ReconcilePlan, present: &Said, beside: &Said, now: Timestamp) {
    let ahead = |(_, answer): &(LogicalNodeId, Answer)| answer.why.until.filter(|at| now < *at);
    let due = present.iter().chain(beside).filter_map(ahead).min();
    assert_eq!(plan.requeue_at, due, "the earliest of what falls due by itself (R61)");
    let looks = |said: &Said| -> Vec<LogicalNodeId> {
        let due = |answer: &Answer| {
            let Reason { rung, until } = &answer.why;
            let unknown = matches!(rung, Rung::Ambiguous(_)) && until.is_some_and(|at| at <= now);
            unknown || (*rung == Rung::Verifying && until.is_none())
        };
        said.iter().filter(|(_, answer)| due(answer)).map(|(slot, _)| slot.clone()).collect()
    };
    assert_eq!(plan.looks, looks(present));
    assert_eq!(plan.second_looks, looks(beside));
    let all = || present.iter().chain(beside);
    let outside =
        |answer: &Answer| matches!(answer.why.rung, Rung::Overshoot { .. } | Rung::ProviderPaused);
    let mut waiting: Vec<_> =
        all().filter(|(_, a)| outside(a)).map(|(slot, _)| slot.clone()).collect();
    waiting.sort();
    let mut found = plan.waiting.clone();
    found.sort();
    assert_eq!(found, waiting, "who waits for room or for a provider is asked again");
    let parkings =
        [("gate", Parking::Gate), ("dependents", Parking::Dependents), ("turn", Parking::Turn)];
    let parking = |answer: &Answer| {
        let name = answer.why.rung.name();
        parkings.into_iter().find(|(rung, _)| *rung == name).map(|(_, parking)| parking)
    };
    let parked = all().filter_map(|(slot, answer)| Some((slot.clone(), parking(answer)?)));
    let mut parked: Vec<_> = parked.collect();
    parked.sort();
    let mut found = plan.parked.clone();
    found.sort();
    assert_eq!(found, parked, "who waits for others is parked");
}
