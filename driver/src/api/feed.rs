//! What all watchers are told, made once: a view of the run, and the changes that led to it.
//!
//! Nobody has a queue of his own. A watcher is a place in one bounded ring of changes; who falls out of it is told of
//! a gap and begins anew with a snapshot. The driver publishes and goes on: whatever happens here costs it nothing.
//! While nobody watches, nothing is made.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use axum::body::Bytes;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::limits::WATCHERS;
use crate::{
    handle::Handle,
    publish::Published,
    view::{Difference, RunView, WatchLine, diff},
};

/// Changes that are kept for who fell behind or comes back.
const RING_LINES: usize = 512;
/// Bytes of the changes that are kept: about one snapshot of ten thousand nodes.
const RING_BYTES: usize = 8 * 1_024 * 1_024;
/// Least time between two views: more often nobody looks.
const PERIOD_MIN: Duration = Duration::from_millis(30);
/// A view takes at most one part in so many of the time.
const SHARE: u32 = 4;
/// How long what was made is kept when the last watcher left: one that reconnects goes on from where it was.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// What all watchers read.
#[derive(Clone, Debug)]
pub(super) struct Feed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoch: String,
    ring: Mutex<Ring>,
    news: watch::Sender<()>,
    watchers: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Ring {
    /// The number of the latest view.
    seq: u64,
    /// The latest view; absent while a new one is made.
    latest: Option<Arc<RunView>>,
    /// What the latest view shows, and since when it may be behind.
    of: Option<(Weak<Published>, Instant)>,
    /// Changes up to the latest view; the last leads to it.
    lines: VecDeque<Bytes>,
    bytes: usize,
    is_over: bool,
}

/// What a watcher is to do next.
#[derive(Debug)]
pub(super) enum Next {
    /// Send this change; then it is at that view.
    Line(u64, Bytes),
    /// Send this view.
    Snapshot(u64, Arc<RunView>),
    /// Tell that changes are missing, and begin anew.
    Gap,
    /// Wait for news.
    Wait,
    /// Tell that nothing follows.
    Over,
}

/// A watcher's place; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    feed: Feed,
    /// What was published when it was taken, and when that was: nobody begins with less.
    from: (Weak<Published>, Instant),
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.feed.0.watchers.send_modify(|n| *n = n.saturating_sub(1));
    }
}

impl Feed {
    /// A feed of the driver that `epoch` names.
    pub(super) fn new(epoch: String) -> Self {
        Self(Arc::new(Shared {
            epoch,
            ring: Mutex::default(),
            news: watch::Sender::new(()),
            watchers: watch::Sender::new(0),
        }))
    }

    /// Takes a place while `present` is published; nothing if there is none left.
    pub(super) fn join(&self, present: &Arc<Published>) -> Option<Seat> {
        let from = (Arc::downgrade(present), Instant::now());
        let took = self.0.watchers.send_if_modified(|n| {
            let room = *n < WATCHERS;
            *n += usize::from(room);
            room
        });
        took.then(|| Seat { feed: self.clone(), from })
    }

