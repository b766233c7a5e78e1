//! How the model moves an update on: who gives way, and what the attempt beside a node does (D10, C10).

use reconciler_core::{
    desired::{Amount, RunNodeGroupSpec, UpdateMode},
    limits,
    observed::{DeleteReason, NodeRecord, Second, StageName},
    reconcile::Rung,
};

use super::{
    group::{Sight, count, second, to_run},
    node::{
        Answer, act, backs_off, by_stage, forbidden, gives_up, is_deleting, is_destroyed, is_held,
        is_in, is_live, is_untouchable, open, ready_since, serves, unproven, wait,
    },
};

/// How a node of another revision gives way.
pub(super) enum Turn {
    Goes,
    Beside,
    Waits,
}

/// What the update of a group lets happen now.
pub(super) struct Update {
    frozen: Option<Rung>,
    recreates: bool,
    /// How many nodes of another revision are not gone.
    left: u32,
    /// Who may go although it serves, and who may get a candidate, each the lowest indices first.
    replace: Vec<u32>,
    beside: Vec<u32>,
    /// Why those that are not among them wait.
    budget: Rung,
}

fn of(amount: Amount, count: u32, up: u32) -> u32 {
    match amount {
        Amount::Nodes(nodes) => nodes,
        Amount::Percent(percent) => (count * percent + up) / 100,
    }
}

/// How many may exist beyond the count: a share is rounded up.
pub(super) fn surge(spec: &RunNodeGroupSpec) -> u32 {
    let update = &spec.policy.update;
    let most = of(update.max_surge, spec.count, 99).min(spec.count);
    if update.mode == UpdateMode::Recreate { 0 } else { most }
}

/// How many may be missing: a share is rounded down, and where nothing may be added, one may.
fn unavailable(spec: &RunNodeGroupSpec) -> u32 {
    let update = &spec.policy.update;
    if update.mode == UpdateMode::Recreate {
        return spec.count;
    }
    let least = u32::from(surge(spec) == 0);
    of(update.max_unavailable, spec.count, 0).max(least).min(spec.count)
}

impl Update {
    pub(super) fn of(sight: &Sight<'_>) -> Option<Self> {
        let spec = sight.spec?;
        let other = |r: &NodeRecord| r.revision != spec.revision;
        if count(sight.records(), other) == 0 {
            return None;
        }
        let within = || sight.records().filter(|r| r.slot.index < spec.count);
        let missing = to_run(spec).saturating_sub(count(within(), serves));
        let beside = count(sight.records(), |r| second(r).is_some());
        let (surge_max, unavailable_max) = (surge(spec), unavailable(spec));
        let young = |r: &NodeRecord| {
            let proven =
                |at: reconciler_core::time::Timestamp| at.after(spec.policy.update.observation);
            serves(r) && !other(r) && ready_since(r).is_some_and(|at| proven(at) > sight.now)
        };
        let may_add = surge_max.saturating_sub(beside) as usize;
        let taken = missing + count(within(), young);
        let may_take = unavailable_max.saturating_sub(taken) as usize;
        let gives_way =
            |r: &&NodeRecord| serves(r) && other(r) && second(r).is_none() && !is_untouchable(r);
        let mut next: Vec<u32> = within().filter(gives_way).map(|r| r.slot.index).collect();
        if sight.frozen().is_some() || sight.hold().is_some() {
            next.clear();
        }
        let replace = next.split_off(may_add.min(next.len()));
        Some(Self {
            frozen: sight.frozen(),
            recreates: spec.policy.update.mode == UpdateMode::Recreate,
            left: count(sight.records(), |r| other(r) && !is_destroyed(r)),
            replace: replace.into_iter().take(may_take).collect(),
            beside: next,
            budget: Rung::AwaitTurn {
                unavailable: missing,
                unavailable_max,
                surge: beside,
                surge_max,
            },
        })
    }

    pub(super) fn turn(&self, record: &NodeRecord) -> Turn {
        let index = record.slot.index;
        let missed = serves(record) || second(record).is_some();
        if self.frozen.is_some() {
            Turn::Waits
        } else if self.recreates {
            Turn::Goes
        } else if self.beside.contains(&index) {
            Turn::Beside
        } else if !missed || self.replace.contains(&index) {
            Turn::Goes
        } else {
            Turn::Waits
        }
    }

