//! The verbs and their arguments, as the command line spells them.
//!
//! What each verb does stands in its own file.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Development verbs; each prints the plain command that it runs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// One development verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run every check in order and stop at the first red one.
    Ci,
    /// Run all tests, with nextest where it is installed.
    Test {
        /// Passed on to the test runner; doctests run only without them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Check what neither the compiler nor clippy can see: sizes, docs, words, places.
    Tidy,
    /// Check the dependency law, licences, duplicates and manifests.
    Deps,
    /// Write the crate diagram into the documents that carry its markers.
    Diagram {
        /// Change nothing; fail where a document's diagram is stale.
        #[arg(long)]
        check: bool,
    },
    /// Run one bench, or all that exist.
    Bench {
        /// The bench's name in the table; all of them when absent.
        name: Option<String>,
        /// Count instructions of small workloads of `core` under callgrind, and fail over the bounds.
        #[arg(long, requires = "name")]
        counts: bool,
        /// Fail where the counting tool is not installed, instead of saying so.
        #[arg(long, requires = "counts")]
        demand: bool,
    },
    /// Change the core one place at a time, and see whether a test notices; takes an hour or so.
    Mutants {
        /// Files of the core, such as `reconciler-core/src/time.rs`; all of them when absent.
        files: Vec<String>,
    },
    /// Open the console on the local example.
    Demo,
    /// Play fresh seeds of the simulator, or one seed, until a law breaks.
    Sim {
        /// How many fresh seeds.
        #[arg(long, default_value_t = 256, conflicts_with = "seed")]
        seeds: u64,
        /// This seed alone.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Play a story of the simulator from a file, and print what happens.
    Replay {
        /// The story.
        file: PathBuf,
    },
    /// Let two real drivers race for one run, over and over.
    Race {
        /// How many rounds.
        #[arg(long, default_value_t = 50)]
        rounds: u32,
    },
    /// Run the long kill -9 sweep.
    Sweep {
        /// How many kill points to try.
        #[arg(long, default_value_t = 200)]
        points: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_of_test_pass_through_untouched() {
        let cli = Cli::try_parse_from(["xtask", "test", "-p", "driver", "--no-capture"]);
        let shown = format!("{:?}", cli.expect("parses").verb);
        assert_eq!(shown, r#"Test { args: ["-p", "driver", "--no-capture"] }"#);
    }
}
