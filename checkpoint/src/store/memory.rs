//! The store in memory: completes one commit with each poll, for tests and for simulated time.
//!
//! It keeps the same laws as the journal, in the plainest way: each commit is applied to a copy, which takes the
//! place of the state if nothing was refused; what grows without end is shared between the two. A restart keeps what
//! was polled and loses what was only submitted.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use reconciler_core::{
    checkpoint::Direction,
    effect::Intent,
    hold::Hold,
    id::{Fence, GroupId, LogicalNodeId, OperationId, PassNumber, PlanHash, PlanSerial, StepId},
    observed::{NodeRecord, Rollout},
    ownership::{OperationLease, Ownership},
};

use super::{
    book::{Book, controller},
    seal::seal,
    seam::{Commit, Committed, Store, StoreError, Ticket},
};
use crate::{
    event::{EventRow, EventWrite, PassRow},
    lease::LeaseRow,
    operation::{OpenOperation, OperationRow, OperationStatus},
    ownership,
    record::{GroupWrite, RecordWrite, RolloutWrite, ShapeRow},
    scan::{EVENTS_TAIL, Recovered},
    step::StepRow,
};

/// A store that forgets everything with its process.
#[derive(Debug)]
pub struct MemoryStore {
    queue: VecDeque<(Ticket, Commit)>,
    last: Ticket,
    fence: Fence,
    present: Fence,
    failed: Option<StoreError>,
    state: State,
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) shape: Option<ShapeRow>,
    pub(super) used: BTreeMap<PlanHash, PlanSerial>,
    pub(super) operations: BTreeMap<OperationId, OperationRow>,
    pub(super) steps: BTreeMap<StepId, Arc<StepRow>>,
    pub(super) records: BTreeMap<LogicalNodeId, Arc<NodeRecord>>,
    pub(super) holds: BTreeMap<GroupId, Hold>,
    pub(super) rollouts: BTreeMap<GroupId, Rollout>,
    pub(super) leases: BTreeMap<OperationId, OperationLease>,
    pub(super) property: Book,
    pub(super) events: Vec<Arc<EventRow>>,
    pub(super) passes: BTreeMap<PassNumber, PassRow>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::with(Fence::new(1), State::default())
    }
}

impl MemoryStore {
    /// An empty store with the first fence.
    pub fn new() -> Self {
        Self::default()
    }

    fn with(fence: Fence, state: State) -> Self {
        let (queue, last) = (VecDeque::new(), Ticket(0));
        Self { queue, last, fence, present: fence, failed: None, state }
    }

    /// The fence under which it writes.
    pub const fn fence(&self) -> Fence {
        self.fence
    }

    /// The passes that were written, in order.
    pub fn passes(&self) -> impl Iterator<Item = &PassRow> {
        self.state.passes.values()
    }

    /// Every operation that was written, open and closed.
    pub fn operations(&self) -> impl Iterator<Item = &OperationRow> {
        self.state.operations.values()
    }

    /// Every step that was written.
    pub fn steps(&self) -> impl Iterator<Item = &StepRow> {
        self.state.steps.values().map(AsRef::as_ref)
    }

    /// The records as they are written, in the order of slots.
    pub fn records(&self) -> impl Iterator<Item = &Arc<NodeRecord>> {
        self.state.records.values()
    }

    /// One slot's record as it is written.
    pub fn record(&self, slot: &LogicalNodeId) -> Option<&Arc<NodeRecord>> {
        self.state.records.get(slot)
    }

    /// The group holds that are written.
    pub fn holds(&self) -> impl Iterator<Item = (&GroupId, &Hold)> {
        self.state.holds.iter()
    }

    /// The updates that are written.
    pub fn rollouts(&self) -> impl Iterator<Item = (&GroupId, &Rollout)> {
        self.state.rollouts.iter()
    }

    /// What attempts own, in the order of slots and attempts.
    pub fn ownership(&self) -> Vec<Ownership> {
        self.state.property.all()
    }

    /// One step as it is written.
    pub fn step(&self, step: StepId) -> Option<&StepRow> {
        self.state.steps.get(&step).map(AsRef::as_ref)
    }

    /// The shape that is written, if one was.
    pub fn shape(&self) -> Option<&ShapeRow> {
        self.state.shape.as_ref()
    }

    /// Lets every commit from now on fail with `error`, as a full disk does.
    pub fn fail(&mut self, error: StoreError) {
        self.failed = Some(error);
    }

    /// Lets another driver take the run: the next commit is refused as fenced.
    pub const fn fence_off(&mut self) {
        self.present = self.present.next();
    }

    /// The store as the next driver finds it: what was only submitted is lost, the fence is one higher.
    pub fn restart(&self) -> (Self, Recovered) {
        let store = Self::with(self.present.next(), self.state.clone());
        let recovered = store.recovered();
        (store, recovered)
    }

    /// Everything that a driver would start from.
    pub fn recovered(&self) -> Recovered {
        self.state.recovered(self.fence)
    }

    fn complete(&mut self, commit: Commit) -> Result<Vec<Intent>, StoreError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let (mine, present) = (self.fence, self.present);
        if mine != present {
            let error = StoreError::Fenced { mine, present };
            self.failed = Some(error.clone());
            return Err(error);
        }
        let mut next = self.state.clone();
        next.apply(&commit, mine)?;
        self.state = next;
        Ok(commit.intents)
    }
}

impl Store for MemoryStore {
    fn submit(&mut self, commit: Commit) -> Ticket {
        self.last = Ticket(self.last.0.saturating_add(1));
        self.queue.push_back((self.last, commit));
        self.last
    }

