//! `levelhead completions`: a completion script for a shell, which asks for live names.

use std::io::{self, Write as _};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use super::{
    args::Cli,
    exit::{Exit, Failure, Outcome},
};

/// Prints the script.
pub(crate) fn run(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown(&Cli::command()), "levelhead", &mut script);
    script.extend_from_slice(live(shell).as_bytes());
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal("the script cannot be written", &error))
        }
        Ok(()) | Err(_) => Ok(Exit::Done),
    }
}

/// The command without what its help hides: a shell offers what a person is told of.
fn shown(command: &Command) -> Command {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(shown);
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned();
    let mut out = Command::new(command.get_name().to_owned()).args(args).subcommands(verbs);
    out = out.disable_help_subcommand(true);
    if let Some(about) = command.get_about() {
        out = out.about(about.clone());
    }
    match command.get_version() {
        Some(version) => out.version(version.to_owned()),
        None => out,
    }
}

/// What asks the run for its names; shells without it complete verbs and options alone.
fn live(shell: Shell) -> &'static str {
    let own = [
        (Shell::Bash, include_str!("live.bash")),
        (Shell::Zsh, include_str!("live.zsh")),
        (Shell::Fish, include_str!("live.fish")),
    ];
    own.into_iter().find(|(of, _)| *of == shell).map_or("", |(_, script)| script)
}
