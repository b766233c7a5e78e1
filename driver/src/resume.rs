//! What a driver finds when it takes a run: records, holds and counters as they were journaled, and the doubt
//! about everything that was on its way.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use checkpoint::{
    operation::OpenOperation,
    scan::Recovered,
    step::StepRow,
    unreadable::{RowKind, Unreadable},
};
use executor::{seam::Capabilities, secret::Secrets};
use reconciler_core::{
    checkpoint::Direction,
    desired::ClusterShape,
    fold::{Fact, Transition},
    hold::{Hold, HoldCode},
    id::{AttemptOrdinal, Fence, GroupId, LogicalNodeId, OperationId, ProviderName, RunName, Uuid},
    observed::ClusterState,
    ownership::HandoffTarget,
    reconcile::Parked,
    redact::Redacted,
    saga::audit,
    time::Timestamp,
};

use crate::{
    capacity::Declared,
    history::Chronicle,
    operations::{Operations, Unread},
    shown::Shown,
    state::{Counters, Mode, State},
    taking_over,
    totals::Totals,
    view::EventView,
};

/// What the driver is told, beside what it finds.
pub(crate) struct Given {
    pub(crate) run: RunName,
    pub(crate) uuid: Uuid,
    pub(crate) capabilities: BTreeMap<ProviderName, Capabilities>,
    pub(crate) secrets: Secrets,
    pub(crate) declared: Declared,
    pub(crate) parallelism: u32,
    pub(crate) plan_fence: Fence,
    pub(crate) mode: Mode,
}

impl State {
    /// Takes back what the journal holds; with `doubt`, whatever was on its way has an unknown outcome now.
    pub(crate) fn resume(given: Given, recovered: Recovered, doubt: bool, now: Timestamp) -> Self {
        let source = recovered.shape.as_ref().map(|row| row.source);
        let shape = recovered.shape.as_ref().map(|row| Arc::new(row.shape.redigested()));
        let shape = shape.unwrap_or_else(|| Arc::new(ClusterShape::empty(given.run, given.uuid)));
        let handed = handed_over(&recovered);
        let holds = holds(&recovered, &handed, now);
        // What such a hold was made from may be readable again once its steps go on; the hold stays until it is ended.
        let unwritten_holds = holds.iter().filter(|(_, hold)| hold.code.is_of_operation());
        let unwritten_holds = unwritten_holds.map(|(group, _)| group.clone()).collect();
        let cluster = ClusterState::restore(recovered.records, holds, now)
            .with_rollouts(recovered.rollouts, now);
        let open = recovered
            .open_operations
            .iter()
            .map(|open| (open.row.group.clone(), (&open.row).into()));
        let next_event = recovered.events.last().map_or(1, |event| event.seq.saturating_add(1));
        let events = recovered.events.iter().rev().map(event_view).collect();
        let mut state = Self {
            cluster,
            shape,
            source,
            file_digest: recovered.file_digest,
            fence: recovered.fence,
            plan_fence: given.plan_fence,
            counters: Counters {
                pass: recovered.last_pass,
                operation: recovered.next_operation,
                step: recovered.next_step,
                serial: recovered.serial,
            },
            operations: Operations::restore(open, unread(&recovered.unreadable), &handed),
            work: BTreeSet::new(),
            queued: BTreeMap::new(),
            parked: Parked::default(),
            requeue_at: None,
            history: Chronicle::restore(events, next_event),
            totals: Totals::default(),
            shown: Shown::default(),
            told: Vec::new(),
            capabilities: given.capabilities,
            secrets: given.secrets,
            declared: given.declared,
            short: BTreeMap::new(),
            parallelism: given.parallelism,
            mode: given.mode,
            unwritten: BTreeSet::new(),
            unwritten_holds,
            looks: Vec::new(),
            taken_back: false,
        };
        state.note_unreadable(&recovered.unreadable, now);
        if doubt {
            drop(state.cluster.take_dirty());
            state.fold(Fact::Resumed, now);
            // Who is in doubt now is written with the first pass, whatever else that brings.
            state.unwritten = state.cluster.take_dirty();
        }
        state.mark_all();
        state
    }

    /// Holds the slots of records that cannot be read, and tells of every row that cannot.
    fn note_unreadable(&mut self, unreadable: &[Unreadable], now: Timestamp) {
        for bad in unreadable {
            match bad.kind {
                RowKind::Record => self.hold_unreadable(&bad.key, &bad.why, now),
                RowKind::GroupHold
                | RowKind::Rollout
                | RowKind::Operation
                | RowKind::Step
                | RowKind::Lease
                | RowKind::Ownership
                | RowKind::Event => {
                    tracing::error!(row = ?bad.kind, key = bad.key, why = %bad.why, "a row cannot be read");
                }
            }
        }
    }

