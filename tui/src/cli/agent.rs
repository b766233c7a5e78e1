//! `levelhead agent`: runs a workload, and ends as that does.

use std::{ffi::OsString, io, process::ExitCode};

use executor::agent::{self, AgentError, Ended, Settings};
use reconciler_core::effect::ExitStatus;
use tracing::level_filters::LevelFilter;

use super::exit::{Exit, Failure, chain};

/// What a shell adds to the number of a signal.
const BY_SIGNAL: i32 = 128;
/// The process that no signal of its own ends.
const FIRST: u32 = 1;

/// Runs `command` as the agent that the environment describes.
pub(crate) fn run(command: &[OsString]) -> Result<ExitCode, Failure> {
    let settings = Settings::read(|name| std::env::var(name).ok()).map_err(|error| {
        let text = format!("this is not the environment of an agent: {}", chain(&error));
        Failure::new(Exit::Usage, text)
            .hint("a driver sets it for the nodes of a group with `join = { mode = \"agent\" }`")
    })?;
    // What a workload makes of RUST_LOG is its own business.
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::INFO).with_ansi(false);
    log.with_writer(io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal("cannot start the runtime", &error))?;
    let ended = runtime.block_on(agent::run(settings, command));
    // What it still writes to may take nothing any more.
    runtime.shutdown_background();
    match ended.map_err(|error: AgentError| Failure::internal("the agent cannot begin", &error))? {
        Ended::Exited(status) => Ok(as_it_ended(&status)),
        Ended::Refused(why) => {
            let text = format!("the driver did not let this agent in: {why}; nothing was started");
            Err(Failure::new(Exit::Refused, text))
        }
    }
}

/// Becomes the workload of the agent with the process id `agent`; comes back only if it cannot.
pub(crate) fn below(agent: u32, command: &[OsString]) -> Failure {
    let error = agent::become_below(agent, command);
    let program = command.first().map_or_else(String::new, |name| name.display().to_string());
    Failure::new(Exit::Invalid, format!("cannot start {program}: {error}"))
}

/// Ends like the workload: with its code, or by its signal where that can end this process.
fn as_it_ended(status: &ExitStatus) -> ExitCode {
    let code = match status {
        ExitStatus::Code(code) => *code,
        ExitStatus::Signal(signal) => {
            if std::process::id() != FIRST
                && let Err(error) = signal_hook::low_level::emulate_default_handler(*signal)
            {
                tracing::debug!(%error, "cannot end by the signal");
            }
            BY_SIGNAL.saturating_add(*signal)
        }
        ExitStatus::Unknown => 1,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
