//! `levelhead wait`: returns once the run is as it is waited for, or says why it does not come to it.

use std::time::Duration;

use driver::{
    Link,
    api::Seen,
    view::{OutstandingView, RunState, RunView, WaitsForView},
};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::{
    attach::is_gone,
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
    signals::{Stops, exit_of},
    values::Awaited,
};

/// Time between two tries to reach a driver that is away.
const RETRY_PERIOD: Duration = Duration::from_millis(100);

/// Waits for `what`, at most as long as `patience`.
pub(crate) async fn run(context: &Context, what: &Awaited, patience: Duration) -> Outcome {
    let deadline = Instant::now() + patience;
    let mut stops = Stops::listen()?;
    tokio::select! {
        outcome = awaited(context, what, deadline) => outcome,
        reason = stops.requested() => Ok(exit_of(reason)),
    }
}

async fn awaited(context: &Context, what: &Awaited, deadline: Instant) -> Outcome {
    let link = match context.attached().await {
        Ok(Some(link)) => link,
        _ if *what == Awaited::Driver => {
            let found = timeout_at(deadline, driver(context)).await;
            found.map_err(|_late| late("no driver came", None))?
        }
        Ok(None) => {
            let failure = Failure::new(Exit::Unavailable, "no driver runs, so nothing happens");
            return Err(failure.hint("levelhead driver"));
        }
        Err(failure) => return Err(failure),
    };
    let mut looker = link.look();
    let mut last = None;
    loop {
        let seen = tokio::select! {
            seen = looker.next() => seen,
            () = sleep_until(deadline) => {
                return Err(late("it did not come to it", last.as_deref()));
            }
        };
        match seen {
            Ok(Seen::View(view)) => {
                if let Some(outcome) = verdict(context, what, &view) {
                    return outcome;
                }
                last = Some(view);
            }
            // What is there now is what counts.
            Ok(Seen::Gap(_) | Seen::Alive) => {}
            // A driver that was there may come back.
            Err(error) if is_gone(&error) => sleep(RETRY_PERIOD).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The driver, once there is one.
async fn driver(context: &Context) -> Link {
    loop {
        // Why it cannot be reached yet is of no interest while there is time.
        if let Ok(Some(link)) = context.attached().await {
            return link;
        }
        sleep(RETRY_PERIOD).await;
    }
}

/// What is to be said of `view`; nothing while it is waited on.
fn verdict(context: &Context, what: &Awaited, view: &RunView) -> Option<Outcome> {
    let converged = view.state == RunState::Converged;
    let done = match what {
        Awaited::Driver => view.driver.is_some(),
        Awaited::Converged => converged,
        Awaited::Generation(wanted) if view.generation > *wanted => {
            let text = format!("generation {wanted} gave way to {}", view.generation);
            return Some(Err(Failure::new(Exit::NotConverged, text).hint("levelhead status")));
        }
        Awaited::Generation(wanted) => converged && view.generation == *wanted,
        Awaited::Ready(name) => {
            let Some(group) = view.groups.iter().find(|group| group.group == *name) else {
                let text = format!("there is no group `{name}`");
                return Some(Err(Failure::new(Exit::Invalid, text).hint("levelhead status")));
            };
            group.ready >= group.want.saturating_sub(group.off)
        }
    };
    if done {
        return Some(tell(context, view));
    }
    let old = matches!(what, Awaited::Generation(wanted) if view.generation < *wanted);
    (view.state == RunState::Held && !old).then(|| Err(held(view)))
}

fn tell(context: &Context, view: &RunView) -> Outcome {
    if context.global.json {
        out::json(&serde_json::json!({
            "state": view.state, "generation": view.generation, "pass": view.pass,
            "want": view.want, "ready": view.ready,
        }))?;
    } else {
        let RunView { generation, want, ready, .. } = view;
        out::line(format!("generation {generation}: {ready} of {want} nodes ready"));
    }
    Ok(Exit::Done)
}

/// That nothing moves before a person acts, with the command that leads on.
fn held(view: &RunView) -> Failure {
    let person = |one: &&OutstandingView| one.waits_for == WaitsForView::Person;
    let waiting: Vec<&OutstandingView> = view.outstanding.iter().filter(person).collect();
    let details = waiting.iter().map(|one| one.line()).collect();
    let way_out = waiting.iter().find_map(|one| one.way_out.as_deref());
    let hint = way_out.unwrap_or("levelhead status").to_owned();
    let failure = Failure::new(Exit::Partial, "nothing moves before a person acts");
    Failure { details, ..failure }.hint(hint)
}

/// That time is up, with what is not as it should be.
fn late(text: &str, last: Option<&RunView>) -> Failure {
    let outstanding = last.map(|view| view.outstanding.as_slice()).unwrap_or_default();
    let details = outstanding.iter().map(OutstandingView::line).collect();
    let failure = Failure::new(Exit::TimedOut, format!("{text} in time"));
    Failure { details, ..failure }.hint("levelhead status")
}
