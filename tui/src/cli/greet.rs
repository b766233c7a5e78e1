//! Asks a driver for a sign of life, and says why none comes.

use std::{fs, time::Duration};

use checkpoint::paths::StatePaths;
use driver::{
    Offline,
    api::{CallError, Client},
};

use super::{
    exit::{Exit, Failure},
    out,
};

/// How long a driver may be silent before somebody is told.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for the driver that has the run to answer.
///
/// # Errors
/// Fails at once where its process is stopped, since it answers nobody before it goes on; the answer itself may be an
/// error too.
pub(crate) async fn answer(
    paths: &StatePaths,
    client: &Client,
) -> Result<Result<(), CallError>, Failure> {
    let mut answers = std::pin::pin!(client.answers());
    if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answers).await {
        return Ok(answer);
    }
    match driver_of(paths) {
        Some(pid) if is_stopped(pid) => {
            let text =
                format!("the driver of this run, process {pid}, is stopped and answers nobody");
            let hint = format!("`kill -CONT {pid}` lets it go on");
            return Err(Failure::new(Exit::Unavailable, text).hint(hint));
        }
        Some(pid) => out::note(format!("waiting for the driver, process {pid}, to answer")),
        None => out::note("waiting for the driver to answer"),
    }
    Ok(answers.await)
}

fn driver_of(paths: &StatePaths) -> Option<u32> {
    let recovery = Offline::open(paths).ok()?.recovery(true);
    recovery.owner.filter(|owner| owner.drives).map(|owner| owner.pid)
}

/// True if a process of this machine is stopped, as by `SIGSTOP` or a debugger; it answers nobody until it goes on.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name stands in parentheses and may hold anything, also parentheses.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}
