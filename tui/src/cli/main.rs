//! From the words on the command line to an exit code.

use std::{io::IsTerminal as _, path::Path, process::ExitCode};

use clap::{Parser as _, error::ErrorKind};
use driver::config::Catalogue;

use super::{
    agent, apply,
    args::{AloneVerb, Cli, RunVerb, Verb},
    completions, config, console,
    context::Context,
    doctor, down, drive, events,
    exit::{Exit, Failure, Outcome},
    explain, export,
    flags::Powering,
    global::Global,
    init, journal, logs, man, names, next, node, out, ownership, plan,
    power::{self, Ask},
    recovery,
    recovery_args::RecoveryCommand,
    release, runs, scale, status, style, token, up, update, validate,
    values::{LogFormat, Screen},
    wait, watch,
};
use crate::place::Place;

/// Runs the command line with the providers of `catalogue`.
pub fn main(catalogue: &Catalogue) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    style::decide(cli.global.color);
    let Some(verb) = cli.verb else {
        return ended(next::run(&cli.global, catalogue).map(out::code), cli.global.json);
    };
    let as_json = cli.global.json || logs_json(&verb);
    // Where a person may be asked, what is asked about is shown all the same.
    if as_json && !std::io::stdin().is_terminal() {
        out::be_quiet();
    }
    ended(run(verb, &cli.global, catalogue), as_json)
}

/// The exit code of what a verb came to, after a failure was told.
fn ended(outcome: Result<ExitCode, Failure>, as_json: bool) -> ExitCode {
    match outcome {
        Ok(_) if out::was_lost() => {
            let failure =
                Failure::new(Exit::Internal, "what was to be printed could not be written");
            out::failure(&failure, as_json);
            out::code(failure.exit)
        }
        Ok(code) => code,
        Err(failure) => {
            let failure = failure.helped();
            out::failure(&failure, as_json);
            out::code(failure.exit)
        }
    }
}

/// True for a verb whose stderr is read by a program.
const fn logs_json(verb: &Verb) -> bool {
    matches!(verb, Verb::Run(RunVerb::Driver { log_format: LogFormat::Json, .. }))
}

fn usage(error: &clap::Error) -> ExitCode {
    // Where stderr is gone there is nobody to tell.
    drop(error.print());
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    out::code(if asked_for { Exit::Done } else { Exit::Usage })
}

fn run(verb: Verb, global: &Global, catalogue: &Catalogue) -> Result<ExitCode, Failure> {
    match verb {
        // It ends as its workload does.
        Verb::Agent { below: Some(agent), command } => Err(agent::below(agent, &command)),
        Verb::Agent { below: None, command } => agent::run(&command),
        Verb::Alone(verb) => alone(verb, global, catalogue).map(out::code),
        Verb::Run(verb) => on_run(verb, global, catalogue).map(out::code),
    }
}

fn alone(verb: AloneVerb, global: &Global, catalogue: &Catalogue) -> Outcome {
    match verb {
        AloneVerb::Init { file, run, uuid } => init::run(&file.file, &run, uuid, global),
        AloneVerb::Validate { file } => {
            let place = Place::new(&file.file, None);
            validate::run(&file.file, global, catalogue).map_err(|failure| failure.placed(&place))
        }
        AloneVerb::Journal(verb) => {
            refuse_place("journal", global)?;
            journal::run(verb, global)
        }
        AloneVerb::Config(verb) => config::run(&verb, global.json),
        AloneVerb::Completions { shell } => completions::run(shell),
        AloneVerb::Man { dir } => man::run(dir.as_deref()),
        AloneVerb::Node { port } => node::run(port),
    }
}

fn on_run(verb: RunVerb, global: &Global, catalogue: &Catalogue) -> Outcome {
    refuse_far(&verb, global)?;
    let runtime =
        runtime(&verb).map_err(|error| Failure::internal("cannot start the runtime", &error))?;
    let place =
        Place::new(file_of(&verb), global.state_dir.as_deref()).attached(global.driver.flags());
    let outcome = runtime.block_on(run_async(verb, global, catalogue));
    let outcome = outcome.map_err(|failure| failure.placed(&place));
    // Blocking reads of a terminal or a pipe may never end; the process does.
    runtime.shutdown_background();
    outcome
}

