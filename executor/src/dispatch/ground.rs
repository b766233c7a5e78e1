//! One provider as the dispatcher sees it: its bucket, its lanes, and its share of the permits (P4).

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use reconciler_core::{
    effect::{CommandKind, Intent},
    id::{AttemptId, LogicalNodeId, ProviderName},
    observed::LeaseFacts,
};
use tokio::sync::Semaphore;

use super::{bucket::Bucket, lane::Lane};
use crate::seam::Provider;

/// Looks under way at one provider at most: enough to hide its latency, too few to be a herd.
const LOOKS_MAX: usize = 8;

/// A provider and what limits the calls to it.
pub(super) struct Ground {
    pub(super) name: ProviderName,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) bucket: Bucket,
    /// Effects under way here at most, so that one hanging provider leaves permits to the others.
    pub(super) share: Arc<Semaphore>,
    most: usize,
    /// Effects that were taken for here and not yet reported.
    pub(super) in_flight: AtomicUsize,
    pub(super) looks: Arc<Semaphore>,
    /// True while a listing is under way.
    pub(super) listing: AtomicBool,
    make: Lane,
    tend: Lane,
    look: Lane,
}

/// Something that waits for its turn at a provider.
pub(super) enum Job {
    /// An effect that was admitted.
    Effect(Box<Intent>),
    /// A listing.
    List,
    /// A look by id.
    Look { slot: LogicalNodeId, attempt: AttemptId, lease: Option<LeaseFacts> },
}

/// The lanes of a provider; none waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneKind {
    /// What makes or starts something.
    Make,
    /// Every other effect.
    Tend,
    /// Looks and listings.
    Look,
}

impl LaneKind {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Make, Self::Tend, Self::Look];
}

impl Job {
    /// The lane that it belongs in.
    pub(super) fn lane(&self) -> LaneKind {
        match self {
            Self::Effect(intent) => match intent.command.kind() {
                CommandKind::CreateLease | CommandKind::StartBootstrap => LaneKind::Make,
                CommandKind::LookupEndpoint
                | CommandKind::BootstrapConvergenceObserved
                | CommandKind::CancelBootstrap
                | CommandKind::DestroyLease => LaneKind::Tend,
            },
            Self::List | Self::Look { .. } => LaneKind::Look,
        }
    }
}

impl Ground {
    /// A ground at rest; `share` is how many effects may be under way here.
    pub(super) fn new(name: ProviderName, provider: Arc<dyn Provider>, share: usize) -> Self {
        Self {
            name,
            bucket: Bucket::new(provider.capabilities().rate),
            provider,
            share: Arc::new(Semaphore::new(share)),
            most: share,
            in_flight: AtomicUsize::new(0),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
            listing: AtomicBool::new(false),
            make: Lane::default(),
            tend: Lane::default(),
            look: Lane::default(),
        }
    }

    /// How many more effects may be taken for here.
    pub(super) fn room(&self) -> usize {
        self.most.saturating_sub(self.in_flight.load(Ordering::SeqCst))
    }

    /// One lane.
    pub(super) fn lane(&self, kind: LaneKind) -> &Lane {
        match kind {
            LaneKind::Make => &self.make,
            LaneKind::Tend => &self.tend,
            LaneKind::Look => &self.look,
        }
    }
}
