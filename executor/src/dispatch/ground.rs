//! One provider as the dispatcher sees it: its bucket, its lanes, and its share of the permits (P4).

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use reconciler_core::id::ProviderName;
use tokio::sync::Semaphore;

use super::{bucket::Bucket, job::LaneKind, lane::Lane};
use crate::seam::Provider;

/// Looks under way at one provider at most: enough to hide its latency, too few to be a herd.
const LOOKS_MAX: usize = 8;

/// Probes under way at one provider at most: many nodes are asked, and few of them at once.
const PROBES_MAX: usize = 16;

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
    pub(super) probes: Arc<Semaphore>,
    /// True while a listing is under way.
    pub(super) listing: AtomicBool,
    make: Lane,
    tend: Lane,
    look: Lane,
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
            probes: Arc::new(Semaphore::new(PROBES_MAX)),
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
