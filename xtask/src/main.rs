//! The development verbs of this workspace: parses one and hands it to its file.
//!
//! Depends on no product crate, so every check here runs while the product does not compile.
//! What a verb does stands in the file of its name; the dependency law stands in `law.rs`.

mod bench;
mod ci;
mod cli;
mod counts;
mod demo;
mod deps;
mod diagram;
mod finding;
mod law;
mod metadata;
mod mutants;
mod race;
mod shell;
mod sim;
mod sweep;
mod test;
mod tidy;

use anyhow::Result;
use clap::Parser;
use cli::{Cli, Verb};
use shell::Shell;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Cli { verb } = Cli::parse();
    let told = dispatch(verb).or_else(|error| {
        Shell::say(&format!("error: {error:#}"))?;
        Err(error)
    });
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn dispatch(verb: Verb) -> Result<()> {
    let shell = Shell::at_root()?;
    match verb {
        Verb::Ci => ci::run(&shell),
        Verb::Test { args } => test::run(&shell, &args),
        Verb::Tidy => tidy::run(&shell),
        Verb::Deps => deps::run(&shell),
        Verb::Diagram { check } => diagram::run(&shell, check),
        Verb::Bench { name, counts: true, demand } => counts::run(&shell, name.as_deref(), demand),
        Verb::Bench { name, .. } => bench::run(&shell, name.as_deref()),
        Verb::Mutants { files } => mutants::run(&shell, &files),
        Verb::Demo => demo::run(&shell),
        Verb::Sim { seeds, seed } => sim::run(&shell, seeds, seed),
        Verb::Replay { file } => sim::replay(&shell, &file),
        Verb::Sweep { points } => sweep::run(&shell, points),
        Verb::Race { rounds } => race::run(&shell, rounds),
    }
}
