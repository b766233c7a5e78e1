//! Asks a workload by a command in its own container.
//!
//! A container for each question, as for a hook, would cost more than the node. So it is the engine's `exec`, which can
//! be neither named nor ended: one that took too long is remembered, and no other is begun beside it.

use std::time::Instant;

use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::StreamExt as _;
use reconciler_core::{observed::ProbeAnswer, redact::Redacted};

use super::{
    ground::{Ground, locked},
    problem::{EngineError, Problem},
};
use crate::{
    provider::{last_lines::clean, template::Values},
    seam::ProbeAsk,
};

/// How much of what a command wrote is kept.
const OUTPUT_MAX: usize = 64 * 1024;

/// How a command ended.
struct Ended {
    code: Option<i64>,
    output: Redacted,
}

/// Runs the command of `ask` to its end, or leaves it behind when its time is over.
pub(super) async fn ask(ground: &Ground, ask: &ProbeAsk) -> ProbeAnswer {
    match asked(ground, ask).await {
        Ok(None) => {
            let text = format!("it took longer than {} ms", ask.timeout.as_millis());
            ProbeAnswer::Failed(Redacted::new(&text))
        }
        Ok(Some(Ended { code: Some(0), .. })) => ProbeAnswer::Passed,
        Ok(Some(Ended { code: Some(code), output })) => {
            let text = format!("the command exited with {code}: {output}");
            ProbeAnswer::Failed(Redacted::new(text.trim_end_matches([':', ' '])))
        }
        Ok(Some(Ended { code: None, .. })) => {
            ProbeAnswer::Unknown(Redacted::new("the engine does not say how the command ended"))
        }
        Err(problem @ Problem::Workload(_)) => ProbeAnswer::Failed(problem.told()),
        Err(problem) => ProbeAnswer::Unknown(problem.told()),
    }
}

/// How the command ended; `None` if its time is over first.
async fn asked(ground: &Ground, ask: &ProbeAsk) -> Result<Option<Ended>, Problem> {
    let limit = Instant::now() + ask.timeout;
    let container = ask.lease.id.as_str();
    let place = (container.to_owned(), ask.kind);
    let behind = locked(&ground.left_behind).get(&place).cloned();
    if let Some(exec) = behind {
        if is_running(ground, &exec, limit).await? {
            return Ok(None);
        }
        locked(&ground.left_behind).remove(&place);
    }
    let argv = filled(ground, ask, limit).await?;
    let options = CreateExecOptions {
        cmd: Some(argv),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..CreateExecOptions::default()
    };
    let make =
        |client: bollard::Docker| async move { client.create_exec(container, options).await };
    let exec = ground.engine.ask(limit, make).await?.id;
    locked(&ground.left_behind).insert(place.clone(), exec.clone());
    let Some(output) = outlived(ground, &exec, limit).await? else { return Ok(None) };
    let look = |client: bollard::Docker| async move { client.inspect_exec(&exec).await };
    let code = ground.engine.ask(Ground::soon(), look).await?.exit_code;
    locked(&ground.left_behind).remove(&place);
    Ok(Some(Ended { code, output }))
}

/// The command with its placeholders filled by what stands on the container.
async fn filled(ground: &Ground, ask: &ProbeAsk, limit: Instant) -> Result<Vec<String>, Problem> {
    if !ask.argv.iter().any(|text| text.contains('{')) {
        return Ok(ask.argv.clone());
    }
    let id = ask.lease.id.as_str();
    let found = ground.inspect(id, limit).await?;
    let container = found.ok_or_else(|| Problem::NoLease(id.to_owned()))?;
    let request = &ask.request;
    let mark = container.mark_of(request.run, &request.slot, request.attempt.uuid)?;
    let ports = mark.ports.into_iter().map(|(name, pair)| (name, pair.inside)).collect();
    let values = Values::new(&request.slot, request.attempt.uuid, &request.spec.boot, &ports);
    Ok(ask.argv.iter().map(|text| values.fill(text)).collect::<Result<_, _>>()?)
}

/// What a command wrote until its end; `None` if its time is over first.
async fn outlived(
    ground: &Ground,
    exec: &str,
    limit: Instant,
) -> Result<Option<Redacted>, Problem> {
    let options = Some(StartExecOptions::default());
    let start = |client: bollard::Docker| async move {
        let mut bytes = Vec::new();
        if let StartExecResults::Attached { mut output, .. } =
            client.start_exec(exec, options).await?
        {
            while let Some(piece) = output.next().await {
                let piece = piece?.into_bytes();
                let room = OUTPUT_MAX.saturating_sub(bytes.len()).min(piece.len());
                bytes.extend_from_slice(piece.get(..room).unwrap_or_default());
            }
        }
        Ok(bytes)
    };
    match ground.engine.ask(limit, start).await {
        Ok(bytes) => {
            let text = ground.place.secrets.cleaned(&String::from_utf8_lossy(&bytes));
            Ok(Some(clean(&text, bytes.len() < OUTPUT_MAX)))
        }
        Err(EngineError::Late) => Ok(None),
        // A program that is not there is the node's own doing.
        Err(EngineError::Refused { message, .. }) if message.contains("exec failed") => {
            Err(Problem::Workload(format!("the command cannot be started: {message}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// True if a command that was left behind still runs.
async fn is_running(ground: &Ground, exec: &str, limit: Instant) -> Result<bool, EngineError> {
    let look = |client: bollard::Docker| async move { client.inspect_exec(exec).await };
    match ground.engine.ask(limit, look).await {
        Ok(found) => Ok(found.running == Some(true)),
        Err(error) if error.is_absence() => Ok(false),
        Err(error) => Err(error),
    }
}