    /// Tells of every change.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.0.news.subscribe()
    }

    /// From where a watch goes on that has seen the view `seq`.
    pub(super) fn cursor(&self, seq: u64) -> String {
        format!("{}.{seq}", self.0.epoch)
    }

    /// The view that `cursor` has seen; nothing if it is of another driver or none of ours.
    pub(super) fn place(&self, cursor: &str) -> Option<u64> {
        let (epoch, seq) = cursor.rsplit_once('.')?;
        let seq = seq.parse().ok()?;
        (epoch == self.0.epoch && seq <= self.lock().seq).then_some(seq)
    }

    /// What the watcher on `seat` does next that has seen the view `seen`.
    pub(super) fn next(&self, seat: &Seat, seen: Option<u64>) -> Next {
        let ring = self.lock();
        let Some(latest) = &ring.latest else {
            return if ring.is_over { Next::Over } else { Next::Wait };
        };
        let Some(seen) = seen else {
            // The latest view may be from before the last change, or from when somebody last watched.
            return if ring.shows(&seat.from) || ring.is_over {
                Next::Snapshot(ring.seq, Arc::clone(latest))
            } else {
                Next::Wait
            };
        };
        let behind = usize::try_from(ring.seq.saturating_sub(seen)).unwrap_or(usize::MAX);
        if behind == 0 {
            return if ring.is_over { Next::Over } else { Next::Wait };
        }
        let at = ring.lines.len().checked_sub(behind);
        match at.and_then(|at| ring.lines.get(at)) {
            Some(line) => Next::Line(seen + 1, line.clone()),
            None => Next::Gap,
        }
    }

    /// Makes views while anybody watches, until the driver is gone.
    pub(super) async fn run(self, handle: Handle) {
        let mut published = handle.published();
        drop(handle);
        let mut watched = self.0.watchers.subscribe();
        while somebody(&mut watched, &mut published).await {
            let begun = Instant::now();
            let latest = published.borrow_and_update().clone();
            self.advance(latest, begun).await;
            let pause = (begun.elapsed() * SHARE).max(PERIOD_MIN);
            tokio::select! {
                changed = published.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    sleep(pause).await;
                }
                () = left_alone(&mut watched) => self.forget(),
            }
        }
        self.lock().is_over = true;
        self.0.news.send_replace(());
    }

    async fn advance(&self, published: Arc<Published>, begun: Instant) {
        let feed = self.clone();
        // The text of a large fleet takes longer than other tasks may wait.
        let made = tokio::task::spawn_blocking(move || feed.make(&published, begun)).await;
        if let Err(error) = made {
            tracing::error!(%error, "a view was not made; watchers begin anew");
            self.forget();
        }
        self.0.news.send_replace(());
    }

    fn make(&self, published: &Arc<Published>, begun: Instant) {
        let new = published.view();
        let of = Some((Arc::downgrade(published), begun));
        let (old, seq) = {
            let mut ring = self.lock();
            (ring.latest.take(), ring.seq + 1)
        };
        let line = match old.map(|old| diff(Arc::unwrap_or_clone(old), &new)) {
            Some(Difference::Still) => {
                let mut ring = self.lock();
                (ring.latest, ring.of) = (Some(Arc::new(new)), of);
                return;
            }
            Some(Difference::Changed(delta)) => {
                text(&WatchLine::Delta { cursor: self.cursor(seq), delta })
            }
            Some(Difference::Unrelated) | None => None,
        };
        let mut ring = self.lock();
        match line {
            Some(line) => ring.push(line),
            None => ring.clear(),
        }
        ring.seq = seq;
        (ring.latest, ring.of) = (Some(Arc::new(new)), of);
    }

    /// Forgets what was made; who comes back with a cursor is told of a gap.
    fn forget(&self) {
        let mut ring = self.lock();
        ring.latest = None;
        ring.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// True if the latest view shows what was published at `from`, or something newer.
    fn shows(&self, (present, at): &(Weak<Published>, Instant)) -> bool {
        self.of.as_ref().is_some_and(|(of, begun)| of.ptr_eq(present) || begun >= at)
    }

    fn push(&mut self, line: Bytes) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > RING_LINES || self.bytes > RING_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.bytes = 0;
    }
}

/// A line as it is sent.
pub(super) fn text(line: &WatchLine) -> Option<Bytes> {
    let text = serde_json::to_vec(line).map(|mut text| {
        text.push(b'\n');
        Bytes::from(text)
    });
    text.inspect_err(|error| tracing::error!(%error, "a line of a watch cannot be written")).ok()
}

/// Waits until somebody watches; false if the driver is gone before.
async fn somebody(
    watched: &mut watch::Receiver<usize>,
    published: &mut watch::Receiver<Arc<Published>>,
) -> bool {
    loop {
        if *watched.borrow_and_update() > 0 {
            return true;
        }
        let is_gone = tokio::select! {
            gone = watched.changed() => gone.is_err(),
            gone = published.changed() => gone.is_err(),
        };
        if is_gone {
            return false;
        }
    }
}

