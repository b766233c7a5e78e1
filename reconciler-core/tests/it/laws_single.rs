//! The laws of one decision and of one state, asked in every pass of every trace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reconciler_core::{
    desired::ClusterShape,
    effect::CommandKind,
    fold::Transition,
    hold::Hold,
    id::{GroupId, LogicalNodeId, Uuid},
    observed::{ClusterState, GroupState, NodeRecord, Side, StageName, next_due},
    reconcile::{ReconcilePlan, outlook, reconcile, reconcile_some, standing},
    time::Timestamp,
};

use crate::model::agrees;

/// Every record of a state.
pub(crate) fn records(state: &ClusterState) -> Vec<Arc<NodeRecord>> {
    state.groups().flat_map(|(_, group)| group.records().cloned()).collect()
}

/// Decides in full and for `slots` alone, and checks every law of one decision.
pub(crate) fn decide(
    state: &ClusterState,
    shape: &ClusterShape,
    now: Timestamp,
    slots: &BTreeSet<LogicalNodeId>,
) -> ReconcilePlan {
    let before = records(state);
    let full = reconcile(state, shape, now);
    assert_eq!(reconcile(state, shape, now), full, "the same question has the same answer (R2)");
    agrees(state, shape, now, &full);
    let mut all: BTreeSet<LogicalNodeId> = before.iter().map(|r| r.slot.clone()).collect();
    all.extend(shape.expand().into_iter().map(|spec| spec.slot));
    assert_eq!(reconcile_some(state, shape, now, &all), full, "all of some is everything");
    let mut by_group: BTreeMap<&GroupId, BTreeSet<LogicalNodeId>> = BTreeMap::new();
    for slot in &all {
        by_group.entry(&slot.group).or_default().insert(slot.clone());
    }
    let alone = by_group.values().map(|slots| reconcile_some(state, shape, now, slots));
    assert_eq!(merged(alone), full, "each group by itself is decided the same (R13)");
    let some = reconcile_some(state, shape, now, slots);
    assert_eq!(acts(&some), acts(&full), "who was not asked had nothing to say (R5)");
    assert_eq!(records(state), before, "a decision changes nothing (R3)");
    one_step_each(&full);
    room(state, shape, &full);
    let lacks = !outlook(state, shape, &full, now).outstanding.is_empty();
    let stands = standing(state, shape);
    assert_eq!(lacks, !stands.converged, "what is not there is named (P7)");
    assert!(stands.ready <= stands.want, "never more are ready than are wanted: {stands:?}");
    some
}

/// The plans of single groups as one, in the order of the groups.
fn merged(plans: impl Iterator<Item = ReconcilePlan>) -> ReconcilePlan {
    plans.fold(ReconcilePlan::default(), |mut all, one| {
        let ReconcilePlan { requeue_at, .. } = one;
        all.to_start.extend(one.to_start);
        all.to_destroy.extend(one.to_destroy);
        all.per_node.extend(one.per_node);
        all.per_second.extend(one.per_second);
        all.transitions.extend(one.transitions);
        all.looks.extend(one.looks);
        all.second_looks.extend(one.second_looks);
        all.reasons.extend(one.reasons);
        all.second_reasons.extend(one.second_reasons);
        all.rollouts.extend(one.rollouts);
        all.waiting.extend(one.waiting);
        all.parked.extend(one.parked);
        all.requeue_at = all.requeue_at.into_iter().chain(requeue_at).min();
        all
    })
}

/// The part of a plan that makes something happen.
fn acts(plan: &ReconcilePlan) -> ReconcilePlan {
    let (requeue_at, reasons, second_reasons) = (None, Vec::new(), Vec::new());
    let (waiting, parked) = (Vec::new(), Vec::new());
    ReconcilePlan { requeue_at, reasons, second_reasons, waiting, parked, ..plan.clone() }
}

