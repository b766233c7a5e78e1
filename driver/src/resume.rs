//! What a driver finds when it takes a run: records, holds and counters as they were journaled, and the doubt
//! about everything that was on its way.

use std::{collections::BTreeMap, sync::Arc};

use checkpoint::scan::Recovered;
use executor::seam::Capabilities;
use reconciler_core::{
    desired::ClusterShape,
    fold::{Fact, Transition},
    hold::{Hold, HoldCode},
    id::{AttemptOrdinal, LogicalNodeId, ProviderName, RunName, Uuid},
    observed::ClusterState,
    redact::Redacted,
    time::Timestamp,
};

use crate::{
    history::History,
    operations::Operations,
    state::{Counters, Mode, State},
    view::EventView,
};

/// What the driver is told, beside what it finds.
pub(crate) struct Given {
    pub(crate) run: RunName,
    pub(crate) uuid: Uuid,
    pub(crate) capabilities: BTreeMap<ProviderName, Capabilities>,
    pub(crate) parallelism: u32,
    pub(crate) mode: Mode,
}

impl State {
    /// Takes back what the journal holds.
    pub(crate) fn resume(given: Given, recovered: Recovered, now: Timestamp) -> Self {
        let shape = recovered.shape.as_ref().map(|row| Arc::clone(&row.shape));
        let shape = shape.unwrap_or_else(|| Arc::new(ClusterShape::empty(given.run, given.uuid)));
        let cluster = ClusterState::restore(recovered.records, recovered.holds, now);
        let open = recovered.open_operations.iter().map(|open| (open.row.group.clone(), open.row.id));
        let events = recovered.events.iter().map(event_view).collect();
        let mut state = Self {
            cluster,
            shape,
            file_digest: recovered.shape.and_then(|row| row.file_digest),
            fence: recovered.fence,
            plan_fence: recovered.plan_fence,
            counters: Counters {
                pass: recovered.last_pass,
                operation: recovered.next_operation,
                step: recovered.next_step,
                serial: recovered.serial,
            },
            operations: Operations::restore(open),
            used: recovered.used_plans,
            work: std::collections::BTreeSet::new(),
            history: History::restore(events, recovered.next_event),
            capabilities: given.capabilities,
            parallelism: given.parallelism,
            mode: given.mode,
        };
        for bad in &recovered.unreadable {
            state.hold_unreadable(&bad.slot, &bad.error, now);
        }
        state.fold(Fact::Resumed, now);
        state.mark_all();
        state
    }

    /// A record that cannot be read holds its slot, so that nothing is made a second time (D13, C17).
    fn hold_unreadable(&mut self, slot: &str, error: &str, now: Timestamp) {
        let Ok(slot) = slot.parse::<LogicalNodeId>() else {
            tracing::error!(slot, error, "a record names no slot; it is left alone");
            return;
        };
        let shape = Arc::clone(&self.shape);
        let Some(group) = shape.group(&slot.group) else {
            tracing::error!(%slot, error, "a record of an undeclared group cannot be read; it is left alone");
            return;
        };
        let spec = Box::new(shape.stamp(group, slot.clone(), AttemptOrdinal::new(0)));
        self.fold(Fact::Decided { slot: slot.clone(), transition: Transition::Insert(spec) }, now);
        let text = Redacted::new(&format!("its record cannot be read: {error}"));
        let hold = Hold { code: HoldCode::Unrecognised, text, since: now };
        self.fold(Fact::Decided { slot, transition: Transition::Hold(hold) }, now);
        // The placeholder is not journaled: the row that cannot be read stays as evidence.
        drop(self.cluster.take_dirty());
    }
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
