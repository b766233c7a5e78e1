//! `levelhead completions`: a completion script for a shell.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use super::{
    args::Cli,
    exit::{Exit, Failure, Outcome},
};

/// Prints the script.
pub(crate) fn run(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "levelhead", &mut script);
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal("the script cannot be written", &error))
        }
        Ok(()) | Err(_) => Ok(Exit::Done),
    }
}
