//! Who waits for the end of which container, and the stream of events that wakes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::Notify, task::AbortHandle};

/// Who waits for the end of which container.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    waiting: Mutex<BTreeMap<String, Arc<Notify>>>,
    listener: Mutex<Option<AbortHandle>>,
}

impl Wakes {
    /// Wakes whoever waits for `id`.
    pub(super) fn wake(&self, id: &str) {
        if let Some(notify) = self.waiting().get(id) {
            notify.notify_waiters();
        }
    }

    /// Wakes whoever waits for a container that is not among `running`.
    pub(super) fn wake_others(&self, running: &BTreeSet<&str>) {
        for (id, notify) in self.waiting().iter() {
            if !running.contains(id.as_str()) {
                notify.notify_waiters();
            }
        }
    }

    /// Wakes everybody: what happened meanwhile is seen by looking.
    pub(super) fn wake_all(&self) {
        self.wake_others(&BTreeSet::new());
    }

    /// Ends the stream of events.
    pub(super) fn close(&self) {
        if let Some(listener) = self.lock_listener().take() {
            listener.abort();
        }
    }

    /// Begins to wait for `id`.
    pub(super) fn enter(&self, id: &str) -> Arc<Notify> {
        Arc::clone(self.waiting().entry(id.to_owned()).or_default())
    }

    /// Waits for `id` no more.
    pub(super) fn leave(&self, id: &str, mine: &Arc<Notify>) {
        let mut waiting = self.waiting();
        // The map's own and that of the one who leaves: nobody else waits.
        if Arc::strong_count(mine) <= 2 {
            waiting.remove(id);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream of events, where one is heard.
    pub(super) fn lock_listener(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