    fn is_used(&self, hash: &PlanHash) -> bool {
        self.state.used.contains_key(hash)
    }

    fn poll(&mut self) -> Option<Committed> {
        let (ticket, commit) = self.queue.pop_front()?;
        Some(Committed { ticket, result: self.complete(commit).map(seal) })
    }
}

impl State {
    fn apply(&mut self, commit: &Commit, fence: Fence) -> Result<(), StoreError> {
        let at = commit.at;
        if let Some(pass) = &commit.pass {
            self.passes.insert(pass.pass, pass.clone());
        }
        if let Some(row) = &commit.shape {
            if let Some(present) = &self.shape {
                present.shape.may_become(&row.shape).map_err(StoreError::Shape)?;
            }
            self.shape = Some(row.clone());
        }
        if let Some(plan) = &commit.used_plan
            && self.used.insert(plan.hash, plan.serial).is_some()
        {
            return Err(StoreError::PlanUsed(plan.hash));
        }
        let mut touched = BTreeSet::new();
        for write in &commit.operations {
            self.open(write, fence, at)?;
            touched.extend(self.turn(write)?);
        }
        for write in &commit.steps {
            touched.insert(self.step(write)?);
        }
        for intent in &commit.intents {
            touched.insert(self.intent(intent, fence, at)?);
        }
        for operation in touched {
            self.derive(operation, at);
        }
        commit.operations.iter().try_for_each(|write| self.close(write, at))?;
        commit.records.iter().try_for_each(|write| self.record(write))?;
        commit
            .intents
            .iter()
            .try_for_each(|one| ownership::intend(&mut self.property, one, &controller(), at))?;
        commit.groups.iter().for_each(|write| self.group(write));
        commit.rollouts.iter().for_each(|write| self.rollout(write));
        commit.events.iter().for_each(|event| self.event(event));
        Ok(())
    }

    fn record(&mut self, write: &RecordWrite) -> Result<(), StoreError> {
        match write {
            RecordWrite::Put(record) => {
                self.records.insert(record.slot.clone(), Arc::clone(record));
            }
            RecordWrite::Remove(slot) => drop(self.records.remove(slot)),
        }
        ownership::record(&mut self.property, write)
    }

    fn group(&mut self, write: &GroupWrite) {
        match &write.hold {
            Some(hold) => drop(self.holds.insert(write.group.clone(), hold.clone())),
            None => drop(self.holds.remove(&write.group)),
        }
    }

    fn rollout(&mut self, write: &RolloutWrite) {
        match &write.rollout {
            Some(rollout) => drop(self.rollouts.insert(write.group.clone(), rollout.clone())),
            None => drop(self.rollouts.remove(&write.group)),
        }
    }

    fn event(&mut self, event: &EventWrite) {
        let subject = event.subject.to_string();
        let newest = self.events.iter_mut().rev().find(|row| row.subject == subject);
        if let Some(row) = newest.filter(|row| row.kind == event.kind && row.text == event.text) {
            let row = Arc::make_mut(row);
            row.count = row.count.saturating_add(1);
            row.at = event.at;
            row.pass = event.pass;
            return;
        }
        self.events.push(Arc::new(EventRow {
            seq: self.events.last().map_or(1, |row| row.seq.saturating_add(1)),
            first_at: event.at,
            at: event.at,
            pass: event.pass,
            subject,
            kind: event.kind.to_string(),
            text: event.text.clone(),
            count: 1,
        }));
    }

    fn lease_row(&self, operation: OperationId, lease: &OperationLease) -> Option<LeaseRow> {
        let row = self.operations.get(&operation)?;
        Some(LeaseRow {
            operation,
            group: row.group.clone(),
            plan: row.plan,
            lease: lease.clone(),
            machine: String::new(),
            target: None,
            way_back: row.compensation.is_some() || row.direction == Direction::Rollback,
        })
    }

    fn recovered(&self, fence: Fence) -> Recovered {
        let open = self.operations.values().filter(|row| row.status == OperationStatus::Active);
        let steps = || self.steps.values().map(AsRef::as_ref);
        let steps_of = |id| steps().filter(move |step| step.operation == id).cloned();
        let last_operation = self.operations.keys().next_back().copied().unwrap_or_default();
        let last_step = self.steps.keys().next_back().copied().unwrap_or_default();
        let tail = self.events.len().saturating_sub(EVENTS_TAIL as usize);
        Recovered {
            fence,
            previous_owner: None,
            shape: self.shape.clone(),
            file_digest: self.shape.as_ref().and_then(|row| row.file_digest.clone()),
            serial: self.used.values().max().map_or(PlanSerial::default(), |top| top.next()),
            last_pass: self.passes.keys().next_back().copied().unwrap_or_default(),
            next_operation: last_operation.next(),
            next_step: last_step.next(),
            records: self.records.values().map(|record| NodeRecord::clone(record)).collect(),
            group_holds: self.holds.iter().map(|(g, hold)| (g.clone(), hold.clone())).collect(),
            rollouts: self.rollouts.iter().map(|(g, r)| (g.clone(), r.clone())).collect(),
            open_operations: open
                .map(|row| OpenOperation { row: row.clone(), steps: steps_of(row.id).collect() })
                .collect(),
            events: self.events.iter().skip(tail).map(|event| EventRow::clone(event)).collect(),
            leases: self
                .leases
                .iter()
                .filter_map(|(id, lease)| self.lease_row(*id, lease))
                .collect(),
            unreadable: Vec::new(),
        }
    }
}
