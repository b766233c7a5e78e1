//! Options that several verbs share.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use reconciler_core::id::PlanHash;

use super::values::duration;

/// The desired-state file.
#[derive(Clone, Debug, Args)]
pub(crate) struct FileArg {
    /// The desired-state file.
    #[arg(value_name = "FILE", default_value = "cluster.toml", env = "LEVELHEAD_FILE")]
    pub(crate) file: PathBuf,
}

/// The desired-state file, where other words stand without a flag.
#[derive(Clone, Debug, Args)]
pub(crate) struct FileFlag {
    /// The desired-state file.
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "cluster.toml",
        env = "LEVELHEAD_FILE"
    )]
    pub(crate) file: PathBuf,
}

/// How a change is confirmed and followed.
#[derive(Clone, Debug, Args)]
pub(crate) struct Going {
    /// Do not ask: the plan is confirmed as it is shown.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// The name that a guardrail wants typed before the plan is confirmed.
    #[arg(long, value_name = "NAME")]
    pub(crate) typed: Option<String>,
    /// Return as soon as the change is journaled. Needs a driver that runs.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Give up waiting after this long; what was begun goes on with the next driver.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Least time between two passes, to watch the steps. For a driver that this command starts.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    pub(crate) pace: Duration,
}

impl Going {
    /// What was said to confirm the plan, as the driver is told.
    pub(crate) fn said(&self) -> Option<String> {
        self.typed.clone().or_else(|| self.yes.then(|| "yes".to_owned()))
    }
}

/// How a change is shown, or confirmed without being asked for.
#[derive(Clone, Debug, Args)]
pub(crate) struct Confirming {
    /// Show the plan and its hash, and change nothing.
    #[arg(long, conflicts_with_all = ["confirm", "yes"])]
    pub(crate) dry_run: bool,
    /// Do what a dry run with this hash showed.
    #[arg(long, value_name = "HASH", conflicts_with = "yes")]
    pub(crate) confirm: Option<PlanHash>,
}

/// What a verb of power needs beside its names.
#[derive(Clone, Debug, Args)]
pub(crate) struct Powering {
    #[command(flatten)]
    pub(crate) file: FileFlag,
    #[command(flatten)]
    pub(crate) how: Confirming,
    #[command(flatten)]
    pub(crate) going: Going,
}
