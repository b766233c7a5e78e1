//! The immutable snapshot that faces read: publishing it costs the number of groups, not of nodes.

use std::{collections::BTreeMap, sync::Arc};

use checkpoint::record::ShapeSource;
use reconciler_core::{
    desired::ClusterShape,
    id::{Fence, LogicalNodeId, PassNumber},
    observed::{ClusterState, NodeRecord},
    ownership::Shortage,
    reconcile::{Outlook, ReconcilePlan, Standing, outlook, standing},
    time::Timestamp,
};

use crate::{
    history::History,
    state::State,
    totals::Totals,
    view::{DriverView, FileView, RunState},
};

/// What a driver shows at one moment.
#[derive(Clone, Debug)]
pub struct Published {
    pub(crate) cluster: ClusterState,
    pub(crate) shape: Arc<ClusterShape>,
    pub(crate) source: Option<ShapeSource>,
    pub(crate) history: History,
    pub(crate) driver: Option<DriverView>,
    pub(crate) file: Option<Arc<FileView>>,
    pub(crate) pass: PassNumber,
    pub(crate) at: Timestamp,
    pub(crate) due: Option<Timestamp>,
    /// Effects on their way at once, at most.
    pub(crate) parallelism: u32,
    /// Slots whose lease waits for something to become free, and for what.
    pub(crate) short: Arc<BTreeMap<LogicalNodeId, String>>,
    /// True while something that was begun may still change what is known: a look, a report, a step.
    pub(crate) under_way: bool,
    /// True while what serves after a way back is still to be looked at.
    pub(crate) proving: bool,
    /// True once every provider was looked at.
    pub(crate) observed: bool,
    /// What was done so far, in numbers.
    pub(crate) totals: Totals,
}

impl Published {
    /// True once every provider was asked what it holds: from then on the driver decides.
    pub const fn has_looked(&self) -> bool {
        self.observed
    }

    /// How long from `now` on until the first node that backs off is tried again; nothing if none does. Costs the
    /// number of nodes.
    pub fn retry_in(&self, now: Timestamp) -> Option<std::time::Duration> {
        let records = self.cluster.groups().flat_map(|(_, group)| group.records());
        let until = |record: &Arc<NodeRecord>| record.backoff.not_before.filter(|at| *at > now);
        let first = records.filter_map(until).min();
        first.map(|at| std::time::Duration::from_millis(at.since(now).get()))
    }

    /// The counts alone: costs the number of groups.
    pub fn standing(&self) -> Standing {
        standing(&self.cluster, &self.shape)
    }

    /// The live generation.
    pub fn generation(&self) -> reconciler_core::id::Generation {
        self.shape.generation
    }

    /// The last pass that did something.
    pub const fn pass(&self) -> PassNumber {
        self.pass
    }

    /// How the run stands: costs the number of groups if it is as it should be, else that of nodes.
    pub fn state(&self) -> RunState {
        if self.driver.is_some() && self.is_settled() && self.standing().converged {
            return RunState::Converged;
        }
        self.state_by(&self.outlook(&self.decided()))
    }

    /// What is not as it should be, by the decisions of `plan`.
    pub(crate) fn outlook(&self, plan: &ReconcilePlan) -> Outlook {
        outlook(&self.cluster, &self.shape, plan, self.at)
    }

    pub(crate) fn state_by(&self, outlook: &Outlook) -> RunState {
        if self.driver.is_none() {
            RunState::Unattended
        } else if outlook.outstanding.is_empty() && self.is_settled() {
            RunState::Converged
        } else if outlook.is_stuck() && !self.under_way {
            RunState::Held
        } else {
            RunState::Converging
        }
    }

    /// True if nothing is left to be looked at: before the first look, what is known says nothing about what is there.
    const fn is_settled(&self) -> bool {
        self.observed && !self.proving
    }

    /// The digest-free facts that a face needs to look a slot up.
    pub fn cluster(&self) -> &ClusterState {
        &self.cluster
    }

    /// The live shape.
    pub fn shape(&self) -> &Arc<ClusterShape> {
        &self.shape
    }

    /// The driver's fence, if one drives.
    pub fn fence(&self) -> Option<Fence> {
        self.driver.as_ref().map(|driver| driver.fence)
    }
}

impl State {
    /// What waits for capacity, in words; mostly nothing.
    fn shortages(&self) -> Arc<BTreeMap<LogicalNodeId, String>> {
        let told = |(slot, short): (&LogicalNodeId, &Shortage)| (slot.clone(), short.to_string());
        Arc::new(self.short.iter().map(told).collect())
    }

    /// What is shown now, by a driver that has something under way.
    pub(crate) fn published(
        &self,
        driver: &DriverView,
        file: Option<&Arc<FileView>>,
        now: Timestamp,
    ) -> Published {
        Published {
            cluster: self.cluster.snapshot(),
            shape: Arc::clone(&self.shape),
            source: self.source,
            history: self.history.history().clone(),
            driver: Some(driver.clone()),
            file: file.cloned(),
            pass: self.counters.pass,
            at: now,
            due: self.next_due(),
            parallelism: self.parallelism,
            short: self.shortages(),
            under_way: true,
            proving: !self.operations.to_be_seen().is_empty(),
            observed: false,
            totals: self.totals.clone(),
        }
    }
}
