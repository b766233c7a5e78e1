//! What can be typed after `levelhead ownership`.

use std::path::Path;

use clap::{Args, Subcommand};
use reconciler_core::{
    id::PlanHash,
    ownership::{ControllerId, HandoffTarget},
};

use crate::cli::flags::FileFlag;

/// What to do with ownership.
#[derive(Debug, Subcommand)]
pub(crate) enum OwnershipVerb {
    /// Show the lease on each open operation, and what every attempt owns.
    Status {
        #[command(flatten)]
        file: FileFlag,
    },
    /// Take an operation whose lease ran out from its controller, with everything attached to it.
    ///
    /// Every part is to be named as `ownership status` shows it; whatever moved since changes nothing.
    Handoff(HandoffArgs),
}

impl OwnershipVerb {
    /// The desired-state file.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Status { file } | Self::Handoff(HandoffArgs { file, .. }) => &file.file,
        }
    }
}

/// The operation that is meant, and who gets it.
#[derive(Debug, Args)]
pub(crate) struct HandoffArgs {
    /// The operation.
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: u64,
    /// The hash of the plan that opened it.
    #[arg(long, value_name = "HASH")]
    pub(crate) plan: PlanHash,
    /// The fence of its lease.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) fence: u64,
    /// Who holds it.
    #[arg(long, value_name = "CONTROLLER")]
    pub(crate) owner: ControllerId,
    /// When its lease ended, in milliseconds since 1970.
    #[arg(long, value_name = "MS")]
    pub(crate) until: u64,
    /// What for: `resume`, or `rollback`, which the driver that takes the run next then does.
    #[arg(long, value_name = "WHAT")]
    pub(crate) to: HandoffTarget,
    /// How long the new lease is, in seconds, from 1 to 900.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub(crate) lease: u64,
    #[command(flatten)]
    pub(crate) file: FileFlag,
}
