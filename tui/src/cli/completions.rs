//! `levelhead completions`: a completion script for a shell, which asks for live names.

use std::io::{self, Write as _};

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{
    args::Cli,
    exit::{Exit, Failure, Outcome},
};

/// Prints the script.
pub(crate) fn run(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "levelhead", &mut script);
    script.extend_from_slice(live(shell).as_bytes());
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal("the script cannot be written", &error))
        }
        Ok(()) | Err(_) => Ok(Exit::Done),
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