/// An attempt gets a command or a transition, and one of them at most, in the order of the slots (D1, R34, R46).
fn one_step_each(plan: &ReconcilePlan) {
    let beside = |(_, t): &&(LogicalNodeId, Transition)| matches!(t, Transition::Beside(_));
    let moves = plan.transitions.iter().filter(beside).map(|(slot, _)| slot);
    let commands = plan.per_second.iter().map(|(slot, _)| slot);
    assert!(moves.clone().is_sorted() && commands.clone().is_sorted());
    let mut seen = BTreeSet::new();
    assert!(moves.chain(commands).all(|slot| seen.insert(slot)), "one step per attempt and pass");
    let promoted = |(_, t): &&(LogicalNodeId, Transition)| matches!(t, Transition::Promote);
    let promoted: Vec<_> = plan.transitions.iter().filter(promoted).map(|(slot, _)| slot).collect();
    assert!(!promoted.iter().any(|slot| seen.contains(slot)), "a promotion is all of its slot");
    present_steps(plan);
}

fn present_steps(plan: &ReconcilePlan) {
    let starts: Vec<_> = plan.to_start.iter().map(|spec| &spec.slot).collect();
    let goes: Vec<_> = plan.to_destroy.iter().collect();
    let commands: Vec<_> = plan.per_node.iter().map(|(slot, _)| slot).collect();
    let present = |(_, t): &&(LogicalNodeId, Transition)| !matches!(t, Transition::Beside(_));
    let moves: Vec<_> = plan.transitions.iter().filter(present).map(|(slot, _)| slot).collect();
    let lists = [starts, goes, commands, moves];
    assert!(lists.iter().all(|list| list.is_sorted()), "a plan is in the order of its slots");
    let mut seen = BTreeSet::new();
    assert!(lists.iter().flatten().all(|slot| seen.insert(*slot)), "one step per slot and pass");
}

/// A lease is asked for only by a record without one, and only while there is room (R35, D10).
fn room(state: &ClusterState, shape: &ClusterShape, plan: &ReconcilePlan) {
    let mut creates: BTreeMap<&GroupId, u32> = BTreeMap::new();
    let present = plan.per_node.iter().map(|(slot, command)| (slot, Side::Present, command));
    let second = plan.per_second.iter().map(|(slot, command)| (slot, Side::Second, command));
    for (slot, side, command) in present.chain(second) {
        if command.kind() == CommandKind::CreateLease {
            let record = state.record(slot).and_then(|record| record.side(side));
            let record = record.expect("a command is for a record");
            assert!(record.stage.lease().is_none() && record.hold.is_none());
            *creates.entry(&slot.group).or_default() += 1;
        }
    }
    for (name, creates) in creates {
        let group = state.group(name).expect("a group with commands");
        let orphans = u32::try_from(group.orphans().count()).expect("few orphans");
        let most = shape.group(name).map_or(0, |g| g.count + g.policy.update.surge(g.count));
        assert!(group.owning() + orphans + creates <= most, "never beyond count and surge (D10)");
    }
}

/// An attempt that begins has an identity that none had before, also where its slot was reaped meanwhile (D2).
pub(crate) fn new_identity(used: &mut BTreeSet<Uuid>, transition: &Transition) {
    match transition {
        Transition::Insert(spec) | Transition::Restart(spec) | Transition::Candidate(spec) => {
            assert!(used.insert(spec.attempt.uuid), "{} #{:?} again", spec.slot, spec.attempt);
        }
        Transition::Beside(transition) => new_identity(used, transition),
        Transition::BeginDelete(_)
        | Transition::MarkDestroyed
        | Transition::Settle
        | Transition::Rest
        | Transition::Expire
        | Transition::TimeOut
        | Transition::GiveUp(_)
        | Transition::Retune(_)
        | Transition::Hold(_)
        | Transition::Reap
        | Transition::Promote => {}
    }
}

