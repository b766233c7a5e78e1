//! What can be typed: verbs, options and their help.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Parser, Subcommand};
use reconciler_core::id::{GroupId, PlanHash};

use super::{
    config::ConfigVerb,
    flags::{Confirming, FileArg, FileFlag, Going, Powering},
    global::Global,
    journal::JournalVerb,
    ownership::OwnershipVerb,
    recovery_args::RecoveryCommand,
    token::TokenVerb,
    values::{Awaited, Listening, LogFormat, Named, Screen, UpdateWhat, awaited, count, duration},
};

/// Keeps a fleet of nodes at the shape that you declared.
#[derive(Debug, Parser)]
#[command(name = "levelhead", version, about, long_about = None, disable_help_subcommand = true)]
#[command(
    after_help = "Begin with `levelhead init`, look with `levelhead plan`, go with `levelhead up`."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// A verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    Alone(AloneVerb),
    #[command(flatten)]
    Run(RunVerb),
    /// Run a workload on its node and speak for it to the driver, which says in the environment how it is let in.
    Agent {
        /// Become the workload of the agent that has this process id.
        #[arg(long, value_name = "PID", hide = true)]
        below: Option<u32>,
        /// The workload's program and its arguments.
        #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
        command: Vec<OsString>,
    },
}

/// A verb that needs no run.
#[derive(Debug, Subcommand)]
pub(crate) enum AloneVerb {
    /// Write a commented starter file.
    Init {
        #[command(flatten)]
        file: FileArg,
        /// The name of the run.
        #[arg(long, default_value = "local")]
        run: String,
        /// Print a fresh run UUID and write nothing.
        #[arg(long)]
        uuid: bool,
    },
    /// Check a file, and name everything that is wrong with it.
    Validate {
        #[command(flatten)]
        file: FileArg,
    },
    /// Look after the journal: check it, copy it, put a copy back, make it smaller, read it.
    #[command(subcommand)]
    Journal(JournalVerb),
    /// See the settings of who works here: which file counts, and what each key means.
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all verbs.
    Man {
        /// Where to write them, instead of printing the first.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Serve a tiny HTTP page: a workload that needs nothing installed.
    #[command(hide = true)]
    Node {
        /// The port to listen on, on the loopback address.
        #[arg(long)]
        port: u16,
    },
}

/// A verb that works on a run.
#[derive(Debug, Subcommand)]
pub(crate) enum RunVerb {
    /// Show what would be done to reach the file's shape, and the hash that confirms it.
    Plan {
        #[command(flatten)]
        file: FileArg,
        /// Plan on what the journal says, without a look at any provider; confirms nothing.
        #[arg(long)]
        offline: bool,
        /// Exit with 2 if there are changes.
        #[arg(long)]
        detailed_exitcode: bool,
    },
    /// Do what a plan showed.
    Apply {
        #[command(flatten)]
        file: FileArg,
        /// The hash that the plan printed.
        #[arg(
            long,
            value_name = "HASH",
            required_unless_present = "plan",
            conflicts_with = "plan"
        )]
        confirm: Option<PlanHash>,
        /// A plan that was kept with `levelhead plan --json`; one that was changed since is refused.
        #[arg(long, value_name = "JSON")]
        plan: Option<PathBuf>,
        #[command(flatten)]
        going: Going,
    },
    /// Bring everything up: plan, ask, and wait until it is as the file says.
    Up {
        #[command(flatten)]
        file: FileArg,
        #[command(flatten)]
        how: Confirming,
        #[command(flatten)]
        going: Going,
    },
    /// Take everything down and leave nothing behind.
    Down {
        #[command(flatten)]
        file: FileArg,
        #[command(flatten)]
        how: Confirming,
        #[command(flatten)]
        going: Going,
    },
    /// Change how many nodes groups have, without touching the file.
    Scale {
        /// Counts to set, such as `web=5`.
        #[arg(value_name = "GROUP=N", required = true, value_parser = count)]
        counts: Vec<(GroupId, u32)>,
        #[command(flatten)]
        rest: Powering,
    },
    /// End workloads; their nodes keep their leases and rest.
    Stop {
        /// Groups such as `web`, or slots such as `web-0`.
        #[arg(value_name = "GROUP|SLOT", required = true)]
        subjects: Vec<String>,
        #[command(flatten)]
        rest: Powering,
    },
    /// Start workloads that were stopped.
    Start {
        /// Groups such as `web`, or slots such as `web-0`.
        #[arg(value_name = "GROUP|SLOT", required = true)]
        subjects: Vec<String>,
        #[command(flatten)]
        rest: Powering,
    },
    /// Let workloads begin anew on their leases, one of each group at a time.
    Restart {
        /// Groups such as `web`, or slots such as `web-0`.
        #[arg(value_name = "GROUP|SLOT", required = true)]
        subjects: Vec<String>,
        #[command(flatten)]
        rest: Powering,
    },
    /// Run jobs again, each of their nodes as a fresh attempt.
    Run {
        /// Groups of kind `job`.
        #[arg(value_name = "GROUP", required = true)]
        groups: Vec<GroupId>,
        #[command(flatten)]
        rest: Powering,
    },
    /// Take groups away with all of their nodes, without touching the file.
    Rm {
        /// The groups.
        #[arg(value_name = "GROUP", required = true)]
        groups: Vec<GroupId>,
        #[command(flatten)]
        rest: Powering,
    },
    /// Pause an update that is under way, let it go on, or take it back.
    Update {
        /// The groups whose update it is.
        #[arg(value_name = "GROUP", required = true)]
        groups: Vec<GroupId>,
        #[command(flatten)]
        what: UpdateWhat,
        #[command(flatten)]
        rest: Powering,
    },
    /// Show how the run stands.
    Status {
        #[command(flatten)]
        file: FileArg,
        /// Show only what is not as it should be.
        #[arg(long)]
        problems: bool,
        /// Show every run whose state is in the usual place, a line each.
        #[arg(long, conflicts_with_all = ["problems", "file"])]
        all: bool,
        /// Show the journal's records as the text that tests are written in.
        #[arg(long, hide = true, conflicts_with_all = ["problems", "json", "watch"])]
        fixture: bool,
        /// Show it again whenever something changed, until interrupted.
        #[arg(long)]
        watch: bool,
    },
    /// See who answers for operations and nodes, and take over what was abandoned.
    #[command(subcommand)]
    Ownership(OwnershipVerb),
    /// Print what happens, a line each, until interrupted.
    Watch {
        #[command(flatten)]
        file: FileArg,
    },
    /// Wait until the run is as it should be, and say why if it does not come to it.
    Wait {
        #[command(flatten)]
        file: FileArg,
        /// What to wait for: `converged`, `generation=N`, `ready=GROUP`, or `driver`.
        #[arg(long = "for", value_name = "WHAT", default_value = "converged", value_parser = awaited)]
        what: Awaited,
        /// Give up after this long.
        #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
        timeout: Duration,
    },
    /// Say who may call the driver over the network.
    #[command(subcommand)]
    Token(TokenVerb),
    /// Print the journaled events.
    Events {
        #[command(flatten)]
        file: FileArg,
        /// Only events after this number.
        #[arg(long, value_name = "SEQ")]
        after: Option<u64>,
        /// At most this many; with --attach 1,000 at most.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Keep printing as they come.
        #[arg(long)]
        follow: bool,
    },
    /// Say why a slot is where it is, and what it waits for.
    Explain {
        /// A slot such as `web-0`, or a group.
        subject: String,
        /// One line for each slot, without the facts.
        #[arg(long)]
        short: bool,
        #[command(flatten)]
        file: FileFlag,
    },
    /// Print a node's own output.
    Logs {
        /// The slot, such as `web-0`.
        slot: String,
        #[command(flatten)]
        file: FileFlag,
        /// Keep printing as it comes.
        #[arg(long)]
        follow: bool,
        /// Print at most this many of the last lines of each file.
        #[arg(long, default_value_t = 200)]
        lines: usize,
    },
    /// Show a hold after a fresh look, and end it if it is confirmed.
    Release {
        /// The held slot or group.
        subject: String,
        #[command(flatten)]
        file: FileFlag,
        /// The hash that the hold printed.
        #[arg(long, value_name = "HASH")]
        confirm: Option<PlanHash>,
    },
    /// List what is open and could be recovered, and go on with it, take it back, or close it.
    #[command(args_conflicts_with_subcommands = true)]
    Recovery {
        #[command(flatten)]
        file: FileFlag,
        #[command(subcommand)]
        verb: Option<RecoveryCommand>,
    },
    /// Write the live counts into the file, with its comments kept.
    Export {
        #[command(flatten)]
        file: FileArg,
        /// Write the file; without this it is printed.
        #[arg(long)]
        write: bool,
    },
    /// Drive without a screen until told to stop.
    Driver {
        #[command(flatten)]
        file: FileArg,
        /// Least time between two passes.
        #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
        pace: Duration,
        /// How log lines look on stderr.
        #[arg(long, default_value = "text")]
        log_format: LogFormat,
        #[command(flatten)]
        listening: Listening,
    },
    /// Watch and edit on a full screen.
    Console {
        #[command(flatten)]
        file: FileArg,
        #[command(flatten)]
        how: Screen,
    },
    /// Print the names of groups or nodes, a line each: what a shell completes with.
    #[command(hide = true)]
    Names {
        /// Which names.
        what: Named,
        #[command(flatten)]
        file: FileFlag,
    },
    /// Check the surroundings, or put a provider through the conformance battery.
    Doctor {
        #[command(flatten)]
        file: FileFlag,
        /// The provider to put through the battery.
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::Cli;

    fn changing(command: &Command, name: &str, found: &mut Vec<(String, Vec<String>)>) {
        let named = |arg: &clap::Arg| arg.get_long().map(str::to_owned);
        let flags: Vec<String> = command.get_arguments().filter_map(named).collect();
        if flags.iter().any(|flag| flag == "detach") {
            found.push((name.to_owned(), flags));
        }
        for below in command.get_subcommands() {
            changing(below, format!("{name} {}", below.get_name()).trim_start(), found);
        }
    }

    /// R84: each verb that changes a run can be shown, and confirmed by what was shown.
    #[test]
    fn every_change_is_shown_by_a_dry_run_and_confirmed_by_a_hash() {
        let mut found = Vec::new();
        changing(&Cli::command(), "", &mut found);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        for verb in ["up", "down", "start", "stop", "restart", "rm", "update", "run", "scale"] {
            assert!(names.contains(&verb), "{verb} changes a run: {names:?}");
        }
        for (name, flags) in &found {
            assert!(flags.iter().any(|flag| flag == "confirm"), "{name}: {flags:?}");
            // What `apply` does was shown by `plan`.
            assert!(name == "apply" || flags.iter().any(|flag| flag == "dry-run"), "{name}");
        }
    }
}
