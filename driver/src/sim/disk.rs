//! The journal of a story: what was handed over is written a while later and all at once, and what was not written
//! when its driver dies is lost.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use checkpoint::{
    record::RecordWrite,
    scan::Recovered,
    store::{Commit, Committed, Store, StoreError, Ticket},
};
use reconciler_core::{
    effect::Intent,
    id::{Fence, LogicalNodeId, PlanHash},
    observed::NodeRecord,
};
use tokio::time::Instant;

use super::{
    bug::Bug,
    bug_journal::{says_at_once, sealed, taken_over, torn},
    dice::Dice,
    event::{Event, Written},
    land::Origin,
    laws,
    scene::{Scene, Stage},
    story::Moment,
};
use crate::StoreWake;

/// The journal in the hands of one driver.
pub(crate) struct SimStore {
    stage: Stage,
    life: usize,
    fence: Fence,
    last: Ticket,
    queue: Vec<(Ticket, Commit)>,
    answers: Answers,
    /// When the writer has written what it was given so far.
    free_at: Instant,
    wake: Arc<Mutex<StoreWake>>,
}

type Answers = Arc<Mutex<VecDeque<Committed>>>;

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimStore {
    /// Takes the run for the next driver, which begins with what was synced.
    pub(crate) fn take(stage: &Stage, life: usize, wake: StoreWake) -> (Self, Recovered) {
        let (fence, bug, recovered) = stage.with(|scene| {
            let (disk, recovered) = scene.disk.restart();
            scene.disk = disk;
            scene.taken_at = scene.now();
            let now = scene.taken_at;
            scene.book.taken(now);
            (recovered.fence, scene.bug, recovered)
        });
        let store = Self {
            stage: stage.clone(),
            life,
            fence,
            last: Ticket(0),
            queue: Vec::new(),
            answers: Arc::default(),
            free_at: Instant::now(),
            wake: Arc::new(Mutex::new(wake)),
        };
        let recovered = taken_over(bug, through_bytes(recovered));
        if bug == Some(Bug::StepReplayed) {
            store.replay();
        }
        (store, recovered)
    }

    /// Hands the newest settled steps out once more, as the seeded bug has it.
    fn replay(&self) {
        let intents = self.stage.with(|scene| scene.book.replayable(self.fence));
        if let Some(answer) = sealed(Ticket(0), self.fence, intents) {
            locked(&self.answers).push_back(answer);
        }
    }

    fn delay(&self) -> Duration {
        self.stage.with(|scene| {
            if let Some(slow) = scene.slow_write.take() {
                return Duration::from_millis(slow);
            }
            let mut dice = Dice::new(scene.seed, ("disk", self.life, self.last.0));
            Duration::from_millis(dice.between(1, 15))
        })
    }
}

/// What a driver finds is what was written as bytes.
fn through_bytes(recovered: Recovered) -> Recovered {
    let read = |record: &NodeRecord| {
        let text = serde_json::to_string(record).expect("a record is written as JSON");
        serde_json::from_str(&text).expect("what was written is read")
    };
    let records = recovered.records.iter().map(read).collect();
    Recovered { records, ..recovered }
}

impl Store for SimStore {
    fn submit(&mut self, commit: Commit) -> Ticket {
        self.last = Ticket(self.last.0 + 1);
        let lost = self.stage.with(|scene| {
            scene.is_dead(self.life)
                || (!commit.is_empty() && scene.dies_at(Moment::BeforeCommit, self.life))
        });
        if lost {
            return self.last;
        }
        let bug = self.stage.with(|scene| scene.bug);
        if says_at_once(bug, &commit)
            && let Some(answer) = sealed(self.last, self.fence, commit.intents.clone())
        {
            locked(&self.answers).push_back(answer);
        }
        self.queue.push((self.last, commit));
        self.last
    }

