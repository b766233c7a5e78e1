//! One pass over the slots: topology diff, ladder, and the plan that comes of it.

use alloc::{boxed::Box, collections::BTreeSet, sync::Arc, vec::Vec};
use core::cmp::Ordering;

use super::{
    budget::Budget,
    decision::{self, Decision, GroupContext},
    ladder,
    parked::Parking,
    power,
    reason::{self, Reason, Rung},
    rollout::{self, RolloutChange},
    second,
};
use crate::{
    desired::{ClusterShape, LogicalNodeSpec, RunNodeGroupSpec},
    effect::Action,
    fold::Transition,
    id::{AttemptOrdinal, Generation, GroupId, LogicalNodeId, Uuid},
    observed::{ClusterState, DeleteReason, Fleet, Freeze, GroupState, NodeRecord, Side},
    time::Timestamp,
};

/// A wanted slot that gets its first record.
///
/// Its attempt is derived when the record is made, so that deciding costs no digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The slot.
    pub slot: LogicalNodeId,
    /// What its group is.
    pub group: Arc<RunNodeGroupSpec>,
    /// The run that it belongs to.
    pub run: Uuid,
    /// The generation in which it is wanted.
    pub born: Generation,
}

impl Start {
    /// The slot's first attempt and what it is to implement.
    pub fn stamp(self) -> LogicalNodeSpec {
        self.group.stamp(self.run, self.slot, self.born, AttemptOrdinal::new(1))
    }
}

/// What a pass decided. In one pass an attempt gets a command or a transition, never both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a plan does nothing until it is journaled and carried out"]
pub struct ReconcilePlan {
    /// Wanted slots without a record: each gets one.
    pub to_start: Vec<Start>,
    /// Known slots that are no longer wanted: each begins to go.
    pub to_destroy: Vec<LogicalNodeId>,
    /// The next command or hook of each slot that has one.
    pub per_node: Vec<(LogicalNodeId, Action)>,
    /// The next command or hook of each second attempt that has one.
    pub per_second: Vec<(LogicalNodeId, Action)>,
    /// Other changes of records.
    pub transitions: Vec<(LogicalNodeId, Transition)>,
    /// Slots whose unknown outcome is due for a look.
    pub looks: Vec<LogicalNodeId>,
    /// Slots whose second attempt is to be looked at: its outcome is unknown, or it is about to take over.
    pub second_looks: Vec<LogicalNodeId>,
    /// When the next of the decided slots falls due by itself.
    pub requeue_at: Option<Timestamp>,
    /// Why, for every slot that is not steady.
    pub reasons: Vec<(LogicalNodeId, Reason)>,
    /// Why, for every second attempt.
    pub second_reasons: Vec<(LogicalNodeId, Reason)>,
    /// What becomes of the updates of the groups at hand.
    pub rollouts: Vec<(GroupId, RolloutChange)>,
    /// Slots that wait for something outside their own record; they are to be asked again in every pass.
    pub waiting: Vec<LogicalNodeId>,
    /// Slots that wait for what other slots come to; see [`Parked`](super::Parked).
    pub parked: Vec<(LogicalNodeId, Parking)>,
}

impl ReconcilePlan {
    /// True if nothing happens.
    pub fn is_empty(&self) -> bool {
        self.to_start.is_empty()
            && self.to_destroy.is_empty()
            && self.per_node.is_empty()
            && self.per_second.is_empty()
            && self.transitions.is_empty()
    }

    /// Every change of a record that was decided, in the order of the lists.
    pub fn take_transitions(
        &mut self,
    ) -> impl Iterator<Item = (LogicalNodeId, Transition)> + use<> {
        let starts = core::mem::take(&mut self.to_start).into_iter();
        let starts = starts.map(|s| (s.slot.clone(), Transition::Insert(Box::new(s.stamp()))));
        let going = core::mem::take(&mut self.to_destroy).into_iter();
        let going = going.map(|slot| (slot, Transition::BeginDelete(DeleteReason::Undesired)));
        starts.chain(going).chain(core::mem::take(&mut self.transitions))
    }