/// One thread where only a driver may run: its work is short and passes from hand to hand, and what blocks has threads
/// of its own. The console draws beside its driver.
fn runtime(verb: &RunVerb) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = if matches!(verb, RunVerb::Console { .. }) {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    builder.worker_threads(2).enable_all().build()
}

/// The desired-state file of a verb.
fn file_of(verb: &RunVerb) -> &Path {
    match verb {
        RunVerb::Plan { file, .. }
        | RunVerb::Apply { file, .. }
        | RunVerb::Up { file, .. }
        | RunVerb::Down { file, .. }
        | RunVerb::Status { file, .. }
        | RunVerb::Watch { file }
        | RunVerb::Wait { file, .. }
        | RunVerb::Events { file, .. }
        | RunVerb::Export { file, .. }
        | RunVerb::Driver { file, .. }
        | RunVerb::Console { file, .. } => &file.file,
        RunVerb::Token(verb) => verb.file(),
        RunVerb::Ownership(verb) => verb.file(),
        RunVerb::Explain { file, .. }
        | RunVerb::Logs { file, .. }
        | RunVerb::Names { file, .. }
        | RunVerb::Release { file, .. }
        | RunVerb::Doctor { file, .. } => &file.file,
        RunVerb::Recovery { file, verb } => &verb.as_ref().map_or(file, RecoveryCommand::file).file,
        RunVerb::Scale { rest, .. }
        | RunVerb::Stop { rest, .. }
        | RunVerb::Start { rest, .. }
        | RunVerb::Restart { rest, .. }
        | RunVerb::Run { rest, .. }
        | RunVerb::Rm { rest, .. }
        | RunVerb::Update { rest, .. } => &rest.file.file,
    }
}

/// Refuses a verb that works on what is on this machine, where another driver was named.
fn refuse_far(verb: &RunVerb, global: &Global) -> Result<(), Failure> {
    here_alone(verb).map_or(Ok(()), |name| refuse_place(name, global))
}

/// Refuses the verb `name` where another driver was named.
fn refuse_place(name: &str, global: &Global) -> Result<(), Failure> {
    let Some(place) = &global.driver.attach else { return Ok(()) };
    let text = format!("`{name}` works on what is on this machine, and not through {place}");
    Err(Failure::new(Exit::Usage, text).hint("run it where the driver is, without --attach"))
}

/// The name of a verb that needs the run's own state directory.
const fn here_alone(verb: &RunVerb) -> Option<&'static str> {
    match verb {
        RunVerb::Driver { .. } => Some("driver"),
        RunVerb::Doctor { .. } => Some("doctor"),
        RunVerb::Logs { .. } => Some("logs"),
        RunVerb::Token(_) => Some("token"),
        RunVerb::Ownership(_) => Some("ownership"),
        RunVerb::Recovery { verb: None | Some(RecoveryCommand::Show { .. }), .. } => {
            Some("recovery")
        }
        RunVerb::Status { fixture: true, .. } => Some("status --fixture"),
        RunVerb::Plan { offline: true, .. } => Some("plan --offline"),
        RunVerb::Status { all: true, .. } => Some("status --all"),
        RunVerb::Plan { .. }
        | RunVerb::Apply { .. }
        | RunVerb::Up { .. }
        | RunVerb::Down { .. }
        | RunVerb::Scale { .. }
        | RunVerb::Stop { .. }
        | RunVerb::Start { .. }
        | RunVerb::Restart { .. }
        | RunVerb::Run { .. }
        | RunVerb::Rm { .. }
        | RunVerb::Update { .. }
        | RunVerb::Status { .. }
        | RunVerb::Watch { .. }
        | RunVerb::Wait { .. }
        | RunVerb::Events { .. }
        | RunVerb::Explain { .. }
        | RunVerb::Release { .. }
        | RunVerb::Recovery { .. }
        | RunVerb::Export { .. }
        | RunVerb::Names { .. }
        | RunVerb::Console { .. } => None,
    }
}

/// What the console works with: a driver that was named is looked at whatever the file here says.
fn to_watch(global: &Global, catalogue: &Catalogue, file: &Path) -> Result<Context, Failure> {
    if global.driver.attach.is_some() {
        Context::open_to_look(global, catalogue, file)
    } else {
        Context::open(global, catalogue, file)
    }
}