    #[expect(clippy::disallowed_methods, reason = "the writer of a story is a task")]
    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.queue);
        if batch.is_empty() || self.stage.is_dead(self.life) {
            return;
        }
        self.free_at = self.free_at.max(Instant::now()) + self.delay();
        let (stage, life, fence) = (self.stage.clone(), self.life, self.fence);
        let (answers, wake, at) = (Arc::clone(&self.answers), Arc::clone(&self.wake), self.free_at);
        tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            let done = stage.with(|scene| write(scene, (life, fence), batch));
            if let Some(done) = done {
                locked(&answers).extend(done);
                locked(&wake)();
            }
        });
    }

    fn poll(&mut self) -> Option<Committed> {
        self.flush();
        locked(&self.answers).pop_front()
    }

    fn is_used(&self, hash: &PlanHash) -> bool {
        self.stage.with(|scene| scene.disk.is_used(hash))
    }
}

/// Writes a batch with one sync; nothing if its driver died before that or dies right after it.
fn write(
    scene: &mut Scene,
    (life, fence): (usize, Fence),
    batch: Vec<(Ticket, Commit)>,
) -> Option<Vec<Committed>> {
    if scene.is_dead(life) {
        scene.tell(&format!("lost: {} commits of driver {life}", batch.len()));
        return None;
    }
    let full = std::mem::take(&mut scene.full);
    let mut done = Vec::new();
    for (ticket, commit) in batch {
        let said = says_at_once(scene.bug, &commit);
        let result =
            if full { Err(StoreError::WriterGone) } else { keep(scene, (life, fence), commit) };
        if let Err(error) = &result {
            scene.tell(&format!("not kept, of driver {life}: {error}"));
        }
        if !said || result.is_err() {
            done.push(Committed { ticket, result });
        }
    }
    (!scene.dies_at(Moment::AfterCommit, life)).then_some(done)
}

type Kept = Result<Vec<reconciler_core::durable::Durable<Intent>>, StoreError>;

fn keep(scene: &mut Scene, (life, mine): (usize, Fence), commit: Commit) -> Kept {
    let present = scene.disk.fence();
    if mine != present && scene.bug != Some(Bug::UnfencedWrites) {
        return Err(StoreError::Fenced { mine, present });
    }
    if let Some((first, second)) = torn(scene.bug, &commit) {
        keep_whole(scene, (life, mine), first)?;
        return keep_whole(scene, (life, mine), second);
    }
    keep_whole(scene, (life, mine), commit)
}

/// What passed for gone because nothing showed it yet is nobody's from now on.
fn disown(scene: &mut Scene, before: &BTreeMap<LogicalNodeId, Option<Arc<NodeRecord>>>) {
    let leases = |record: Option<&NodeRecord>| -> BTreeSet<String> {
        let attempts = record.into_iter().flat_map(NodeRecord::attempts);
        attempts.filter_map(|one| Some(one.stage.lease()?.id.to_string())).collect()
    };
    for (slot, before) in before {
        let kept = leases(scene.disk.record(slot).map(Arc::as_ref));
        for lease in leases(before.as_deref()).difference(&kept) {
            let hidden = scene.land.things.get(lease).is_some_and(|thing| scene.hides(thing));
            if let Some(thing) = scene.land.things.get_mut(lease).filter(|_| hidden) {
                thing.origin = Origin::Stray;
            }
        }
    }
}

fn keep_whole(scene: &mut Scene, (life, mine): (usize, Fence), commit: Commit) -> Kept {
    let slots = commit.records.iter().map(|write| match write {
        RecordWrite::Put(record) => record.slot.clone(),
        RecordWrite::Remove(slot) => slot.clone(),
    });
    let before: BTreeMap<LogicalNodeId, Option<Arc<NodeRecord>>> = slots
        .map(|slot| {
            let record = scene.disk.record(&slot).cloned();
            (slot, record)
        })
        .collect();
    let all = if commit.intents.is_empty() {
        Vec::new()
    } else {
        scene.disk.records().cloned().collect()
    };
    let kept = commit.clone();
    scene.disk.submit(commit);
    let result = scene.disk.poll().map_or(Err(StoreError::WriterGone), |done| done.result);
    if result.is_ok() {
        let numbers = scene.book.newest;
        let written = Written { life, mine, commit: &kept, before: &before, all: &all, numbers };
        scene.tell(&written.to_string());
        laws::check(scene, &Event::Written(&written));
        let shape = scene.disk.shape().map(|row| Arc::clone(&row.shape));
        scene.book.wrote(&kept, shape.as_deref());
        disown(scene, &before);
        if !kept.intents.is_empty() {
            scene.usurp(life);
        }
    }
    result
}
