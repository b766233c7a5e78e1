//! What the model asks of a group: counted anew each time, by walking its records.

use std::sync::Arc;

use reconciler_core::{
    desired::{ClusterShape, GateCondition, Gates, HookPoint, RunNodeGroupSpec},
    effect::{ActionKind, CommandKind},
    hold::{Hold, HoldCode},
    id::GroupId,
    observed::{ClusterState, GroupState, NodeRecord, StageName},
    reconcile::{Lack, Rung},
    time::Timestamp,
};

use super::{
    node::{
        Answer, has_ended_well, has_workload, is_deleting, is_in, is_untouchable, may_own, may_run,
        serves, wait,
    },
    update::{self, Update},
};

/// A group as the model sees it.
pub(super) struct Sight<'a> {
    pub(super) state: &'a ClusterState,
    pub(super) shape: &'a ClusterShape,
    pub(super) name: &'a GroupId,
    pub(super) spec: Option<&'a RunNodeGroupSpec>,
    pub(super) now: Timestamp,
    /// What its update lets happen, if it has nodes of another revision.
    pub(super) update: Option<Update>,
    room: u32,
    pub(super) spare: u32,
    pub(super) turns: u32,
}

pub(super) fn records<'a>(
    state: &'a ClusterState,
    name: &GroupId,
) -> impl Iterator<Item = &'a NodeRecord> {
    state.group(name).into_iter().flat_map(|group| group.records()).map(AsRef::as_ref)
}

pub(super) fn second(record: &NodeRecord) -> Option<&NodeRecord> {
    record.second.as_deref().map(|second| &second.record)
}

pub(super) fn count<'a>(
    records: impl Iterator<Item = &'a NodeRecord>,
    holds: impl Fn(&NodeRecord) -> bool,
) -> u32 {
    u32::try_from(records.filter(|record| holds(record)).count()).expect("a small group")
}

pub(super) fn is_off(spec: &RunNodeGroupSpec, index: u32) -> bool {
    spec.power.is_all_off() || spec.power.off_slots(u32::MAX).any(|off| off == index)
}

pub(super) fn round(spec: &RunNodeGroupSpec, index: u32) -> u32 {
    let own = spec.power.slot_rounds().filter(|(slot, _)| *slot == index).map(|(_, round)| round);
    own.fold(spec.power.least_round(), u32::max)
}

/// How many of a group are to have a workload.
pub(super) fn to_run(spec: &RunNodeGroupSpec) -> u32 {
    (0..spec.count).map(|index| u32::from(!is_off(spec, index))).sum()
}

impl<'a> Sight<'a> {
    pub(super) fn of(
        state: &'a ClusterState,
        shape: &'a ClusterShape,
        name: &'a GroupId,
        now: Timestamp,
    ) -> Self {
        let spec = shape.group(name).map(AsRef::as_ref);
        let (room, spare, turns) = (0, 0, 0);
        let mut sight = Self { state, shape, name, spec, now, update: None, room, spare, turns };
        sight.update = Update::of(&sight);
        let (wanted, surge) = (sight.wanted(), sight.surge());
        let (owning, beside) = (sight.owning(), sight.beside());
        let taken = owning + sight.orphans();
        sight.room = wanted.saturating_sub(taken - beside);
        sight.spare = surge.saturating_sub(beside).min((wanted + surge).saturating_sub(taken));
        sight.turns = sight.turns_now();
        sight
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &'a NodeRecord> {
        records(self.state, self.name)
    }