/// The counts and the due index agree with the records.
pub(crate) fn consistent(state: &ClusterState, now: Timestamp) {
    for (_, group) in state.groups() {
        counts_agree(group);
    }
    let due = records(state).iter().filter_map(|record| next_due(record, now)).min();
    let soonest = state.next_due();
    assert!(due.is_none_or(|due| soonest.is_some_and(|at| at <= due)), "{soonest:?} for {due:?}");
}

pub(crate) fn counts_agree(group: &GroupState) {
    let count = |holds: &dyn Fn(&NodeRecord) -> bool| {
        u32::try_from(group.records().filter(|r| holds(r)).count()).expect("a small group")
    };
    assert_eq!(group.len(), group.records().count());
    assert_eq!(group.ready(), count(&|r| r.is_ready()));
    let either = |holds: &dyn Fn(&NodeRecord) -> bool| count(&|r| r.attempts().any(holds));
    assert_eq!(group.held(), either(&|r| r.hold.is_some()));
    assert_eq!(group.deleting(), either(&|r| r.deletion.is_some()));
    assert_eq!(group.busy(), either(&|r| r.pending.is_some() || r.ambiguity.is_some()));
    assert_eq!(group.failing(), either(&|r| r.backoff.failures > 0));
    let beside = count(&|r| r.side(Side::Second).is_some_and(NodeRecord::may_own));
    assert_eq!(group.owning_seconds(), beside);
    assert_eq!(group.owning(), count(&|r| r.may_own()) + beside);
    assert_eq!(group.seconds(), count(&|r| r.second.is_some()));
    for record in group.records() {
        let of = |r: &NodeRecord| r.revision == record.revision;
        assert_eq!(group.at_revision(record.revision), count(&of));
        let ready = count(&|r| of(r) && r.is_ready());
        assert_eq!(group.ready_at(record.revision), ready);
        let left = count(&|r| !of(r) && !r.is_destroyed());
        assert_eq!(group.outdated(record.revision), (count(&|r| !of(r)), left));
    }
    for record in group.records().flat_map(|record| record.attempts()) {
        let own = |r: &&NodeRecord| r.revision == record.revision && r.is_stuck();
        let stuck = group.records().flat_map(|r| r.attempts()).filter(own).count();
        assert_eq!(group.stuck(record.revision) as usize, stuck);
    }
    assert_eq!(group.started(), count(&|r| r.is_started()));
    assert_eq!(group.completed(), count(&|r| r.is_completed()));
    for stage in StageName::ALL {
        assert_eq!(group.in_stage(stage), count(&|r| r.stage.name() == stage));
    }
}

/// The state as another driver reads it from the journal: equal records, holds and decisions.
pub(crate) fn journaled(state: &ClusterState, now: Timestamp) -> ClusterState {
    let written = serde_json::to_string(&records(state)).expect("records are written");
    let read: Vec<NodeRecord> = serde_json::from_str(&written).expect("records are read");
    let holds: Vec<(GroupId, Hold)> = state
        .groups()
        .filter_map(|(name, group)| Some((name.clone(), group.hold()?.clone())))
        .collect();
    let rollouts: Vec<_> =
        state.rollouts().map(|(name, rollout)| (name.clone(), rollout.clone())).collect();
    let restored = ClusterState::restore(read, holds, now).with_rollouts(rollouts, now);
    for (one, other) in records(state).iter().zip(records(&restored)) {
        let due = |record: &NodeRecord| next_due(record, now);
        assert_eq!(due(one), due(&other), "a restart moves no due time (C6)");
        let one = serde_json::to_value(one.as_ref()).expect("a record is written");
        assert_eq!(serde_json::to_value(other.as_ref()).expect("a record is written"), one);
    }
    assert_eq!(state.len(), restored.len());
    restored
}

/// Two states of one run decide the same.
pub(crate) fn decide_the_same(
    one: &ClusterState,
    other: &ClusterState,
    shape: &ClusterShape,
    now: Timestamp,
) {
    assert_eq!(reconcile(one, shape, now), reconcile(other, shape, now));
}
