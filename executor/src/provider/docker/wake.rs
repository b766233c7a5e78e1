//! Notices the end of workloads: the engine's events wake whoever waits, and a look by id then says what is so.
//!
//! One stream of events serves all nodes. What an event says is never believed; when the stream breaks off and comes
//! back, everybody looks.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use bollard::query_parameters::EventsOptions;
use futures_util::StreamExt as _;
use reconciler_core::{effect::ExitStatus, redact::Redacted};
use tokio::task::AbortHandle;

use super::{ground::Ground, labels, problem::EngineError, state::Run, tail::tail, wakes::Waiter};
use crate::seam::Exit;

/// Pauses between two tries to hear the events: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// A wait that is over when it is dropped.
struct Waiting {
    ground: Arc<Ground>,
    id: String,
    waiter: Arc<Waiter>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.ground.wakes.leave(&self.id, &self.waiter);
    }
}

/// Waits for the end of what was started in container `id` at `started`.
pub(super) fn watch(
    ground: &Arc<Ground>,
    id: String,
    started: String,
) -> impl Future<Output = Exit> + Send + 'static {
    listen(ground);
    let waiter = ground.wakes.enter(&id);
    let waiting = Waiting { ground: Arc::clone(ground), id, waiter };
    async move {
        let Waiting { ground, id, waiter } = &waiting;
        // The end of what is ended from here is told by whoever ends it.
        let mut looks = !ground.wakes.is_quiet(id);
        loop {
            let mut woken = std::pin::pin!(waiter.notify.notified());
            // From here on no wake is lost, so a look that shows it running is not out of date unnoticed.
            woken.as_mut().enable();
            if waiter.is_gone() {
                return unseen("its container was removed");
            }
            if looks && let Some(exit) = ended(ground, id, &started).await {
                return exit;
            }
            looks = true;
            woken.await;
        }
    }
}

/// An end that nobody saw, and why.
fn unseen(why: &str) -> Exit {
    Exit { status: ExitStatus::Unknown, tail: why.into() }
}

/// How it ended, if it did; an engine that cannot be asked says nothing.
async fn ended(ground: &Ground, id: &str, started: &str) -> Option<Exit> {
    let looked = {
        // Never closed; and without a turn it is looked at all the same.
        let _turn = ground.wakes.looks.acquire().await;
        ground.inspect(id, Ground::soon()).await
    };
    match looked {
        Err(error) => {
            tracing::debug!(%error, container = id, "cannot look whether a node still runs");
            None
        }
        Ok(None) => Some(unseen("its container was removed")),
        Ok(Some(container)) => match container.run {
            Run::Running { started: now } if now == started => None,
            Run::Unclear => None,
            Run::Ended { started: last, status, why } if last == started => {
                let tail = tail(ground, id).await;
                Some(Exit { status, tail: with_why(why, &tail) })
            }
            // It was started anew by somebody else, so how this run ended was not seen.
            Run::Running { .. } | Run::Ended { .. } | Run::Never => {
                Some(unseen("its container was started anew by somebody else"))
            }
        },
    }
}

/// The last lines, behind what the engine says of the end.
pub(super) fn with_why(why: Option<String>, tail: &Redacted) -> Redacted {
    match why {
        Some(why) if tail.as_str().is_empty() => Redacted::new(&why),
        Some(why) => Redacted::new(&format!("{why}; {tail}")),
        None => tail.clone(),
    }
}

/// Begins to hear the events, unless somebody does already.
fn listen(ground: &Arc<Ground>) {
    let mut listener = ground.wakes.lock_listener();
    if listener.as_ref().is_none_or(AbortHandle::is_finished) {
        let weak = Arc::downgrade(ground);
        *listener = Some(tokio::spawn(hear(weak)).abort_handle());
    }
}

async fn hear(ground: Weak<Ground>) {
    let (mut pause, mut told) = (PAUSES.0, String::new());
    while let Some(ground) = ground.upgrade() {
        let begun = Instant::now();
        let heard = hear_once(&ground).await;
        if begun.elapsed() > PAUSES.1 {
            // It stood for a while: what comes now is another trouble.
            pause = PAUSES.0;
            told.clear();
        }
        if let Err(error) = heard {
            let why = error.to_string();
            if std::mem::replace(&mut told, why.clone()) != why {
                tracing::warn!(
                    why,
                    "the events of a Docker Engine are not heard; they are asked for again"
                );
            }
        }
        drop(ground);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Hears events until they break off.
async fn hear_once(ground: &Ground) -> Result<(), EngineError> {
    let now = |client: bollard::Docker| async move { client.info().await };
    // By the engine's own clock: what happens from then on is told again, however long the stream takes to begin.
    let now = ground.engine.ask(Ground::soon(), now).await?.system_time.unwrap_or_default();
    let since = seconds(&now)
        .ok_or_else(|| EngineError::Broken(format!("its clock says `{now}`, which is no time")))?;
    let filters = [("type", "container"), ("event", "die"), ("label", labels::RUN)];
    let filters = filters.map(|(name, value)| (name.to_owned(), vec![value.to_owned()]));
    let filters = Some(HashMap::from(filters));
    let options = EventsOptions { since: Some(since), until: None, filters };
    let client = ground.engine.client().await?;
    let mut events = std::pin::pin!(client.events(Some(options)));
    // What happened before that moment is seen by looking.
    ground.wakes.wake_all();
    while let Some(event) = events.next().await {
        if let Some(id) = event.map_err(EngineError::from)?.actor.and_then(|actor| actor.id) {
            ground.wakes.told_of(&id);
        }
    }
    Ok(())
}

/// A time as an engine wants to be asked for it: it says it as `2026-01-31T12:00:00.5+01:00`, and reads seconds alone.
fn seconds(time: &str) -> Option<String> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(format!("{}.{:09}", time.as_second(), time.subsec_nanosecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_asked_for_a_time_in_seconds() {
        let rows = [
            ("1970-01-01T00:00:01Z", Some("1.000000000")),
            ("2026-11-30T22:16:29.725188375Z", Some("1796076989.725188375")),
            ("2026-11-30T23:16:29.5+01:00", Some("1796076989.500000000")),
            ("", None),
            ("yesterday", None),
        ];
        for (said, wanted) in rows {
            assert_eq!(seconds(said).as_deref(), wanted, "{said}");
        }
    }
}
