//! `GET /v1/watch`: one snapshot, then changes, for as long as the client takes them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    http::header,
    response::{IntoResponse as _, Response},
};
use http_body_util::channel::{Channel, Sender};
use tokio::time::timeout;

use super::{
    answer::Refused,
    feed::{Feed, Next, Seat, text},
    shared::Api,
    tally::Tally,
    wire::WatchQuery,
};
use crate::{
    clock::Clock,
    refusing::refuse,
    view::{RefusalKind, WatchLine},
};

/// How long a watch says nothing: a link that broke is noticed within it.
const ALIVE_PERIOD: Duration = Duration::from_secs(5);

/// Why a watch that gave a cursor does not go on from there.
const UNKNOWN_CURSOR: &str =
    "the cursor is of another driver, or too old: what came since is not known";
/// Why a watch lacks changes.
const FELL_BEHIND: &str = "the changes were not taken in time, and are not kept any longer";

/// Begins a watch.
pub(super) async fn watch(
    State(api): State<Api>,
    query: Result<Query<WatchQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let Query(query) = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    let present = api.handle.published().borrow().clone();
    let Some(seat) = api.feed.join(&present) else {
        return Err(refuse(RefusalKind::Busy, "too many watches are under way").into());
    };
    let (sender, body) = Channel::<Bytes>::new(1);
    let begins = match query.cursor.as_deref().map(|cursor| api.feed.place(cursor)) {
        None => Begins::Anew,
        Some(Some(seen)) => Begins::After(seen),
        Some(None) => Begins::Nowhere,
    };
    let watcher = Watcher { sender, feed: api.feed, tally: api.tally, clock: api.clock, seat };
    #[expect(clippy::disallowed_methods, reason = "it ends with its connection, or with the feed")]
    tokio::spawn(watcher.tell(begins));
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((kind, Body::new(body)).into_response())
}

/// From where a watch begins.
#[derive(Clone, Copy, Debug)]
enum Begins {
    /// With a snapshot.
    Anew,
    /// After the view that its cursor had seen.
    After(u64),
    /// With a cursor that is not known: with a gap, then with a snapshot.
    Nowhere,
}

struct Watcher {
    sender: Sender<Bytes, Infallible>,
    feed: Feed,
    tally: Arc<Tally>,
    clock: Clock,
    seat: Seat,
}

impl Watcher {
    /// Tells until the client is gone or the driver is.
    async fn tell(mut self, begins: Begins) {
        self.tally.watchers.up();
        // That the client went away is how most watches end.
        let (None | Some(())) = self.told(begins).await;
        self.tally.watchers.down();
        drop(self.seat);
    }

    async fn told(&mut self, begins: Begins) -> Option<()> {
        let mut news = self.feed.news();
        let mut seen = None;
        match begins {
            Begins::Anew => {}
            Begins::After(view) => seen = Some(view),
            Begins::Nowhere => self.gap(UNKNOWN_CURSOR).await?,
        }
        loop {
            news.mark_unchanged();
            match self.feed.next(&self.seat, seen) {
                Next::Line(seq, line) => {
                    self.sender.send_data(line).await.ok()?;
                    seen = Some(seq);
                }
                Next::Snapshot(seq, view) => {
                    let cursor = self.feed.cursor(seq);
                    let made = tokio::task::spawn_blocking(move || {
                        let view = Box::new(Arc::unwrap_or_clone(view));
                        text(&WatchLine::Snapshot { cursor, view })
                    });
                    self.sender.send_data(made.await.ok()??).await.ok()?;
                    seen = Some(seq);
                }
                Next::Gap => {
                    self.gap(FELL_BEHIND).await?;
                    seen = None;
                }
                Next::Wait => {
                    if timeout(ALIVE_PERIOD, news.changed()).await.is_err() {
                        self.line(&WatchLine::Alive { at: (self.clock)() }).await?;
                    }
                }
                Next::Over => {
                    let why = "the driver stops".to_owned();
                    return self.line(&WatchLine::End { why }).await;
                }
            }
        }
    }

    async fn gap(&mut self, why: &str) -> Option<()> {
        self.tally.gaps.up();
        self.line(&WatchLine::Gap { why: why.to_owned() }).await
    }

    async fn line(&mut self, line: &WatchLine) -> Option<()> {
        self.sender.send_data(text(line)?).await.ok()
    }
}
