//! Brings what a driver shows to a console: the newest wins, and how the link stands is told with it.

use std::{sync::Arc, time::Duration};

use driver::{
    Clock, Link, Onlooker,
    api::{CallError, Seen},
    system_clock,
    view::{RefusalKind, RunView, VIEW_SCHEMA},
};
use reconciler_core::time::Timestamp;
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use super::exit::chain;
use crate::console::{
    Backoff,
    link::{LinkState, Lost, Retry},
};

/// Least time between two snapshots: more would not be seen.
const SNAPSHOT_PERIOD: Duration = Duration::from_millis(33);
/// A driver elsewhere says something at least every five seconds; one that missed two of these may be stuck.
const LAG: Duration = Duration::from_secs(12);

/// Feeds a console until it is gone. `again` has it come to the driver anew at once.
pub(crate) async fn feed(link: Link, shown: watch::Sender<LinkState>, again: Arc<Notify>) {
    let looker = link.look();
    let backoff = Backoff::new(u64::from(std::process::id()));
    let (clock, heard) = (system_clock(), system_clock()());
    let newest = None;
    let mut feed = Feed { link, shown, again, looker, backoff, clock, newest, heard, lost: None };
    while feed.step().await {}
}

struct Feed {
    link: Link,
    shown: watch::Sender<LinkState>,
    again: Arc<Notify>,
    looker: Onlooker,
    backoff: Backoff,
    clock: Clock,
    newest: Option<Arc<RunView>>,
    /// When the driver was last heard.
    heard: Timestamp,
    /// Since when it is not to be reached.
    lost: Option<Timestamp>,
}

/// What comes next.
enum News {
    Seen(Result<Seen, CallError>),
    Silence,
    Again,
}

impl Feed {
    /// One thing that is new; false once nobody looks any more.
    async fn step(&mut self) -> bool {
        match self.news().await {
            News::Again => {
                self.looker = self.link.look();
                self.backoff.reset();
                true
            }
            News::Silence => {
                let lags = matches!(*self.shown.borrow(), LinkState::Lagging(_));
                lags || self.shown.send(LinkState::Lagging(self.heard)).is_ok()
            }
            // The screen shows the present, whatever was missed.
            News::Seen(Ok(Seen::Gap(why))) => {
                tracing::debug!(why, "the console missed changes");
                true
            }
            News::Seen(Ok(Seen::Alive)) => self.alive(),
            News::Seen(Ok(Seen::View(view))) if view.schema != VIEW_SCHEMA => {
                let why = format!(
                    "its views have the form {}, this console reads {VIEW_SCHEMA}",
                    view.schema
                );
                self.retry(why, true, false).await
            }
            News::Seen(Ok(Seen::View(view))) => self.live(view).await,
            News::Seen(Err(error)) => {
                let refused = matches!(
                    &error,
                    CallError::Refused(refusal) if refusal.kind == RefusalKind::Forbidden
                );
                let incompatible = matches!(&error, CallError::Answer(_));
                self.retry(chain(&error), incompatible, refused).await
            }
        }
    }

    async fn news(&mut self) -> News {
        // A driver in this process has no heart that beats beside it.
        let lag = if matches!(self.link, Link::Attached(_)) { LAG } else { Duration::MAX };
        tokio::select! {
            seen = timeout(lag, self.looker.next()) => seen.map_or(News::Silence, News::Seen),
            () = self.again.notified() => News::Again,
        }
    }

    async fn live(&mut self, view: Arc<RunView>) -> bool {
        self.backoff.reset();
        (self.lost, self.heard) = (None, (self.clock)());
        self.newest = Some(Arc::clone(&view));
        if self.shown.send(LinkState::Live(view)).is_err() {
            return false;
        }
        sleep(SNAPSHOT_PERIOD).await;
        true
    }

    /// It is there, and nothing is new: after a silence that is news.
    fn alive(&mut self) -> bool {
        self.heard = (self.clock)();
        let lags = matches!(*self.shown.borrow(), LinkState::Lagging(_));
        match self.newest.clone().filter(|_| lags) {
            Some(newest) => self.shown.send(LinkState::Live(newest)).is_ok(),
            None => true,
        }
    }

    /// Says that the link is lost and when it is tried again, and waits for that.
    async fn retry(&mut self, why: String, incompatible: bool, refused: bool) -> bool {
        let now = (self.clock)();
        let since = *self.lost.get_or_insert(now);
        let (nth, wait) = self.backoff.next(refused || incompatible);
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let at = Timestamp::from_millis(now.as_millis().saturating_add(millis));
        let lost = Lost { incompatible, retry: Some(Retry { nth, at }), ..Lost::new(since, why) };
        if self.shown.send(LinkState::Lost(lost)).is_err() {
            return false;
        }
        tokio::select! {
            () = sleep(wait) => {}
            () = self.again.notified() => self.backoff.reset(),
        }
        if incompatible {
            // What it says is to be read from its beginning.
            self.looker = self.link.look();
        }
        true
    }
}
