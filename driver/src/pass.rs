//! One pass: fold what came in, decide, cover, and hand everything to the journal as one commit.
//!
//! Synchronous and exclusive: nothing here waits, and the loop never runs two at once (R10, R11).

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use checkpoint::{event::PassRow, store::Commit};
use executor::dispatch::Room;
use reconciler_core::{
    effect::{Action, Intent},
    fold::Fact,
    id::{AttemptId, GroupId, LogicalNodeId},
    observed::{ClusterState, Pending, Side},
    reconcile::{RolloutChange, reconcile_some},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::{
    capacity::Gate,
    history::letter,
    operations::Open,
    state::{Mode, State},
    view::PassView,
};

/// What a pass starts from.
pub(crate) struct PassInput {
    /// What came in since the last one.
    pub(crate) facts: Vec<Fact>,
    /// What woke the driver, in one word; for people only, no decision reads it.
    pub(crate) trigger: &'static str,
    /// How many more effects may go out.
    pub(crate) room: Room,
    /// The time of the whole pass.
    pub(crate) now: Timestamp,
}

/// What a pass did, in numbers.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) facts: usize,
    pub(crate) transitions: usize,
    pub(crate) effects: usize,
    pub(crate) failures: usize,
}

/// How much later than its timeout an effect's outcome counts as unknown here: the dispatcher, which enforces the
/// timeout, is to speak first.
const QUEUE_SLACK: Millis = Millis::from_secs(5);

/// What a pass leaves to be done.
#[derive(Default)]
pub(crate) struct PassOutput {
    /// What is to be journaled; nothing if nothing changed.
    pub(crate) commit: Option<Commit>,
    /// Attempts to look at by id.
    pub(crate) looks: Vec<(LogicalNodeId, AttemptId)>,
    /// Slots whose record changed, or is there no more.
    pub(crate) changed: BTreeSet<LogicalNodeId>,
    /// Groups whose update failed and is to be taken back.
    pub(crate) reverts: Vec<GroupId>,
    /// True if the next pass has something to decide already.
    pub(crate) again: bool,
}

/// What was decided beside what is folded and journaled.
#[derive(Default)]
struct Decided {
    looks: Vec<(LogicalNodeId, AttemptId)>,
    reverts: Vec<GroupId>,
}

impl State {
    /// Runs one pass, which holds the whole state: none begins inside another, nor waits within (R10).
    pub(crate) fn pass(&mut self, input: PassInput) -> PassOutput {
        let begun = Instant::now();
        let now = input.now;
        let before = self.cluster.snapshot();
        let mut tally = Tally { facts: input.facts.len(), ..Tally::default() };
        for fact in input.facts {
            self.fold(fact, now);
        }
        self.cluster.mark_due(now);
        let mut changed = self.cluster.take_dirty();
        self.work.extend(changed.iter().cloned());
        // Whatever changed may have freed what others wait for.
        if !changed.is_empty() {
            self.work.extend(std::mem::take(&mut self.short).into_keys());
        }
        let mut commit = Commit { at: now, ..Commit::default() };
        let mut room = input.room;
        let Decided { mut looks, reverts } = match self.mode {
            Mode::Waiting => Decided::default(),
            Mode::Driving => self.decide(&mut room, now, &mut commit, &mut tally),
        };
        let decided = self.cluster.take_dirty();
        // A place that one slot did not take is the next one's.
        let taken = self
            .queued
            .iter()
            .any(|(provider, slots)| !slots.is_empty() && room.left(provider) > 0);
        let again = !decided.is_empty() || taken;
        changed.extend(decided.iter().cloned());
        self.work.extend(decided);
        changed.retain(|slot| !same_record(&before, &self.cluster, slot));
        // What this version brought to its own form is kept so, although nothing happened to it.
        changed.extend(self.cluster.take_migrated());
        changed.append(&mut self.unwritten);
        self.journal_changes(&changed, now, &mut commit, &mut tally);
        if !changed.is_empty() || tally.effects > 0 {
            let moved = changed.iter().map(|slot| (slot.clone(), letter_of(&before, slot)));
            let view = self.note_pass(&tally, input.trigger, begun, now);
            let sent = commit.intents.iter().map(|intent| intent.action.kind().as_str());
            self.totals.count(&view, sent);
            self.history.push_pass(view.clone(), moved.collect());
            commit.pass = Some(pass_row(&view));
        }
        looks.append(&mut self.looks);
        let commit = (!commit.is_empty()).then_some(commit);
        PassOutput { commit, looks, changed, reverts, again }
    }