    /// Keeps at most `free` commands, in the order of the slots; the others wait for a place (R98).
    pub fn admit(&mut self, free: usize) {
        let mut taken = 0..free;
        self.admit_where(|_, _| taken.next().is_some());
    }

    /// Keeps the commands that `may` go out; the others wait for a place (R98).
    ///
    /// Asked in the order of the slots: first for every present attempt, then for every second one.
    pub fn admit_where(&mut self, mut may: impl FnMut(&LogicalNodeId, Side) -> bool) {
        let all = core::mem::take(&mut self.per_node).into_iter();
        let (kept, late): (Vec<_>, Vec<_>) = all.partition(|(slot, _)| may(slot, Side::Present));
        self.per_node = kept;
        wait_for_place(&mut self.reasons, &late);
        let all = core::mem::take(&mut self.per_second).into_iter();
        let (kept, more): (Vec<_>, Vec<_>) = all.partition(|(slot, _)| may(slot, Side::Second));
        self.per_second = kept;
        wait_for_place(&mut self.second_reasons, &more);
        self.waiting.extend(late.into_iter().chain(more).map(|(slot, _)| slot));
    }

    /// Decides both attempts of a slot; where the second takes over, that is all that happens to the slot.
    fn decide(
        &mut self,
        name: &GroupId,
        index: u32,
        record: Option<&NodeRecord>,
        group: &mut GroupContext<'_>,
        now: Timestamp,
    ) {
        let shape = group.shape;
        let slot = || LogicalNodeId::new(name.clone(), index);
        let beside = record.and_then(|record| {
            let second = record.second.as_deref()?;
            Some(second::decide(record, second, group, now))
        });
        if let Some(promotion @ Decision::Move(Transition::Promote)) = beside {
            return self.add(slot(), promotion, shape, now);
        }
        let decision = ladder::decide(index, record, group, now);
        if let Some(beside) = beside {
            self.add_second(&slot(), beside, now);
        }
        if !matches!(decision, Decision::Steady) {
            self.add(slot(), decision, shape, now);
        }
    }

    fn add_rollout(
        &mut self,
        observed: &ClusterState,
        desired: &ClusterShape,
        group: &GroupId,
        now: Timestamp,
    ) {
        let (known, wanted) = (observed.rollout(group), desired.group(group).map(Arc::as_ref));
        let state = observed.group(group).map(Arc::as_ref);
        if let Some(change) = rollout::decide(known, state, wanted, now) {
            self.rollouts.push((group.clone(), change));
        }
    }

    fn requeue(&mut self, until: Option<Timestamp>, now: Timestamp) {
        if let Some(until) = until.filter(|until| *until > now) {
            self.requeue_at = Some(self.requeue_at.map_or(until, |at| at.min(until)));
        }
    }

    fn add_second(&mut self, slot: &LogicalNodeId, decision: Decision, now: Timestamp) {
        let Some(reason) = decision::reason(&decision) else { return };
        self.requeue(reason.until, now);
        match decision {
            Decision::Steady | Decision::Start(_) => {}
            Decision::Wait(Reason { rung, until }) => {
                let wants_look = matches!(rung, Rung::Ambiguous(_) | Rung::Verifying);
                if wants_look && until.is_none_or(|at| at <= now) {
                    self.second_looks.push(slot.clone());
                }
                if matches!(rung, Rung::Overshoot { .. } | Rung::ProviderPaused) {
                    self.waiting.push(slot.clone());
                }
                if let Some(parking) = Parking::of(&rung) {
                    self.parked.push((slot.clone(), parking));
                }
            }
            Decision::Command(command) => self.per_second.push((slot.clone(), command.into())),
            Decision::Hook(hook) => self.per_second.push((slot.clone(), Action::Hook(hook))),
            Decision::Move(transition) => {
                let transition = Transition::Beside(Box::new(transition));
                self.transitions.push((slot.clone(), transition));
            }
        }
        self.second_reasons.push((slot.clone(), reason));
    }

