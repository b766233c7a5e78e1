//! The immutable snapshot that faces read: publishing it costs the number of groups, not of nodes.

use std::{collections::BTreeSet, sync::Arc};

use checkpoint::record::ShapeSource;
use reconciler_core::{
    desired::ClusterShape,
    id::{Fence, PassNumber},
    observed::{ClusterState, GroupState, NodeRecord, Side, next_due},
    reconcile::{Standing, standing},
    time::Timestamp,
};

use crate::{
    history::History,
    state::State,
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
    pub(crate) settled: bool,
    /// Effects on their way at once, at most.
    pub(crate) parallelism: u32,
}

impl Published {
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

    /// True if the driver has nothing on its way and nothing to decide before the next due time.
    pub const fn is_settled(&self) -> bool {
        self.settled
    }

    /// How the run stands.
    pub fn state(&self) -> RunState {
        let standing = self.standing();
        match (&self.driver, standing.converged) {
            (None, _) => RunState::Unattended,
            (Some(_), true) => RunState::Converged,
            (Some(_), false)
                if standing.held.max(standing.gated) > 0
                    && standing.working == 0
                    && self.settled
                    && !self.waits_to_move() =>
            {
                RunState::Held
            }
            (Some(_), false) => RunState::Converging,
        }
    }

    /// True if a node that does not serve waits for its time. What a serving one waits for, such as to be called
    /// stable, brings the run no nearer to what is wanted.
    fn waits_to_move(&self) -> bool {
        let waits = |record: &NodeRecord| {
            let second = record.side(Side::Second);
            let beside = second.is_some_and(|second| next_due(second, self.at).is_some());
            beside || (!record.is_ready() && next_due(record, self.at).is_some())
        };
        let ends = self.cluster.rollouts().any(|(_, rollout)| rollout.deadline.is_some());
        let waiting = |group: &GroupState| group.records().any(|record| waits(record));
        self.due.is_some() && (ends || self.cluster.groups().any(|(_, group)| waiting(group)))
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
    /// What is shown now.
    pub(crate) fn published(
        &self,
        driver: &DriverView,
        file: Option<&Arc<FileView>>,
        in_flight: usize,
        now: Timestamp,
    ) -> Published {
        Published {
            cluster: self.cluster.snapshot(),
            shape: Arc::clone(&self.shape),
            source: self.source,
            history: self.history.clone(),
            driver: Some(driver.clone()),
            file: file.cloned(),
            pass: self.counters.pass,
            at: now,
            due: self.next_due(),
            settled: in_flight == 0
                && self.work.is_empty()
                && self.queued.values().all(BTreeSet::is_empty),
            parallelism: self.parallelism,
        }
    }
}