    pub(super) fn waits(&self) -> Rung {
        self.frozen.clone().unwrap_or_else(|| self.budget.clone())
    }

    pub(super) fn awaits_others(&self) -> Option<Answer> {
        let waits = self.recreates && self.left > 0 && self.frozen.is_none();
        waits.then(|| wait(Rung::AwaitOthersGone { left: self.left }, None))
    }
}

impl Sight<'_> {
    /// What the attempt beside the present one does.
    pub(super) fn beside_it(&mut self, present: &NodeRecord, beside: &Second) -> Answer {
        let record = &beside.record;
        let index = present.slot.index;
        let wanted = self.spec.filter(|s| index < s.count && s.revision != present.revision);
        let answer = forbidden(record)
            .or_else(|| self.beside_gone(present, record, wanted))
            .or_else(|| self.held_group(record, wanted.is_some()))
            .or_else(|| self.takes_over(present, record, wanted))
            .or_else(|| beside_to_go(record, wanted))
            .or_else(|| open(record, self.now))
            .or_else(|| self.held_back(record))
            .or_else(|| gives_up(record))
            .or_else(|| self.promotes(beside));
        answer.unwrap_or_else(|| self.admits(by_stage(record, self.now), record, true))
    }

    fn beside_gone(
        &self,
        present: &NodeRecord,
        record: &NodeRecord,
        wanted: Option<&RunNodeGroupSpec>,
    ) -> Option<Answer> {
        if !is_destroyed(record) {
            return None;
        }
        let Some(wanted) = wanted.filter(|_| serves(present)) else {
            return Some(act(Rung::Reap));
        };
        let other = (record.revision != wanted.revision).then(|| act(Rung::Reap));
        let waits = self
            .holds()
            .or(other)
            .or_else(|| self.frozen().map(|rung| wait(rung, None)))
            .or_else(|| is_held(record))
            .or_else(|| backs_off(record, self.now));
        Some(waits.unwrap_or_else(|| act(Rung::Restart)))
    }

    /// Where nothing is left of the present attempt, its candidate need not prove anything.
    fn takes_over(
        &self,
        present: &NodeRecord,
        record: &NodeRecord,
        wanted: Option<&RunNodeGroupSpec>,
    ) -> Option<Answer> {
        let fits = wanted.is_some_and(|wanted| wanted.revision == record.revision);
        let free = self.stalled().is_none() && is_destroyed(present);
        (fits && free && is_live(record)).then(|| act(Rung::Promote))
    }

    /// The gates of a promotion in their order (R172, R173).
    fn promotes(&self, beside: &Second) -> Option<Answer> {
        let record = &beside.record;
        if is_deleting(record) {
            return None;
        }
        let stalls = self.frozen().filter(|_| self.stalled().is_some() && serves(record));
        if let Some(rung) = stalls {
            return Some(wait(rung, None));
        }
        if let Some(unproven) = unproven(record) {
            return Some(unproven);
        }
        let proven = ready_since(record)?.after(record.policy.update.observation);
        if self.now < proven {
            return Some(wait(Rung::Observing, Some(proven)));
        }
        let fresh = beside.seen.filter(|at| proven <= *at);
        if fresh.is_some_and(|at| self.now.since(at) <= limits::FRESH_LOOK) {
            return Some(act(Rung::Promote));
        }
        Some(wait(Rung::Verifying, beside.look_at.filter(|at| self.now < *at)))
    }
}

fn beside_to_go(record: &NodeRecord, wanted: Option<&RunNodeGroupSpec>) -> Option<Answer> {
    if is_deleting(record) {
        return None;
    }
    let go = |reason| Some(act(Rung::BeginDelete(reason)));
    let Some(wanted) = wanted else { return go(DeleteReason::Undesired) };
    if is_in(record, &[StageName::Failed]) {
        return go(DeleteReason::Failed);
    }
    if record.revision != wanted.revision {
        return go(DeleteReason::Replaced);
    }
    (record.policy != wanted.policy).then(|| act(Rung::Retune))
}
