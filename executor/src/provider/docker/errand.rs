//! Runs one command to its end in a container of its own beside a node: same image, environment, volumes and, while
//! the node runs, the node's network and processes.
//!
//! A command that was run in the node's container could be neither ended nor recognised later; a container can.

use std::time::{Duration, Instant};

use bollard::{
    models::ContainerCreateBody,
    query_parameters::{CreateContainerOptions, KillContainerOptions, WaitContainerOptions},
};
use futures_util::StreamExt as _;
use reconciler_core::{effect::ExitStatus, redact::Redacted};

use super::{ground::Ground, problem::Problem, state::Run, tail::tail, wake::with_why};

/// Left of an effect's time for the forced end and the report.
const MARGIN: Duration = Duration::from_secs(3);

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// `None` if it was ended because its time was over.
    pub(super) status: Option<ExitStatus>,
    pub(super) tail: Redacted,
}

impl Ended {
    /// Why `what` failed, if it did.
    pub(super) fn problem(&self, what: &str) -> Option<Problem> {
        let how = match &self.status {
            Some(ExitStatus::Code(0)) => return None,
            Some(ExitStatus::Code(code)) => format!("exited with status {code}"),
            Some(ExitStatus::Signal(signal)) => format!("was ended by signal {signal}"),
            Some(ExitStatus::Unknown) => "is gone; nobody saw how it ended".to_owned(),
            None => "took too long and was ended".to_owned(),
        };
        let tail = self.tail.as_str();
        let text = if tail.trim().is_empty() {
            format!("{what} {how}")
        } else {
            format!("{what} {how}; its last lines: {tail}")
        };
        Some(Problem::Workload(text))
    }
}

/// Makes the container of a command; nothing runs yet.
pub(super) async fn make(
    ground: &Ground,
    body: ContainerCreateBody,
    name: Option<String>,
    limit: Instant,
) -> Result<String, Problem> {
    let options = CreateContainerOptions { name, ..Default::default() };
    let make =
        |client: bollard::Docker| async move { client.create_container(Some(options), body).await };
    Ok(ground.engine.ask(limit, make).await?.id)
}

/// Starts it and waits for its end, but not longer than `time`, nor up to `limit`.
pub(super) async fn run_to_end(
    ground: &Ground,
    id: &str,
    time: Duration,
    limit: Instant,
) -> Result<Ended, Problem> {
    let start = |client: bollard::Docker| async move { client.start_container(id, None).await };
    if let Err(error) = ground.engine.ask(limit, start).await {
        // An engine that could not start it has run nothing of it; whatever else broke is doubt.
        let ran = ground.inspect(id, limit).await?.map(|container| container.run);
        return match ran {
            Some(Run::Never) => {
                Err(Problem::Workload(format!("it cannot be started: {}", error.words())))
            }
            Some(Run::Running { .. } | Run::Ended { .. } | Run::Unclear) | None => {
                Err(error.into())
            }
        };
    }
    let own = Instant::now() + time;
    let until = own.min(limit.checked_sub(MARGIN).unwrap_or(own));
    let in_time = wait(ground, id, until).await?;
    if !in_time {
        kill(ground, id, limit).await?;
        wait(ground, id, limit).await?;
    }
    let Some(container) = ground.inspect(id, limit).await? else {
        return Err(Problem::Doubt("its container was removed while it ran".to_owned()));
    };
    match container.run {
        Run::Ended { status, why, .. } => {
            let tail = with_why(why, &tail(ground, id).await);
            Ok(Ended { status: in_time.then_some(status), tail })
        }
        Run::Never | Run::Running { .. } | Run::Unclear => {
            Err(Problem::Doubt("it did not end although it was killed".to_owned()))
        }
    }
}

/// Waits for the end of what runs in a container. True if it ended in time.
async fn wait(ground: &Ground, id: &str, until: Instant) -> Result<bool, Problem> {
    let options = WaitContainerOptions { condition: "not-running".to_owned() };
    let client = ground.engine.client().await?;
    let mut ends = std::pin::pin!(client.wait_container(id, Some(options)));
    let until = tokio::time::Instant::from_std(until);
    // How it ended is for the look that follows; that the wait broke off as well.
    Ok(tokio::time::timeout_at(until, ends.next()).await.is_ok())
}

/// Ends what runs in a container at once.
pub(super) async fn kill(ground: &Ground, id: &str, limit: Instant) -> Result<(), Problem> {
    let options = KillContainerOptions { signal: "KILL".to_owned() };
    let kill =
        |client: bollard::Docker| async move { client.kill_container(id, Some(options)).await };
    match ground.engine.ask(limit, kill).await {
        // It ended by itself, or is gone.
        Err(error) if !error.is_absence() && !error.is_conflict() => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}
