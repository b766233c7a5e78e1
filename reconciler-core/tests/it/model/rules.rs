//! What the model says the present attempt of a slot does: the first rule that has something to say (R35 to R46).

use reconciler_core::{
    desired::{GroupKind, RunNodeGroupSpec},
    observed::{DeleteReason, NodeRecord, StageName},
    reconcile::Rung,
};

use super::{
    group::{Sight, count, is_off, round, second},
    node::{
        Answer, act, backs_off, by_stage, forbidden, gives_up, has_ended_well, has_workload,
        holds_cleanup, is_deleting, is_destroyed, is_held, is_in, is_live, may_run, open,
        post_stop, serves, stop, wait,
    },
    update::{Turn, Update},
};

impl Sight<'_> {
    /// What the present attempt of one slot does.
    pub(super) fn present(&mut self, record: &NodeRecord) -> Answer {
        let index = record.slot.index;
        let wanted = self.spec.filter(|spec| index < spec.count);
        if wanted.is_some_and(|spec| is_as_wanted(record, spec)) {
            return wait(Rung::Steady, None);
        }
        let answer = forbidden(record)
            .or_else(|| self.gone(record, wanted))
            .or_else(|| self.held_group(record, wanted.is_some()))
            .or_else(|| self.to_go(record, wanted))
            .or_else(|| open(record, self.now))
            .or_else(|| self.held_back(record))
            .or_else(|| self.power(record, wanted))
            .or_else(|| gives_up(record));
        let answer =
            answer.unwrap_or_else(|| self.admits(by_stage(record, self.now), record, false));
        self.in_turn(answer, record, wanted)
    }

    /// Nothing is left of the attempt (R33, R43).
    fn gone(&self, record: &NodeRecord, wanted: Option<&RunNodeGroupSpec>) -> Option<Answer> {
        if !is_destroyed(record) {
            return None;
        }
        let Some(wanted) = wanted else {
            let beside = second(record).map(|other| other.attempt.ordinal);
            let waits = |ordinal| wait(Rung::AwaitSecondGone(ordinal), None);
            return Some(beside.map_or_else(|| act(Rung::Reap), waits));
        };
        let same = record.revision == wanted.revision;
        let anew = record.round < round(wanted, record.slot.index);
        let stays = (same || self.frozen().is_some()) && !anew;
        let stalls = || self.frozen().filter(|_| same && self.stalled().is_some());
        let waits = self
            .holds()
            .or_else(|| if same { None } else { self.awaits_others(record) })
            .or_else(|| stalls().map(|rung| wait(rung, None)))
            .or_else(|| if stays { is_held(record) } else { None })
            .or_else(|| if stays { backs_off(record, self.now) } else { None });
        Some(waits.unwrap_or_else(|| act(Rung::Restart)))
    }

    fn awaits_others(&self, record: &NodeRecord) -> Option<Answer> {
        let candidate = second(record).filter(|other| is_live(other) && self.stalled().is_none());
        if let Some(candidate) = candidate {
            return Some(wait(Rung::AwaitCandidate(candidate.attempt.ordinal), None));
        }
        self.update.as_ref().and_then(Update::awaits_others)
    }

    /// A held group takes no step, unless it goes altogether (D3).
    pub(super) fn held_group(&self, record: &NodeRecord, wanted: bool) -> Option<Answer> {
        let hold = self.holds()?;
        let leaves = self.wanted() == 0 && !wanted;
        (!leaves).then(|| open(record, self.now).unwrap_or(hold))
    }

    /// What is unwanted, failed, of another revision, to run again, or to be treated otherwise.
    fn to_go(&self, record: &NodeRecord, wanted: Option<&RunNodeGroupSpec>) -> Option<Answer> {
        if is_deleting(record) {
            return None;
        }
        let go = |reason| Some(act(Rung::BeginDelete(reason)));
        let unless_open = |waits| Some(open(record, self.now).unwrap_or(waits));
        let Some(wanted) = wanted else {
            return match self.dependents().filter(|_| may_run(record)) {
                Some(dependents) => unless_open(dependents),
                None => go(DeleteReason::Undesired),
            };
        };
        if is_in(record, &[StageName::Failed]) {
            return go(DeleteReason::Failed);
        }
        if record.revision != wanted.revision {
            match self.update.as_ref().map_or(Turn::Goes, |update| update.turn(record)) {
                Turn::Goes => return go(DeleteReason::Replaced),
                Turn::Beside => return Some(act(Rung::Candidate)),
                Turn::Waits => {}
            }
        }
        let ran = may_run(record) || has_ended_well(record) || record.hold.is_some();
        let again = match wanted.policy.kind {
            GroupKind::Service => has_ended_well(record),
            GroupKind::Job => ran && record.round < round(wanted, record.slot.index),
        };
        match self.lacks().filter(|_| again) {
            Some(closed) => unless_open(closed),
            None if again => go(DeleteReason::Rerun),
            None => (record.policy != wanted.policy).then(|| act(Rung::Retune)),
        }
    }

    /// A retry, a pause, a hold and a backoff hold a step back; a deletion hardly anything (D8).
    pub(super) fn held_back(&self, record: &NodeRecord) -> Option<Answer> {
        if let Some(retry) = record.retry.as_ref().filter(|retry| self.now < retry.at) {
            let rung = Rung::Retry { tries: retry.tries, message: retry.message.clone() };
            return Some(wait(rung, Some(retry.at)));
        }
        let provider = self.state.providers().get(&record.spec.provider);
        let until = provider.and_then(|provider| provider.paused_until);
        if let Some(until) = until.filter(|until| self.now < *until) {
            return Some(wait(Rung::ProviderPaused, Some(until)));
        }
        if is_deleting(record) {
            return is_held(record).filter(|_| holds_cleanup(record));
        }
        let new = is_in(record, &[StageName::New]);
        is_held(record).or_else(|| if new { backs_off(record, self.now) } else { None })
    }

    /// What is off comes to rest; what is of an earlier round begins anew in its turn.
    fn power(&mut self, record: &NodeRecord, wanted: Option<&RunNodeGroupSpec>) -> Option<Answer> {
        let spec = wanted.filter(|_| !is_deleting(record))?;
        let behind = record.round < round(spec, record.slot.index);
        if behind && !has_workload(record) {
            return Some(act(Rung::Retune));
        }
        if is_off(spec, record.slot.index) {
            let ends = stop(record).or_else(|| post_stop(record));
            let rests = if has_ended_well(record) { Rung::Steady } else { Rung::Off };
            return Some(ends.filter(|_| rests == Rung::Off).unwrap_or_else(|| wait(rests, None)));
        }
        if !behind {
            return None;
        }
        if let Some(closed) = self.lacks() {
            return Some(closed);
        }
        if serves(record) {
            if self.turns == 0 {
                let (ready, want) = (count(self.records(), serves), self.to_serve(spec));
                return Some(wait(Rung::Turn { ready, want }, None));
            }
            self.turns -= 1;
        }
        stop(record)
    }

    /// Who is of another revision and has nothing else to do waits for its turn, or for its candidate.
    fn in_turn(
        &self,
        answer: Answer,
        record: &NodeRecord,
        wanted: Option<&RunNodeGroupSpec>,
    ) -> Answer {
        let idle = matches!(answer.why.rung, Rung::Steady | Rung::Stabilising | Rung::Working);
        let other = wanted.is_some_and(|wanted| wanted.revision != record.revision);
        let Some(update) = self.update.as_ref().filter(|_| idle && other) else { return answer };
        let candidate = second(record).filter(|other| is_live(other));
        let rung = candidate
            .map_or_else(|| update.waits(), |other| Rung::AwaitCandidate(other.attempt.ordinal));
        wait(rung, answer.why.until)
    }
}

/// Whoever is just as it should be stays so, also in a group that is held.
fn is_as_wanted(record: &NodeRecord, spec: &RunNodeGroupSpec) -> bool {
    let index = record.slot.index;
    let job = spec.policy.kind == GroupKind::Job;
    let stands = serves(record) && is_in(record, &[StageName::Dormant]);
    let nothing_open = record.pending.is_none() && record.ambiguity.is_none();
    let alone = record.hold.is_none() && record.second.is_none();
    let same = record.revision == spec.revision && record.policy == spec.policy;
    let powered = !is_off(spec, index) && record.round >= round(spec, index);
    let well = gives_up(record).is_none() && (job || !has_ended_well(record));
    stands && nothing_open && alone && same && powered && well
}
