//! What a story has shown so far, as far as laws ask for it: calls, looks, causes and promises.
//!
//! It is written from the world's side only, so that no law believes what the driver believes.

use std::collections::{BTreeMap, BTreeSet};

use checkpoint::{operation::OperationWrite, record::RecordWrite, store::Commit};
use reconciler_core::{
    desired::ClusterShape,
    effect::{CommandKind, Intent},
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, IdempotencyKey, LogicalNodeId, OperationId,
        PassNumber, StepId, Uuid,
    },
};

/// How far apart two listings must be to prove an absence (D6), in milliseconds.
const GRACE_MS: u64 = 60_000;

/// An effect as it came to a provider.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The driver's number.
    pub(crate) life: usize,
    /// When it came, in milliseconds of the story.
    pub(crate) at: u64,
    /// When its driver gives up.
    pub(crate) deadline: u64,
    pub(crate) kind: CommandKind,
    pub(crate) provider: String,
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    /// The lease that it is about; none where it makes one.
    pub(crate) lease: Option<String>,
    pub(crate) key: IdempotencyKey,
    pub(crate) fence: Fence,
    pub(crate) step: StepId,
    pub(crate) operation: OperationId,
    /// True once its driver was answered.
    pub(crate) answered: bool,
}

/// What was seen so far.
#[derive(Default)]
pub(crate) struct Book {
    /// Every call, in order.
    pub(crate) calls: Vec<Call>,
    /// Attempts of which the world told its driver something that may fail them.
    pub(crate) causes: BTreeSet<Uuid>,
    /// Attempts whose outcome is in doubt, and since when.
    pub(crate) doubts: BTreeMap<Uuid, u64>,
    /// When a look last told something of an attempt.
    pub(crate) looks: BTreeMap<Uuid, u64>,
    /// When complete listings began to lack an attempt.
    pub(crate) lacking: BTreeMap<Uuid, u64>,
    /// Attempts that complete listings lacked twice, far enough apart.
    pub(crate) lacked: BTreeSet<Uuid>,
    /// The steps of an attempt that are not settled.
    pub(crate) open: BTreeMap<Uuid, BTreeSet<StepId>>,
    /// What may exist of a group while a step makes a lease.
    pub(crate) bounds: BTreeMap<StepId, u32>,
    /// Every intent, in order.
    pub(crate) intents: Vec<Intent>,
    /// The highest ordinal of a slot that a lease was asked for.
    pub(crate) ordinals: BTreeMap<LogicalNodeId, AttemptOrdinal>,
    /// Attempts whose lease was given back.
    pub(crate) destroyed: BTreeSet<Uuid>,
    /// The attempts that the record of a slot has had.
    attempts: BTreeMap<LogicalNodeId, BTreeSet<Uuid>>,
    /// Attempts of records that are gone.
    pub(crate) buried: BTreeSet<Uuid>,
    /// The newest generation that an operator was told of.
    pub(crate) promised: Generation,
    /// The newest numbers of the journal.
    pub(crate) newest: (PassNumber, OperationId, StepId),
    /// A moment, and how many steps a driver took within it.
    pub(crate) steps: (u64, u32),
    /// True once the wall clock jumped: ages tell nothing any more.
    pub(crate) jumped: bool,
}

impl Book {
    /// Notes that a driver took a step.
    pub(crate) fn stepped(&mut self, now: u64) {
        let (at, n) = self.steps;
        self.steps = if at == now { (at, n + 1) } else { (now, 1) };
    }

    /// Calls of a driver that are under way.
    pub(crate) fn under_way(&self, life: usize) -> impl Iterator<Item = &Call> {
        self.calls.iter().rev().take(256).filter(move |call| call.life == life && !call.answered)
    }

    /// Notes that an effect came to a provider.
    pub(crate) fn entered(&mut self, call: &Call) {
        if call.kind == CommandKind::CreateLease {
            let highest = self.ordinals.entry(call.slot.clone()).or_default();
            *highest = (*highest).max(call.attempt.ordinal);
        }
    }

    /// Notes that an effect took hold.
    pub(crate) fn applied(&mut self, call: &Call) {
        if call.kind == CommandKind::DestroyLease {
            self.destroyed.insert(call.attempt.uuid);
        }
    }

    /// Notes that the outcome of an effect is in doubt from `since` on.
    pub(crate) fn doubt(&mut self, attempt: Uuid, since: u64) {
        self.doubts.insert(attempt, since);
        self.causes.insert(attempt);
    }

    /// Notes that another driver took the run: what was open is in doubt now.
    pub(crate) fn taken(&mut self, now: u64) {
        let open = self.open.iter().filter(|(_, steps)| !steps.is_empty());
        for attempt in open.map(|(attempt, _)| *attempt).collect::<Vec<_>>() {
            self.doubts.insert(attempt, now);
        }
    }

    /// Notes that the world told of an attempt, and what it told was to be believed.
    pub(crate) fn looked(&mut self, attempt: Uuid, now: u64) {
        self.looks.insert(attempt, now);
        self.lacking.remove(&attempt);
        if self.doubts.get(&attempt).is_some_and(|since| *since <= now) {
            self.doubts.remove(&attempt);
        }
    }

    /// Notes that a complete listing lacked an attempt.
    pub(crate) fn unlisted(&mut self, attempt: Uuid, now: u64) {
        let since = *self.lacking.entry(attempt).or_insert(now);
        if now - since >= GRACE_MS {
            self.lacked.insert(attempt);
            self.causes.insert(attempt);
        }
    }

    /// Notes what a commit brought, and what may exist while it is carried out.
    pub(crate) fn wrote(&mut self, commit: &Commit, shape: Option<&ClusterShape>) {
        for write in &commit.records {
            match write {
                RecordWrite::Put(record) => {
                    let had = self.attempts.entry(record.slot.clone()).or_default();
                    had.extend(record.attempts().map(|one| one.attempt.uuid));
                }
                RecordWrite::Remove(slot) => {
                    // The next record of the slot counts its attempts anew, under identities of its own.
                    self.ordinals.remove(slot);
                    self.buried.extend(self.attempts.remove(slot).into_iter().flatten());
                }
            }
        }
        for intent in &commit.intents {
            self.open.entry(intent.attempt.uuid).or_default().insert(intent.step);
            self.newest.2 = self.newest.2.max(intent.step);
            let group = shape.and_then(|shape| shape.group(&intent.slot.group));
            let most = group.map_or(0, |g| g.count + g.policy.update.surge(g.count));
            self.bounds.insert(intent.step, most);
            self.intents.push(intent.clone());
        }
        for step in commit.steps.iter().filter(|step| step.finished_at.is_some()) {
            for open in self.open.values_mut() {
                open.remove(&step.step);
            }
        }
        if let Some(pass) = &commit.pass {
            self.newest.0 = self.newest.0.max(pass.pass);
        }
        for write in &commit.operations {
            if let OperationWrite::Open { id, .. } = write {
                self.newest.1 = self.newest.1.max(*id);
            }
        }
    }

    /// The newest intents that are settled, under the fence of another driver.
    pub(crate) fn replayable(&self, fence: Fence) -> Vec<Intent> {
        let settled = |intent: &&Intent| {
            let open = self.open.get(&intent.attempt.uuid);
            open.is_none_or(|open| !open.contains(&intent.step))
        };
        let last = self.intents.iter().rev().filter(settled).take(2);
        last.map(|intent| Intent { fence, ..intent.clone() }).collect()
    }
}
