//! The store in memory: completes one commit with each poll, for tests and for simulated time.
//!
//! It keeps the same laws as the journal, in the plainest way: each commit is applied to a copy, which takes the
//! place of the state if nothing was refused. A restart keeps what was polled and loses what was only submitted.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use reconciler_core::{
    checkpoint::{Direction, OperationCheckpoint, StepCheckpoint, derive_operation},
    effect::Intent,
    hold::Hold,
    id::{Fence, GroupId, LogicalNodeId, OperationId, PassNumber, PlanHash, PlanSerial, StepId},
    observed::{NodeRecord, Rollout},
    ownership::{LeaseLength, OperationLease, Ownership},
    time::Timestamp,
};

use super::{
    book::{Book, controller},
    seal::seal,
    seam::{Commit, Committed, Store, StoreError, Ticket},
};
use crate::{
    event::{EventRow, EventWrite, PassRow},
    lease::LeaseRow,
    operation::{OpenOperation, OperationRow, OperationStatus, OperationWrite, Outcome},
    ownership,
    record::{GroupWrite, RecordWrite, RolloutWrite, ShapeRow},
    scan::{EVENTS_TAIL, Recovered},
    step::{StepRow, StepWrite},
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
struct State {
    shape: Option<ShapeRow>,
    used: BTreeMap<PlanHash, PlanSerial>,
    operations: BTreeMap<OperationId, OperationRow>,
    steps: BTreeMap<StepId, StepRow>,
    records: BTreeMap<LogicalNodeId, Arc<NodeRecord>>,
    holds: BTreeMap<GroupId, Hold>,
    rollouts: BTreeMap<GroupId, Rollout>,
    leases: BTreeMap<OperationId, OperationLease>,
    property: Book,
    events: Vec<EventRow>,
    passes: BTreeMap<PassNumber, PassRow>,
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
        self.state.steps.values()
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
        self.state.steps.get(&step)
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

    fn open(
        &mut self,
        write: &OperationWrite,
        fence: Fence,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let OperationWrite::Open { id, group, plan, goals, compensation } = write else {
            return Ok(());
        };
        let row = OperationRow {
            id: *id,
            group: group.clone(),
            plan: *plan,
            fence,
            status: OperationStatus::Active,
            checkpoint: Ok(OperationCheckpoint::IntentPersisted),
            superseded_by: None,
            goals: goals.clone(),
            direction: Direction::Forward,
            rollback_plan: None,
            compensation: compensation.clone(),
            restored: None,
            opened_at: at,
            updated_at: at,
            closed_at: None,
        };
        let taken = self.operations.insert(*id, row).is_some();
        let begun = OperationLease::begun(controller(), fence, LeaseLength::default(), at);
        self.leases.insert(*id, begun);
        if taken { Err(StoreError::OperationUsed(*id)) } else { Ok(()) }
    }

    fn active(&mut self, id: OperationId) -> Option<&mut OperationRow> {
        self.operations.get_mut(&id).filter(|row| row.status == OperationStatus::Active)
    }

    fn close(&mut self, write: &OperationWrite, at: Timestamp) -> Result<(), StoreError> {
        if let OperationWrite::Abandon { group } = write {
            let of = |row: &&mut OperationRow| row.group == *group && row.closed_at.is_none();
            for row in self.operations.values_mut().filter(of) {
                (row.updated_at, row.closed_at) = (at, Some(at));
                row.status = OperationStatus::Closed(Outcome::Interrupted);
                self.leases.remove(&row.id);
            }
            return Ok(());
        }
        let OperationWrite::Close { id, outcome, superseded_by } = write else { return Ok(()) };
        let row = self.active(*id).ok_or(StoreError::OperationNotOpen(*id))?;
        row.status = OperationStatus::Closed(*outcome);
        if let Some(own) = outcome.checkpoint() {
            row.checkpoint = Ok(own);
        }
        row.superseded_by = *superseded_by;
        row.updated_at = at;
        row.closed_at = Some(at);
        self.leases.remove(id);
        Ok(())
    }

    fn turn(&mut self, write: &OperationWrite) -> Result<Option<OperationId>, StoreError> {
        match write {
            OperationWrite::TurnBack { id, plan } => {
                let row = self.active(*id).ok_or(StoreError::OperationNotOpen(*id))?;
                (row.direction, row.restored) = (Direction::Rollback, None);
                row.rollback_plan = Some(*plan);
                Ok(Some(*id))
            }
            OperationWrite::Restored { id, proven } => {
                let row = self.active(*id).ok_or(StoreError::OperationNotOpen(*id))?;
                row.restored = Some(*proven);
                Ok(Some(*id))
            }
            OperationWrite::Open { .. }
            | OperationWrite::Abandon { .. }
            | OperationWrite::Close { .. } => Ok(None),
        }
    }

    fn step(&mut self, write: &StepWrite) -> Result<OperationId, StoreError> {
        let row = self.steps.get_mut(&write.step).ok_or(StoreError::StepUnknown(write.step))?;
        let before = row.checkpoint.as_ref().ok().map(|before| before.mark);
        let mark = write.mark.settled(before, row.direction);
        row.checkpoint = Ok(StepCheckpoint::new(row.slot.clone(), mark));
        row.result = write.result.clone();
        row.finished_at = write.finished_at;
        Ok(row.operation)
    }

    fn intent(
        &mut self,
        intent: &Intent,
        mine: Fence,
        at: Timestamp,
    ) -> Result<OperationId, StoreError> {
        let (step, operation, found) = (intent.step, intent.operation, intent.fence);
        if found != mine {
            return Err(StoreError::IntentFence { step, found, mine });
        }
        let open = self.active(operation).ok_or(StoreError::OperationNotOpen(operation))?;
        let direction = open.direction;
        if self.steps.insert(step, StepRow::pending(intent, direction, at)).is_some() {
            return Err(StoreError::StepUsed(step));
        }
        Ok(operation)
    }

    fn derive(&mut self, operation: OperationId, at: Timestamp) {
        let marks = self.active(operation).map(|row| row.marks()).unwrap_or_default();
        let steps = self.steps.values().filter(|step| step.operation == operation);
        let steps = steps.filter_map(|step| step.checkpoint.clone().ok());
        let derived = derive_operation(steps, marks);
        if let Some(row) = self.active(operation) {
            row.checkpoint = Ok(derived);
            row.updated_at = at;
        }
        if let Some(renewed) = self.leases.get(&operation).and_then(|lease| lease.renewed(at)) {
            self.leases.insert(operation, renewed);
        }
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
            row.count = row.count.saturating_add(1);
            row.at = event.at;
            row.pass = event.pass;
            return;
        }
        self.events.push(EventRow {
            seq: self.events.last().map_or(1, |row| row.seq.saturating_add(1)),
            first_at: event.at,
            at: event.at,
            pass: event.pass,
            subject,
            kind: event.kind.to_string(),
            text: event.text.clone(),
            count: 1,
        });
    }

    fn lease_row(&self, operation: OperationId, lease: &OperationLease) -> Option<LeaseRow> {
        let OperationRow { group, plan, .. } = self.operations.get(&operation)?.clone();
        let (machine, target) = (String::new(), None);
        Some(LeaseRow { operation, group, plan, lease: lease.clone(), machine, target })
    }

    fn recovered(&self, fence: Fence) -> Recovered {
        let open = self.operations.values().filter(|row| row.status == OperationStatus::Active);
        let steps_of = |id| self.steps.values().filter(move |step| step.operation == id).cloned();
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
            events: self.events.iter().skip(tail).cloned().collect(),
            leases: self
                .leases
                .iter()
                .filter_map(|(id, lease)| self.lease_row(*id, lease))
                .collect(),
            unreadable: Vec::new(),
        }
    }
}
