//! What the driver holds between passes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use checkpoint::record::ShapeSource;
use executor::{seam::Capabilities, secret::Secrets};
use reconciler_core::{
    desired::ClusterShape,
    fold::{Fact, Verdict},
    id::{
        AttemptId, Fence, GroupId, LogicalNodeId, OperationId, PassNumber, PlanSerial,
        ProviderName, StepId,
    },
    observed::ClusterState,
    ownership::Shortage,
    reconcile::Parked,
    time::{Millis, Timestamp},
};

use crate::{
    capacity::Declared, history::Chronicle, operations::Operations, shown::Shown, told::Told,
    totals::Totals,
};

/// How a driver confirms what nobody confirmed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Observing only: nothing is decided until a plan is confirmed.
    Waiting,
    /// Working.
    Driving,
}

/// The numbers that the journal hands out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// The pass that ran last.
    pub(crate) pass: PassNumber,
    /// The next operation.
    pub(crate) operation: OperationId,
    /// The next step.
    pub(crate) step: StepId,
    /// How many plans were confirmed.
    pub(crate) serial: PlanSerial,
}

/// What the driver holds between passes.
pub(crate) struct State {
    /// What is observed; written by folds alone.
    pub(crate) cluster: ClusterState,
    /// What is wanted.
    pub(crate) shape: Arc<ClusterShape>,
    /// Where the live shape came from.
    pub(crate) source: Option<ShapeSource>,
    /// The digest of the file as it was last applied.
    pub(crate) file_digest: Option<String>,
    /// This driver's epoch.
    pub(crate) fence: Fence,
    /// The fence that goes into plan hashes: the last one that was durable when a plan could be made.
    pub(crate) plan_fence: Fence,
    /// The next numbers.
    pub(crate) counters: Counters,
    /// Open operations.
    pub(crate) operations: Operations,
    /// Slots to decide in the next pass.
    pub(crate) work: BTreeSet<LogicalNodeId>,
    /// Slots that have a command and wait for a place among those in flight; disjoint from `work`.
    pub(crate) queued: BTreeMap<ProviderName, BTreeSet<LogicalNodeId>>,
    /// Slots that wait for what other slots come to.
    pub(crate) parked: Parked,
    /// When the next of the slots that wait for a provider may be asked again.
    pub(crate) requeue_at: Option<Timestamp>,
    /// The last passes and events.
    pub(crate) history: Chronicle,
    /// What was done so far, in numbers.
    pub(crate) totals: Totals,
    /// What the plans that were shown last are bound to.
    pub(crate) shown: Shown,
    /// Events of the commit that is being made.
    pub(crate) told: Vec<Told>,
    /// What the providers can do.
    pub(crate) capabilities: BTreeMap<ProviderName, Capabilities>,
    /// The secrets of nodes.
    pub(crate) secrets: Secrets,
    /// What the providers are declared to have.
    pub(crate) declared: Declared,
    /// Slots whose lease waits for something to become free at its provider, and for what.
    pub(crate) short: BTreeMap<LogicalNodeId, Shortage>,
    /// Effects on their way at once, at most.
    pub(crate) parallelism: u32,
    /// Whether it decides.
    pub(crate) mode: Mode,
    /// Slots whose record changed outside a pass and is not written yet.
    pub(crate) unwritten: BTreeSet<LogicalNodeId>,
    /// Groups whose hold was made from what is in the journal, and is not in it yet.
    pub(crate) unwritten_holds: BTreeSet<GroupId>,
    /// Attempts that a proof of restored health wants looked at.
    pub(crate) looks: Vec<(LogicalNodeId, AttemptId)>,
    /// True once an operation was taken back: what was refused meanwhile may be asked again.
    pub(crate) taken_back: bool,
}

impl State {
    /// Folds `fact`, and says whether it changed anything.
    pub(crate) fn fold(&mut self, fact: Fact, now: Timestamp) -> bool {
        match self.cluster.fold(fact, now) {
            Verdict::Applied => true,
            Verdict::Unchanged => false,
            verdict @ (Verdict::Stale | Verdict::Illegal) => {
                tracing::debug!(?verdict, "a fact was not taken");
                false
            }
        }
    }

    /// When something falls due by itself.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.cluster.next_due().into_iter().chain(self.requeue_at).min()
    }

    /// How long a new thing may stay invisible at the provider of one attempt.
    pub(crate) fn visibility(&self, slot: &LogicalNodeId, attempt: AttemptId) -> Millis {
        let record = self.cluster.record(slot).and_then(|record| record.of_attempt(attempt));
        let provider = record.map(|record| &record.spec.provider);
        let capabilities = provider.and_then(|name| self.capabilities.get(name));
        capabilities.map_or(Millis::ZERO, |c| millis(c.visibility))
    }

    /// Marks every slot of every group that the new shape treats otherwise than the old one.
    pub(crate) fn mark_changed(&mut self, old: &ClusterShape) {
        let names: BTreeSet<GroupId> =
            old.groups().chain(self.shape.groups()).map(|group| group.group.clone()).collect();
        for name in names {
            let (before, after) = (old.group(&name), self.shape.group(&name));
            if before != after {
                self.cluster.mark_group(&name, after.map_or(0, |group| group.count));
            }
        }
    }

    /// Marks every slot there is or should be, for the audit.
    pub(crate) fn mark_all(&mut self) {
        let known: Vec<GroupId> = self.cluster.groups().map(|(name, _)| name.clone()).collect();
        for name in known {
            self.cluster.mark_group(&name, 0);
        }
        for group in self.shape.groups() {
            self.cluster.mark_group(&group.group, group.count);
        }
    }
}

/// A length of time in the core's terms.
pub(crate) fn millis(length: std::time::Duration) -> Millis {
    Millis::new(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}
