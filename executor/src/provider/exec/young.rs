//! Which attempts were asked for so lately that their absence proves nothing yet (C2, C3).

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use reconciler_core::id::Uuid;

/// Attempts within the visibility window of their creation.
#[derive(Debug)]
pub(super) struct Young {
    window: Duration,
    asked: Mutex<BTreeMap<Uuid, Instant>>,
}

impl Young {
    /// Nothing is young yet.
    pub(super) fn new(window: Duration) -> Self {
        Self { window, asked: Mutex::default() }
    }

    /// A creation of `attempt` goes out, or has just come back.
    pub(super) fn note(&self, attempt: Uuid) {
        let mut asked = self.asked();
        asked.retain(|_, at| at.elapsed() < self.window);
        asked.insert(attempt, Instant::now());
    }

    /// `attempt` surely does not exist, or is given back: its absence is what is expected.
    pub(super) fn forget(&self, attempt: Uuid) {
        self.asked().remove(&attempt);
    }

    /// True if `attempt` may exist without being seen.
    pub(super) fn holds(&self, attempt: Uuid) -> bool {
        self.asked().get(&attempt).is_some_and(|at| at.elapsed() < self.window)
    }

    fn asked(&self) -> MutexGuard<'_, BTreeMap<Uuid, Instant>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