    /// Decides the slots at hand, folds what was decided, and collects the intents.
    fn decide(
        &mut self,
        room: &mut Room,
        now: Timestamp,
        commit: &mut Commit,
        tally: &mut Tally,
    ) -> Decided {
        let slots = self.slots_at_hand(room);
        if slots.is_empty() {
            return Decided::default();
        }
        let mut plan = reconcile_some(&self.cluster, &self.shape, now, &slots);
        let outside = plan.waiting.len();
        let mut gate = Gate::new(&self.declared, &self.cluster, &plan, now);
        plan.admit_where(|slot, side| {
            let record = self.cluster.record(slot).and_then(|record| record.side(side));
            record.is_some_and(|one| gate.admit(side, one) && room.take(&one.spec.provider))
        });
        for slot in plan.waiting.drain(outside..).filter(|slot| !gate.short.contains_key(slot)) {
            self.queue(&slot);
        }
        self.short.append(&mut gate.short);
        self.work = plan.waiting.drain(..).collect();
        self.parked.park(&mut plan.parked);
        self.requeue_at = plan.requeue_at.filter(|_| !self.work.is_empty());
        let present = plan.looks.drain(..).map(|slot| (slot, Side::Present));
        let second = plan.second_looks.drain(..).map(|slot| (slot, Side::Second));
        let looks: Vec<_> = present.chain(second).filter_map(|at| self.attempt(at)).collect();
        let reverts = self.fold_rollouts(std::mem::take(&mut plan.rollouts), now);
        for (slot, transition) in plan.take_transitions() {
            tally.transitions += usize::from(self.fold(Fact::Decided { slot, transition }, now));
        }
        let present = plan.per_node.into_iter().map(|(slot, c)| (slot, Side::Present, c));
        let second = plan.per_second.into_iter().map(|(slot, c)| (slot, Side::Second, c));
        let actions: Vec<_> = present.chain(second).collect();
        self.cover(actions.iter().map(|(slot, ..)| slot), now, commit);
        for (slot, side, action) in actions {
            if let Some(mut intent) = self.intend(&slot, side, action, now) {
                intent.admission = gate.admitted.remove(&(slot, side)).map(Box::new);
                commit.intents.push(intent);
            }
        }
        tally.effects = commit.intents.len();
        Decided { looks, reverts }
    }

    /// Folds what becomes of updates; gives back the groups whose update is to be taken back.
    fn fold_rollouts(
        &mut self,
        changes: Vec<(GroupId, RolloutChange)>,
        now: Timestamp,
    ) -> Vec<GroupId> {
        let mut reverts = Vec::new();
        for (group, change) in changes {
            let change = change.under(self.operations.get(&group).is_some_and(Open::goes_back));
            if matches!(change, RolloutChange::Revert { .. }) {
                reverts.push(group.clone());
            }
            self.fold(Fact::Rollout { group, change }, now);
        }
        reverts
    }

    /// The slots to decide now: those with news, and of those that only wait for a place the first that may get one.
    ///
    /// Any other of them would be decided and sent back: a burst would cost the square of its size.
    fn slots_at_hand(&mut self, room: &Room) -> BTreeSet<LogicalNodeId> {
        let mut slots = std::mem::take(&mut self.work);
        for slot in &slots {
            self.short.remove(slot);
        }
        self.parked.release(&self.cluster, &self.shape, &mut slots);
        for (provider, queue) in &mut self.queued {
            for slot in &slots {
                queue.remove(slot);
            }
            for _ in 0..room.left(provider) {
                let Some(slot) = queue.pop_first() else { break };
                slots.insert(slot);
            }
        }
        slots
    }

    /// Puts a slot in the line for a place at its provider.
    fn queue(&mut self, slot: &LogicalNodeId) {
        for record in self.cluster.record(slot).into_iter().flat_map(|record| record.attempts()) {
            let provider = record.spec.provider.clone();
            self.queued.entry(provider).or_default().insert(slot.clone());
        }
    }

    /// The attempt on one side of a slot.
    fn attempt(&self, (slot, side): (LogicalNodeId, Side)) -> Option<(LogicalNodeId, AttemptId)> {
        let attempt = self.cluster.record(&slot)?.side(side)?.attempt;
        Some((slot, attempt))
    }

    /// Turns a command or a hook into the intent of a step, and marks its record as waiting for it.
    fn intend(
        &mut self,
        slot: &LogicalNodeId,
        side: Side,
        action: Action,
        now: Timestamp,
    ) -> Option<Intent> {
        let operation = self.operations.of(&slot.group)?;
        let record = self.cluster.record(slot)?.side(side)?;
        let kind = action.kind();
        let (attempt, provider) = (record.attempt, record.spec.provider.clone());
        let timeout = action.timeout(&record.policy);
        let key = action.idempotency_key(attempt.uuid);
        let step = self.counters.step;
        let fence = self.fence;
        // Between the durable intent and its effect lie the sync and the queue: the deadline leaves them room.
        let deadline = now.after(timeout).after(QUEUE_SLACK);
        let pending = Pending { operation, step, command: kind, key, fence, deadline };
        if !self.fold(Fact::Dispatched { slot: slot.clone(), attempt, pending }, now) {
            return None;
        }
        self.counters.step = step.next();
        let slot = slot.clone();
        let admission = None;
        Some(Intent {
            operation,
            step,
            fence,
            slot,
            attempt,
            provider,
            action,
            key,
            timeout,
            admission,
        })
    }

    fn note_pass(
        &mut self,
        tally: &Tally,
        trigger: &'static str,
        begun: Instant,
        now: Timestamp,
    ) -> PassView {
        self.counters.pass = self.counters.pass.next();
        PassView {
            pass: self.counters.pass,
            at: now,
            trigger: trigger.to_owned(),
            facts: small(tally.facts),
            transitions: small(tally.transitions),
            effects: small(tally.effects),
            failures: small(tally.failures),
            micros: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        }
    }
}

fn same_record(before: &ClusterState, after: &ClusterState, slot: &LogicalNodeId) -> bool {
    match (before.record(slot), after.record(slot)) {
        (Some(before), Some(after)) => Arc::ptr_eq(before, after) || before == after,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn letter_of(cluster: &ClusterState, slot: &LogicalNodeId) -> char {
    letter(cluster.record(slot).map(AsRef::as_ref))
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn pass_row(view: &PassView) -> PassRow {
    PassRow {
        pass: view.pass,
        at: view.at,
        trigger: Redacted::new(&view.trigger),
        facts: view.facts,
        transitions: view.transitions,
        effects: view.effects,
        failures: view.failures,
        micros: view.micros,
    }
}
