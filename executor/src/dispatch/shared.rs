//! What the dispatcher's tasks have in common: the run, the grounds, what is under way, where reports go.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use reconciler_core::{
    id::{Fence, ProviderName, Uuid},
    observed::Handle,
};
use tokio::sync::{Notify, Semaphore};

use super::{dedup::Ledger, ground::Ground, report::ReportSink};
use crate::seam::Preflight;

/// Reads the fence that is in force now.
pub type FenceReader = Arc<dyn Fn() -> Fence + Send + Sync>;

/// What the dispatcher's tasks have in common.
pub(super) struct Shared {
    pub(super) run: Uuid,
    pub(super) fence: FenceReader,
    pub(super) report: ReportSink,
    pub(super) preflights: Vec<Arc<dyn Preflight>>,
    pub(super) grounds: BTreeMap<ProviderName, Arc<Ground>>,
    pub(super) watched: Mutex<BTreeSet<(Uuid, Handle)>>,
    pub(super) parallelism: usize,
    pub(super) permits: Arc<Semaphore>,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) in_flight: AtomicUsize,
    pub(super) settled: Notify,
    pub(super) closed: AtomicBool,
}

impl Shared {
    /// True if nothing new may begin.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