/// Waits until nobody watches for a while.
async fn left_alone(watched: &mut watch::Receiver<usize>) {
    loop {
        // The sender lives in the feed, and the feed in who waits here.
        drop(watched.wait_for(|n| *n == 0).await);
        if timeout(KEPT_FOR, watched.wait_for(|n| *n > 0)).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};

    use axum::body::Bytes;

    use tokio::time::Instant;

    use super::{Feed, Next, PERIOD_MIN, RING_BYTES, RING_LINES, Seat};
    use crate::view::RunView;

    fn view() -> Arc<RunView> {
        let view = serde_json::json!({
            "schema": 1, "run": "local", "uuid": "07070707-0707-0707-0707-070707070707",
            "driver": null, "generation": 0, "pass": 0, "at": 0, "state": "converged", "want": 0,
            "ready": 0, "due": null, "ribbon_len": 0, "file": null, "groups": [], "nodes": [],
            "holds": [], "passes": [], "events": [], "orphans": [], "providers": [],
        });
        Arc::new(serde_json::from_value(view).unwrap())
    }

    /// A place that begins with whatever there is.
    fn seat(feed: &Feed) -> Seat {
        Seat { feed: feed.clone(), from: (Weak::new(), Instant::now() - PERIOD_MIN) }
    }

    /// A feed with `n` changes of `size` bytes, one after the other.
    fn fed(n: usize, size: usize) -> Feed {
        let feed = Feed::new("1".to_owned());
        let mut ring = feed.lock();
        ring.latest = Some(view());
        ring.of = Some((Weak::new(), Instant::now()));
        for _ in 0..n {
            ring.push(Bytes::from(vec![b'x'; size]));
            ring.seq += 1;
        }
        drop(ring);
        feed
    }

    /// Who is in the ring gets the next change; who fell out of it is told so, and so is who comes from nowhere.
    #[test]
    fn who_falls_behind_is_told_of_a_gap() {
        let (more, kept) = (RING_LINES + 88, u64::try_from(RING_LINES).unwrap());
        let feed = fed(more, 10);
        let newest = u64::try_from(more).unwrap();
        assert!(matches!(feed.next(&seat(&feed), Some(newest)), Next::Wait));
        assert!(
            matches!(feed.next(&seat(&feed), Some(newest - 1)), Next::Line(at, _) if at == newest)
        );
        let oldest = newest - kept;
        assert!(
            matches!(feed.next(&seat(&feed), Some(oldest)), Next::Line(at, _) if at == oldest + 1)
        );
        assert!(matches!(feed.next(&seat(&feed), Some(oldest - 1)), Next::Gap));
        assert!(matches!(feed.next(&seat(&feed), None), Next::Snapshot(at, _) if at == newest));
        assert_eq!(feed.place(&feed.cursor(oldest)), Some(oldest));
        assert_eq!(feed.place(&feed.cursor(newest + 1)), None);
        assert_eq!(feed.place("2.1"), None);
    }

    /// What is kept is bounded in bytes as well, whatever the size of a change.
    #[test]
    fn a_ring_is_bounded_in_bytes() {
        let feed = fed(20, RING_BYTES / 4);
        assert!(feed.lock().bytes <= RING_BYTES && feed.lock().lines.len() == 4);
        assert!(matches!(feed.next(&seat(&feed), Some(15)), Next::Gap));
        let feed = fed(3, RING_BYTES + 1);
        assert!(matches!(feed.next(&seat(&feed), Some(2)), Next::Gap), "a snapshot is no larger");
        assert_eq!(feed.lock().bytes, 0);
    }

    /// Who comes anew never begins with less than what was published before: `wait` would end too soon.
    #[test]
    fn nobody_begins_with_a_view_from_before() {
        let feed = fed(3, 10);
        feed.lock().of = None;
        assert!(matches!(feed.next(&seat(&feed), None), Next::Wait));
        feed.lock().of = Some((Weak::new(), Instant::now()));
        assert!(matches!(feed.next(&seat(&feed), None), Next::Snapshot(3, _)));
    }
}