    /// A record that cannot be read holds its slot, so that nothing is made a second time (D13, C17).
    fn hold_unreadable(&mut self, slot: &str, why: &Redacted, now: Timestamp) {
        let Ok(slot) = slot.parse::<LogicalNodeId>() else {
            tracing::error!(slot, %why, "a record names no slot; it is left alone");
            return;
        };
        let shape = Arc::clone(&self.shape);
        let Some(group) = shape.group(&slot.group) else {
            tracing::error!(%slot, %why, "a record of an undeclared group cannot be read; it is left alone");
            return;
        };
        let spec =
            Box::new(shape.stamp(group, slot.clone(), shape.generation, AttemptOrdinal::new(0)));
        self.fold(Fact::Decided { slot: slot.clone(), transition: Transition::Insert(spec) }, now);
        let text = Redacted::new(&format!("its record cannot be read: {why}"));
        let hold = Hold { code: HoldCode::Unrecognised, text, since: now };
        self.fold(Fact::Decided { slot, transition: Transition::Hold(hold) }, now);
        // The placeholder is not journaled: the row that cannot be read stays as evidence.
        drop(self.cluster.take_dirty());
    }
}

/// What holds groups: what held them already stands over a handover that waits, and a doubt stands over both.
fn holds(
    recovered: &Recovered,
    handed: &BTreeSet<OperationId>,
    now: Timestamp,
) -> Vec<(GroupId, Hold)> {
    let open = || recovered.open_operations.iter();
    let waiting = open().filter(|open| handed.contains(&open.row.id));
    let waiting = waiting.map(|open| taking_over::awaits(&open.row, now));
    let lost = recovered.unreadable.iter().filter_map(|bad| lost_hold(bad, now));
    let doubted = open().filter_map(|open| not_gone_by(open, now));
    waiting.chain(recovered.group_holds.iter().cloned()).chain(lost).chain(doubted).collect()
}

/// A group whose hold cannot be read stays held: what it was for is not known to be over (C17).
fn lost_hold(bad: &Unreadable, now: Timestamp) -> Option<(GroupId, Hold)> {
    let (code, what) = match bad.kind {
        RowKind::GroupHold => (HoldCode::Unrecognised, "its hold".to_owned()),
        RowKind::Operation => (HoldCode::PlanningIncomplete, named(bad, "operation")),
        RowKind::Step => (HoldCode::PlanningIncomplete, named(bad, "a step of operation")),
        RowKind::Record
        | RowKind::Rollout
        | RowKind::Lease
        | RowKind::Ownership
        | RowKind::Event => return None,
    };
    let group = bad.key.parse().ok()?;
    let see = bad.operation.map(|id| format!("; see `levelhead recovery show {id}`"));
    let text = format!("{what} cannot be read: {}{}", bad.why, see.unwrap_or_default());
    Some((group, Hold { code, text: Redacted::new(&text), since: now }))
}

/// What cannot be read, by the number of its operation.
fn named(bad: &Unreadable, what: &str) -> String {
    bad.operation.map_or_else(|| what.to_owned(), |id| format!("{what} {id}"))
}

/// The open operations that cannot be read, by their numbers.
fn unread(unreadable: &[Unreadable]) -> BTreeMap<OperationId, Unread> {
    let operations = unreadable.iter().filter(|bad| bad.kind == RowKind::Operation);
    let unread = |bad: &Unreadable| {
        Some((bad.operation?, Unread { group: bad.key.clone(), why: bad.why.clone() }))
    };
    operations.filter_map(unread).collect()
}

/// The operations that were handed over to be taken back and were not yet (R145).
fn handed_over(recovered: &Recovered) -> BTreeSet<OperationId> {
    let to_go_back = recovered.leases.iter().filter(|l| l.target == Some(HandoffTarget::Rollback));
    let handed: BTreeSet<OperationId> = to_go_back.map(|lease| lease.operation).collect();
    let forward = recovered.open_operations.iter().map(|open| &open.row);
    let forward = forward.filter(|row| row.direction == Direction::Forward);
    forward.map(|row| row.id).filter(|id| handed.contains(id)).collect()
}

/// A group is held whose open operation stands in a way that nobody can go by: before any provider is asked, and
/// without a guess at what an unknown name may mean (R120, R130).
fn not_gone_by(open: &OpenOperation, now: Timestamp) -> Option<(GroupId, Hold)> {
    let steps = open.steps.iter();
    let unknown = open.row.checkpoint.as_ref().err().map(ToString::to_string);
    let unknown = unknown.or_else(|| {
        let (step, error) =
            steps.clone().find_map(|s| Some((s.step, s.checkpoint.as_ref().err()?)))?;
        Some(format!("step {step}: {error}"))
    });
    let audited = || audit(steps.map(StepRow::written)).err().map(|error| error.to_string());
    let why = unknown.or_else(audited)?;
    let id = open.row.id;
    let text = format!(
        "how far operation {id} came is not known: {why}; see `levelhead recovery show {id}`"
    );
    let (code, text) = (HoldCode::PlanningIncomplete, Redacted::new(&text));
    Some((open.row.group.clone(), Hold { code, text, since: now }))
}

/// A journaled event as it is shown.
pub(crate) fn event_view(row: &checkpoint::event::EventRow) -> EventView {
    EventView {
        seq: row.seq,
        at: row.at,
        pass: row.pass,
        subject: row.subject.clone(),
        kind: row.kind.clone(),
        text: row.text.to_string(),
        count: row.count,
    }
}