/// The console of a run, or of a record.
async fn screen(global: &Global, catalogue: &Catalogue, file: &Path, how: &Screen) -> Outcome {
    match &how.replay {
        Some(record) => console::replay(global, file, how, record).await,
        None => console::run(&to_watch(global, catalogue, file)?, how).await,
    }
}

async fn run_async(verb: RunVerb, global: &Global, catalogue: &Catalogue) -> Outcome {
    let context = |file: &Path| Context::open(global, catalogue, file);
    let look = |file: &Path| Context::open_to_look(global, catalogue, file);
    let asked =
        async |ask, rest: Powering| power::run(&context(&rest.file.file)?, ask, &rest).await;
    match verb {
        RunVerb::Plan { file, offline, detailed_exitcode: tells } => {
            plan::run(&context(&file.file)?, offline, tells).await
        }
        RunVerb::Apply { file, confirm, plan, going } => {
            apply::run(&context(&file.file)?, apply::Confirm { hash: confirm, plan }, &going).await
        }
        RunVerb::Up { file, how, going } => up::run(&context(&file.file)?, &how, &going).await,
        RunVerb::Down { file, how, going } => down::run(&context(&file.file)?, &how, &going).await,
        RunVerb::Scale { counts, rest } => {
            scale::run(&context(&rest.file.file)?, counts, &rest.how, &rest.going).await
        }
        RunVerb::Stop { subjects, rest } => asked(Ask::Stop(subjects), rest).await,
        RunVerb::Start { subjects, rest } => asked(Ask::Start(subjects), rest).await,
        RunVerb::Restart { subjects, rest } => asked(Ask::Restart(subjects), rest).await,
        RunVerb::Run { groups, rest } => asked(Ask::Run(groups), rest).await,
        RunVerb::Rm { groups, rest } => asked(Ask::Remove(groups), rest).await,
        RunVerb::Status { all: true, .. } => runs::run(global).await,
        RunVerb::Ownership(verb) => ownership::run(&look(verb.file())?, &verb),
        RunVerb::Status { file, fixture, problems, watch, .. } => {
            status::run(&look(&file.file)?, fixture, problems, watch).await
        }
        RunVerb::Update { groups, what, rest } => {
            update::run(&context(&rest.file.file)?, groups, &what, &rest).await
        }
        RunVerb::Watch { file } => watch::run(&look(&file.file)?).await,
        RunVerb::Wait { file, what, timeout } => {
            wait::run(&look(&file.file)?, &what, timeout).await
        }
        RunVerb::Token(verb) => token::run(&look(verb.file())?, &verb),
        RunVerb::Events { file, after, limit, follow } => {
            events::run(&look(&file.file)?, after, limit, follow).await
        }
        RunVerb::Explain { subject, short, file } => {
            explain::run(&look(&file.file)?, &subject, short).await
        }
        RunVerb::Logs { slot, file, follow, lines } => {
            logs::run(&look(&file.file)?, &slot, follow, lines).await
        }
        RunVerb::Release { subject, file, confirm } => {
            release::run(&context(&file.file)?, &subject, confirm).await
        }
        RunVerb::Recovery { file, verb } => recover(global, catalogue, &file.file, verb).await,
        RunVerb::Export { file, write } => export::run(&context(&file.file)?, write).await,
        RunVerb::Driver { file, pace, log_format, listening } => {
            drive::run(&context(&file.file)?, pace, log_format, &listening).await
        }
        RunVerb::Console { file, how } => screen(global, catalogue, &file.file, &how).await,
        RunVerb::Names { what, file } => names::run(&look(&file.file)?, what).await,
        RunVerb::Doctor { file, provider } => {
            doctor::run(&context(&file.file)?, provider.as_deref()).await
        }
    }
}

/// What only looks does so also where the file is not valid any more.
async fn recover(
    global: &Global,
    catalogue: &Catalogue,
    file: &Path,
    verb: Option<RecoveryCommand>,
) -> Outcome {
    let file = verb.as_ref().map_or(file, |verb| &verb.file().file);
    let context = match &verb {
        None | Some(RecoveryCommand::Show { .. }) => {
            Context::open_to_look(global, catalogue, file)?
        }
        Some(_) => Context::open(global, catalogue, file)?,
    };
    recovery::run(&context, verb).await
}