    fn add(
        &mut self,
        slot: LogicalNodeId,
        decision: Decision,
        shape: &ClusterShape,
        now: Timestamp,
    ) {
        let rung = match decision {
            Decision::Steady => return,
            Decision::Wait(reason) => return self.add_wait(slot, reason, now),
            Decision::Start(group) => {
                let (run, born) = (shape.uuid, shape.generation);
                self.to_start.push(Start { slot: slot.clone(), group, run, born });
                Rung::Insert
            }
            Decision::Command(command) => self.add_step(&slot, command.into()),
            Decision::Hook(hook) => self.add_step(&slot, Action::Hook(hook)),
            Decision::Move(Transition::BeginDelete(DeleteReason::Undesired)) => {
                self.to_destroy.push(slot.clone());
                Rung::BeginDelete(DeleteReason::Undesired)
            }
            Decision::Move(transition) => {
                let rung = reason::rung_of(&transition);
                self.transitions.push((slot.clone(), transition));
                rung
            }
        };
        self.reasons.push((slot, Reason { rung, until: None }));
    }

    fn add_step(&mut self, slot: &LogicalNodeId, action: Action) -> Rung {
        let kind = action.kind();
        self.per_node.push((slot.clone(), action));
        Rung::Step(kind)
    }

    fn add_wait(&mut self, slot: LogicalNodeId, reason: Reason, now: Timestamp) {
        let Reason { rung, until } = &reason;
        self.requeue(*until, now);
        if matches!(rung, Rung::Ambiguous(_)) && until.is_some_and(|at| at <= now) {
            self.looks.push(slot.clone());
        }
        if matches!(rung, Rung::Overshoot { .. } | Rung::ProviderPaused) {
            self.waiting.push(slot.clone());
        }
        if let Some(parking) = Parking::of(rung) {
            self.parked.push((slot.clone(), parking));
        }
        self.reasons.push((slot, reason));
    }
}

/// Decides every slot that is wanted or known.
pub fn reconcile(observed: &ClusterState, desired: &ClusterShape, now: Timestamp) -> ReconcilePlan {
    let mut plan = ReconcilePlan::default();
    let mut wanted = desired.briefs().iter().peekable();
    let mut known = observed.briefs().peekable();
    loop {
        let order = match (wanted.peek(), known.peek()) {
            (Some((name, _)), Some((other, _))) => name.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return plan,
        };
        let spec = if order.is_le() { wanted.next() } else { None };
        let seen = if order.is_ge() { known.next() } else { None };
        let name = spec.map(|(name, _)| name).or(seen.map(|(name, _)| name));
        let Some(group) = name else { continue };
        let brief = spec.and_then(|(_, wanted)| wanted.as_ref());
        let same = brief.is_some() && brief == seen.and_then(|(_, known)| known.as_ref());
        if same && observed.rollout(group).is_none() {
            continue;
        }
        let (spec, state) = (desired.group(group), observed.group(group));
        let whole = spec.zip(state).is_some_and(|(spec, state)| state.fleet.is_settled_as(spec));
        // A fleet that is just as wanted needs an update as little: nothing more of its group is read.
        if whole && observed.rollout(group).is_none() {
            continue;
        }
        plan.add_rollout(observed, desired, group, now);
        if !whole {
            let mut context = context(observed, desired, group, now);
            whole_group(&mut plan, group, spec, state, &mut context, now);
        }
    }
}

