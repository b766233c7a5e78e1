//! From the words on the command line to an exit code.

use std::process::ExitCode;

use clap::{Parser as _, error::ErrorKind};
use driver::config::Catalogue;

use super::{
    apply,
    args::{Cli, Global, Verb},
    completions, console,
    context::Context,
    doctor, down, drive, events,
    exit::{Exit, Failure, Outcome},
    explain, export, init, logging, logs, node, out, plan, release, scale, status, up, validate,
    watch,
};

/// Runs the command line with the providers of `catalogue`.
pub fn main(catalogue: &Catalogue) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let Some(verb) = cli.verb else {
        out::line("levelhead keeps a fleet of nodes at the shape that you declared.");
        out::line(
            "next: `levelhead init` writes a starter file, `levelhead --help` lists everything",
        );
        return out::code(Exit::Done);
    };
    let outcome = run(verb, &cli.global, catalogue);
    match outcome {
        Ok(exit) => out::code(exit),
        Err(failure) => {
            out::failure(&failure, cli.global.json);
            out::code(failure.exit)
        }
    }
}

fn usage(error: &clap::Error) -> ExitCode {
    // Where stderr is gone there is nobody to tell.
    drop(error.print());
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => out::code(Exit::Done),
        _ => out::code(Exit::Usage),
    }
}

/// Verbs that need neither a run nor a runtime come first.
fn run(verb: Verb, global: &Global, catalogue: &Catalogue) -> Outcome {
    match verb {
        Verb::Init { file, run, uuid } => init::run(&file.file, &run, uuid),
        Verb::Validate { file } => validate::run(&file.file, global, catalogue),
        Verb::Completions { shell } => completions::run(shell),
        Verb::Node { port } => node::run(port),
        verb => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .map_err(|error| Failure::internal("cannot start the runtime", &error))?;
            let outcome = runtime.block_on(run_async(verb, global, catalogue));
            // Blocking reads of a terminal or a pipe may never end; the process does.
            runtime.shutdown_background();
            outcome
        }
    }
}

async fn run_async(verb: Verb, global: &Global, catalogue: &Catalogue) -> Outcome {
    let context = |file| Context::open(global, catalogue, file);
    match verb {
        Verb::Plan { file, detailed_exitcode } => {
            plan::run(&context(&file.file)?, detailed_exitcode).await
        }
        Verb::Apply { file, confirm, going } => {
            apply::run(&context(&file.file)?, confirm, &going).await
        }
        Verb::Up { file, going } => up::run(&context(&file.file)?, &going).await,
        Verb::Down { file, going } => down::run(&context(&file.file)?, &going).await,
        Verb::Scale { counts, file, dry_run, confirm, going } => {
            let how = scale::How { dry_run, confirm };
            scale::run(&context(&file.file)?, counts, how, &going).await
        }
        Verb::Status { file, problems } => status::run(&context(&file.file)?, problems).await,
        Verb::Watch { file } => watch::run(&context(&file.file)?).await,
        Verb::Events { file, after, limit, follow } => {
            events::run(&context(&file.file)?, after, limit, follow).await
        }
        Verb::Explain { subject, file } => explain::run(&context(&file.file)?, &subject).await,
        Verb::Logs { slot, file, follow, lines } => {
            logs::run(&context(&file.file)?, &slot, follow, lines).await
        }
        Verb::Release { subject, file, confirm } => {
            release::run(&context(&file.file)?, &subject, confirm).await
        }
        Verb::Export { file, write } => export::run(&context(&file.file)?, write).await,
        Verb::Driver { file, pace, log_format } => {
            let context = context(&file.file)?;
            let _guard = logging::start(&context.paths, Some(log_format))?;
            drive::run(&context, pace).await
        }
        Verb::Console { file, pace, ascii, read_only } => {
            console::run(&context(&file.file)?, pace, ascii, read_only).await
        }
        Verb::Doctor { file, provider } => {
            doctor::run(&context(&file.file)?, provider.as_deref()).await
        }
        Verb::Init { .. }
        | Verb::Validate { .. }
        | Verb::Completions { .. }
        | Verb::Node { .. } => Err(Failure::new(Exit::Internal, "the verb was handled before")),
    }
}
