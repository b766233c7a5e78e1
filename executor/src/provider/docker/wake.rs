//! Notices the end of workloads: the engine's events wake whoever waits, and a look by id then says what is so.
//!
//! One stream of events serves all nodes. What an event says is never believed; when the stream breaks off and comes
//! back, everybody looks.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Weak},
    time::Duration,
};

use bollard::query_parameters::EventsOptions;
use futures_util::StreamExt as _;
use reconciler_core::{effect::ExitStatus, redact::Redacted};
use tokio::{sync::Notify, task::AbortHandle};

use super::{ground::Ground, labels, problem::EngineError, state::Run, tail::tail};
use crate::seam::Exit;

/// Pauses between two tries to hear the events: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// A wait that is over when it is dropped.
struct Waiting {
    ground: Arc<Ground>,
    id: String,
    notify: Arc<Notify>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.ground.wakes.leave(&self.id, &self.notify);
    }
}

/// Waits for the end of what was started in container `id` at `started`.
pub(super) fn watch(
    ground: &Arc<Ground>,
    id: String,
    started: String,
) -> impl Future<Output = Exit> + Send + 'static {
    listen(ground);
    let notify = ground.wakes.enter(&id);
    let waiting = Waiting { ground: Arc::clone(ground), id, notify };
    async move {
        loop {
            let mut woken = std::pin::pin!(waiting.notify.notified());
            // From here on no wake is lost, so a look that shows it running is not out of date unnoticed.
            woken.as_mut().enable();
            if let Some(exit) = ended(&waiting.ground, &waiting.id, &started).await {
                return exit;
            }
            woken.await;
        }
    }
}

/// How it ended, if it did; an engine that cannot be asked says nothing.
async fn ended(ground: &Ground, id: &str, started: &str) -> Option<Exit> {
    let unseen = |tail: Redacted| Some(Exit { status: ExitStatus::Unknown, tail });
    match ground.inspect(id, Ground::soon()).await {
        Err(error) => {
            tracing::debug!(%error, container = id, "cannot look whether a node still runs");
            None
        }
        Ok(None) => unseen("its container was removed".into()),
        Ok(Some(container)) => match container.run {
            Run::Running { started: now } if now == started => None,
            Run::Unclear => None,
            Run::Ended { started: last, status, why } if last == started => {
                let tail = tail(ground, id).await;
                Some(Exit { status, tail: with_why(why, &tail) })
            }
            // It was started anew by somebody else, so how this run ended was not seen.
            Run::Running { .. } | Run::Ended { .. } | Run::Never => {
                unseen("its container was started anew by somebody else".into())
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
    let mut pause = PAUSES.0;
    while let Some(ground) = ground.upgrade() {
        let heard = hear_once(&ground, &mut pause).await;
        if let Err(error) = heard {
            tracing::debug!(%error, "the events of a Docker Engine broke off; they are asked for again");
        }
        drop(ground);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Hears events until they break off.
async fn hear_once(ground: &Ground, pause: &mut Duration) -> Result<(), EngineError> {
    let now = |client: bollard::Docker| async move { client.info().await };
    // By the engine's own clock: what happens from then on is told again, however long the stream takes to begin.
    let since = ground.engine.ask(Ground::soon(), now).await?.system_time;
    let filters = [("type", "container"), ("event", "die"), ("label", labels::RUN)];
    let filters = filters.map(|(name, value)| (name.to_owned(), vec![value.to_owned()]));
    let options = EventsOptions { since, until: None, filters: Some(HashMap::from(filters)) };
    let client = ground.engine.client().await?;
    let mut events = std::pin::pin!(client.events(Some(options)));
    // What happened before that moment is seen by looking.
    ground.wakes.wake_all();
    *pause = PAUSES.0;
    while let Some(event) = events.next().await {
        if let Some(id) = event.map_err(EngineError::from)?.actor.and_then(|actor| actor.id) {
            ground.wakes.wake(&id);
        }
    }
    Ok(())
}