/// Decides the slots of `slots` alone; equal to [`reconcile`] where the others have nothing to decide.
pub fn reconcile_some(
    observed: &ClusterState,
    desired: &ClusterShape,
    now: Timestamp,
    slots: &BTreeSet<LogicalNodeId>,
) -> ReconcilePlan {
    let mut plan = ReconcilePlan::default();
    plan.reasons.reserve(slots.len());
    let mut slots = slots.iter().peekable();
    while let Some(first) = slots.peek() {
        let name = &first.group;
        let mut group = context(observed, desired, name, now);
        plan.add_rollout(observed, desired, name, now);
        let mut turns =
            group.budget.as_ref().map_or_else(Vec::new, Budget::turns).into_iter().peekable();
        let state = observed.group(name);
        let mut decide = |index: u32| {
            let record = state.and_then(|state| state.record(index)).map(Arc::as_ref);
            plan.decide(name, index, record, &mut group, now);
        };
        // What the update's budget lets go next is asked as well: it waits for others, not for itself.
        while let Some(slot) = slots.next_if(|slot| slot.group == *name) {
            while let Some(index) = turns.next_if(|index| *index < slot.index) {
                decide(index);
            }
            turns.next_if_eq(&slot.index);
            decide(slot.index);
        }
        turns.for_each(decide);
    }
    plan
}

fn wait_for_place(reasons: &mut [(LogicalNodeId, Reason)], late: &[(LogicalNodeId, Action)]) {
    for (slot, _) in late {
        let at = reasons.binary_search_by(|(s, _)| s.cmp(slot));
        if let Some((_, reason)) = at.ok().and_then(|at| reasons.get_mut(at)) {
            reason.rung = Rung::Parallelism;
        }
    }
}

fn context<'a>(
    observed: &'a ClusterState,
    desired: &'a ClusterShape,
    group: &GroupId,
    now: Timestamp,
) -> GroupContext<'a> {
    let state = observed.group(group);
    let spec = desired.group(group);
    let owning = state.map_or(0, |g| g.owning());
    let seconds = state.map_or(0, |g| g.owning_seconds());
    let freeze = spec.and_then(|spec| observed.freeze(group, spec.revision));
    let surge = spec.map_or(0, |g| g.policy.update.surge(g.count));
    let orphans = state.map_or(0, |g| u32::try_from(g.orphans().count()).unwrap_or(u32::MAX));
    let count = spec.map_or(0, |g| g.count);
    GroupContext {
        observed,
        shape: desired,
        name: group.clone(),
        desired: spec,
        hold: state.and_then(|g| g.hold()).filter(|_| !freeze.is_some_and(Freeze::is_stalled)),
        freeze,
        owning,
        orphans,
        room: count.saturating_sub(owning.saturating_sub(seconds)).saturating_sub(orphans),
        turns: power::turns(state.map(AsRef::as_ref), spec.map(AsRef::as_ref), freeze),
        lacks: None,
        dependents: None,
        spare: surge
            .saturating_sub(seconds)
            .min(count.saturating_add(surge).saturating_sub(owning).saturating_sub(orphans)),
        budget: state.zip(spec).and_then(|(state, spec)| Budget::of(state, spec, freeze, now)),
    }
}

fn whole_group(
    plan: &mut ReconcilePlan,
    group: &GroupId,
    spec: Option<&Arc<RunNodeGroupSpec>>,
    state: Option<&Arc<GroupState>>,
    context: &mut GroupContext<'_>,
    now: Timestamp,
) {
    let known = state.map_or(0, |state| state.len());
    let missing = spec.map_or(0, |spec| (spec.count as usize).saturating_sub(known));
    plan.to_start.reserve(missing);
    plan.reasons.reserve(missing);
    let mut decide = |index: u32, record: Option<&NodeRecord>| {
        plan.decide(group, index, record, context, now);
    };
    let count = spec.map_or(0, |spec| spec.count);
    let mut next = 0;
    for (first, leaf) in state.into_iter().flat_map(|state| state.fleet.leaves()) {
        (next..first.min(count)).for_each(|index| decide(index, None));
        let end = first.saturating_add(Fleet::LEAF);
        next = next.max(end);
        let settled = spec.map_or(0, |spec| leaf.settled_as(spec));
        if settled == u64::MAX && end <= count {
            continue;
        }
        for ((index, cell), bit) in (first..).zip(leaf.cells()).zip(0..) {
            let is_settled = index < count && (settled >> bit) & 1 == 1;
            if !is_settled && (cell.is_some() || index < count) {
                decide(index, cell.map(Arc::as_ref));
            }
        }
    }
    (next..count).for_each(|index| decide(index, None));
}