    fn group(&self) -> Option<&'a Arc<GroupState>> {
        self.state.group(self.name)
    }

    pub(super) fn wanted(&self) -> u32 {
        self.spec.map_or(0, |spec| spec.count)
    }

    pub(super) fn surge(&self) -> u32 {
        self.spec.map_or(0, update::surge)
    }

    fn beside(&self) -> u32 {
        count(self.records().filter_map(second), may_own)
    }

    fn owning(&self) -> u32 {
        count(self.records(), may_own) + self.beside()
    }

    fn orphans(&self) -> u32 {
        let orphans = self.group().into_iter().flat_map(|group| group.orphans());
        u32::try_from(orphans.count()).expect("few")
    }

    pub(super) fn hold(&self) -> Option<&'a Hold> {
        self.group().and_then(|group| group.hold())
    }

    /// The code under which its update stands still for good.
    pub(super) fn stalled(&self) -> Option<HoldCode> {
        let codes =
            [HoldCode::UpdateStalled, HoldCode::IrreversibleHook, HoldCode::RestoredHealthFailed];
        self.is_updating()
            .then(|| self.hold())
            .flatten()
            .map(|hold| hold.code)
            .filter(|code| codes.contains(code))
    }

    fn is_updating(&self) -> bool {
        let target = self.spec.map(|spec| spec.revision);
        self.state.rollout(self.name).map(|rollout| rollout.target) == target && target.is_some()
    }

    /// Why its update moves nothing.
    pub(super) fn frozen(&self) -> Option<Rung> {
        if let Some(code) = self.stalled() {
            return Some(Rung::GroupHeld(code));
        }
        let paused = self.state.rollout(self.name).is_some_and(|rollout| rollout.paused);
        (self.is_updating() && paused).then_some(Rung::UpdatePaused)
    }

    /// The hold under which it takes no step; that of an update only freezes it.
    pub(super) fn holds(&self) -> Option<Answer> {
        let hold = self.hold().filter(|_| self.stalled().is_none())?;
        Some(wait(Rung::GroupHeld(hold.code), None))
    }

    /// One of those that serve may begin anew while nothing is open and all serve that are to.
    fn turns_now(&self) -> u32 {
        let Some(spec) = self.spec else { return 0 };
        let busy = |r: &NodeRecord| {
            [Some(r), second(r)]
                .iter()
                .flatten()
                .any(|r| r.pending.is_some() || r.ambiguity.is_some())
        };
        let all_serve = count(self.records(), serves) == self.to_serve(spec);
        u32::from(count(self.records(), busy) == 0 && all_serve)
    }

    pub(super) fn to_serve(&self, spec: &RunNodeGroupSpec) -> u32 {
        let kept_away = |r: &NodeRecord| {
            let on = r.slot.index < spec.count && !is_off(spec, r.slot.index);
            on && r.revision == spec.revision && !serves(r)
        };
        let kept = if self.stalled().is_some() { count(self.records(), kept_away) } else { 0 };
        to_run(spec).saturating_sub(kept)
    }

    /// What the groups that this one waits for lack (R167).
    pub(super) fn lacks(&self) -> Option<Answer> {
        let after = &self.spec?.policy.after;
        let lacks: Vec<_> = after.iter().filter_map(|(on, what)| self.lack(on, *what)).collect();
        (!lacks.is_empty()).then(|| wait(Rung::Gate(lacks.into()), None))
    }

    fn lack(&self, on: &GroupId, condition: GateCondition) -> Option<Lack> {
        let spec = self.shape.group(on)?;
        let there = |r: &NodeRecord| {
            let failed = is_in(r, &[StageName::Failed]);
            match condition {
                GateCondition::Started => {
                    (has_workload(r) || has_ended_well(r)) && !failed && !is_deleting(r)
                }
                GateCondition::Ready => serves(r),
                GateCondition::Completed => has_ended_well(r) && !is_deleting(r),
            }
        };
        let held = |r: &NodeRecord| [Some(r), second(r)].iter().flatten().any(|r| r.hold.is_some());
        let lack = Lack {
            group: on.clone(),
            condition,
            have: count(records(self.state, on), there),
            want: spec.count,
            held: count(records(self.state, on), held),
            off: spec.count - to_run(spec),
        };
        (lack.have < lack.want).then_some(lack)
    }

    /// Who waits for this group, and of whom something that is to go may still run (R168).
    pub(super) fn dependents(&self) -> Option<Answer> {
        let own = self.gates(self.name);
        let first = |name: &GroupId| {
            let n_wanted = self.shape.group(name).map_or(0, |spec| spec.count);
            let beyond =
                |r: &NodeRecord| r.slot.index >= n_wanted && !is_untouchable(r) && may_run(r);
            let crossed = own.is_some_and(|own| own.contains_key(name));
            let waits = self.gates(name).is_some_and(|gates| gates.contains_key(self.name));
            waits && !crossed && count(records(self.state, name), beyond) > 0
        };
        let names = self.state.groups().map(|(name, _)| name).filter(|name| first(name));
        let names: Vec<_> = names.cloned().collect();
        (!names.is_empty()).then(|| wait(Rung::Dependents(names.into()), None))
    }

    fn gates(&self, name: &GroupId) -> Option<&'a Gates> {
        match self.shape.group(name) {
            Some(spec) => Some(&spec.policy.after),
            None => records(self.state, name).next().map(|record| &record.policy.after),
        }
    }

    /// What goes out must pass an update that stalled, the gates, and the room that is left in `room`.
    pub(super) fn admits(&mut self, step: Answer, record: &NodeRecord, beside: bool) -> Answer {
        let is = |kind: CommandKind| step.why.rung == Rung::Step(kind.into());
        let creates = is(CommandKind::CreateLease);
        if creates
            && self.stalled().is_some()
            && self.spec.map(|s| s.revision) == Some(record.revision)
        {
            return self.frozen().map_or(step, |rung| wait(rung, None));
        }
        let pre_start = step.why.rung == Rung::Step(ActionKind::Hook(HookPoint::PreStart));
        if (creates || is(CommandKind::StartBootstrap) || pre_start)
            && let Some(lacks) = self.lacks()
        {
            return lacks;
        }
        if !creates {
            return step;
        }
        let (owning, orphans) = (self.owning(), self.orphans());
        let surge = if beside { self.surge() } else { 0 };
        let room = if beside { &mut self.spare } else { &mut self.room };
        if *room == 0 {
            let count = self.wanted() + surge;
            return wait(Rung::Overshoot { owning, orphans, count }, None);
        }
        *room -= 1;
        step
    }
}
