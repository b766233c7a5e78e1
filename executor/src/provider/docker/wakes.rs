//! Who waits for the end of which container, whose end nobody wants to be told, and the stream of events that wakes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    sync::{Notify, Semaphore},
    task::AbortHandle,
};

/// Those who wait and look at the same time, at most: where all are woken at once, an engine is asked by a few after the
/// other.
const LOOKS_MAX: usize = 16;

/// Who waits for the end of which container.
#[derive(Debug)]
pub(super) struct Wakes {
    /// Whose turn it is to look.
    pub(super) looks: Semaphore,
    all: Mutex<All>,
    listener: Mutex<Option<AbortHandle>>,
}

#[derive(Debug, Default)]
struct All {
    waiting: BTreeMap<String, Arc<Waiter>>,
    /// Containers that are being ended from here, or were: what their events tell is known.
    quiet: BTreeSet<String>,
}

/// What those who wait for one container wait by.
#[derive(Debug, Default)]
pub(super) struct Waiter {
    pub(super) notify: Notify,
    is_gone: AtomicBool,
}

impl Waiter {
    /// True if its container was removed from here.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }
}

/// A container whose end is nobody's news while it is being ended; where that fails, whoever waits for it looks.
pub(super) struct Hush<'a> {
    wakes: &'a Wakes,
    id: &'a str,
    is_kept: bool,
}

impl Hush<'_> {
    /// It was ended: its end stays nobody's news.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Hush<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.wakes.listen_to(self.id);
        }
    }
}

impl Default for Wakes {
    fn default() -> Self {
        Self { looks: Semaphore::new(LOOKS_MAX), all: Mutex::default(), listener: Mutex::default() }
    }
}

impl Wakes {
    /// An event tells of `id`: wakes whoever waits for it, unless it is being ended from here.
    pub(super) fn told_of(&self, id: &str) {
        let all = self.all();
        if let Some(waiter) = all.waiting.get(id).filter(|_| !all.quiet.contains(id)) {
            waiter.notify.notify_waiters();
        }
    }

    /// Wakes whoever waits for a container that is not among `running`.
    pub(super) fn wake_others(&self, running: &BTreeSet<&str>) {
        for (id, waiter) in &self.all().waiting {
            if !running.contains(id.as_str()) {
                waiter.notify.notify_waiters();
            }
        }
    }

    /// Wakes everybody: what happened meanwhile is seen by looking.
    pub(super) fn wake_all(&self) {
        self.wake_others(&BTreeSet::new());
    }

    /// Keeps the events of `id` from waking anybody while it is ended.
    pub(super) fn hush<'a>(&'a self, id: &'a str) -> Hush<'a> {
        self.all().quiet.insert(id.to_owned());
        Hush { wakes: self, id, is_kept: false }
    }

    /// What becomes of `id` is news again.
    pub(super) fn listen_to(&self, id: &str) {
        let mut all = self.all();
        if all.quiet.remove(id)
            && let Some(waiter) = all.waiting.get(id)
        {
            waiter.notify.notify_waiters();
        }
    }

    /// The engine has said that `id` is removed: whoever waits for it need not look.
    pub(super) fn removed(&self, id: &str) {
        let mut all = self.all();
        all.quiet.remove(id);
        if let Some(waiter) = all.waiting.get(id) {
            waiter.is_gone.store(true, Ordering::SeqCst);
            waiter.notify.notify_waiters();
        }
    }

    /// True if `id` is being ended from here, or was.
    pub(super) fn is_quiet(&self, id: &str) -> bool {
        self.all().quiet.contains(id)
    }

    /// Ends the stream of events.
    pub(super) fn close(&self) {
        if let Some(listener) = self.lock_listener().take() {
            listener.abort();
        }
    }

    /// Begins to wait for `id`.
    pub(super) fn enter(&self, id: &str) -> Arc<Waiter> {
        Arc::clone(self.all().waiting.entry(id.to_owned()).or_default())
    }

    /// Waits for `id` no more.
    pub(super) fn leave(&self, id: &str, mine: &Arc<Waiter>) {
        let mut all = self.all();
        // The map's own and that of the one who leaves: nobody else waits.
        if Arc::strong_count(mine) <= 2 {
            all.waiting.remove(id);
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream of events, where one is heard.
    pub(super) fn lock_listener(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if `act` wakes one who waits for `id`.
    fn wakes(wakes: &Wakes, id: &str, act: impl FnOnce(&Wakes)) -> bool {
        let waiter = wakes.enter(id);
        let mut woken = std::pin::pin!(waiter.notify.notified());
        woken.as_mut().enable();
        act(wakes);
        woken.enable()
    }

    /// What is ended from here wakes nobody by its events, and whoever waits looks where the end failed, where a listing
    /// lacks it, and where it is started anew.
    #[test]
    fn what_is_ended_from_here_is_nobody_s_news_unless_it_fails() {
        let all = Wakes::default();
        assert!(wakes(&all, "a", |all| all.told_of("a")));
        assert!(!wakes(&all, "a", |all| all.told_of("b")));
        let hush = all.hush("a");
        assert!(!wakes(&all, "a", |all| all.told_of("a")));
        assert!(wakes(&all, "a", |_| drop(hush)), "the end failed");
        assert!(wakes(&all, "a", |all| all.told_of("a")));
        all.hush("a").keep();
        assert!(all.is_quiet("a") && !wakes(&all, "a", |all| all.told_of("a")));
        assert!(wakes(&all, "a", Wakes::wake_all), "what is missed is found by listings");
        assert!(wakes(&all, "a", |all| all.listen_to("a")));
        assert!(!all.is_quiet("a"));
    }

    /// What was removed from here is gone without a look, and nothing of it is kept.
    #[test]
    fn what_is_removed_from_here_is_gone_without_a_look() {
        let all = Wakes::default();
        let waiter = all.enter("a");
        all.hush("a").keep();
        assert!(!waiter.is_gone());
        assert!(wakes(&all, "a", |all| all.removed("a")) && waiter.is_gone());
        all.leave("a", &waiter);
        assert!(!all.is_quiet("a") && all.all().waiting.is_empty());
    }
}
