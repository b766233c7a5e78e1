//! The options that every verb takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::Attach;

/// Options of every verb.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Where the run keeps its state, instead of the usual place.
    #[arg(long, global = true, value_name = "DIR", env = "LEVELHEAD_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print JSON on stdout, and errors as JSON on stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours; without it `NO_COLOR` counts as never, and `CLICOLOR_FORCE` as always.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    #[command(flatten)]
    pub(crate) driver: Attach,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
