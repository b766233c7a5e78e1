//! What can be typed after `levelhead recovery`.

use clap::Subcommand;
use reconciler_core::id::OperationId;

use super::flags::{FileFlag, Powering};

/// What is done with an operation.
#[derive(Debug, Subcommand)]
pub(crate) enum RecoveryCommand {
    /// Show one operation with all of its steps.
    Show {
        /// Its number, as `levelhead recovery` lists it.
        #[arg(value_name = "ID", value_parser = operation)]
        id: OperationId,
        #[command(flatten)]
        file: FileFlag,
    },
    /// End the holds of its group, and go on the way that it goes.
    Resume {
        /// Its number, as `levelhead recovery` lists it.
        #[arg(value_name = "ID", value_parser = operation)]
        id: OperationId,
        #[command(flatten)]
        rest: Powering,
    },
    /// Take its group back to what it was before it.
    Rollback {
        /// Its number, as `levelhead recovery` lists it.
        #[arg(value_name = "ID", value_parser = operation)]
        id: OperationId,
        #[command(flatten)]
        rest: Powering,
    },
    /// End the holds of its group and close it where it stands; what is missing is planned anew.
    Release {
        /// Its number, as `levelhead recovery` lists it.
        #[arg(value_name = "ID", value_parser = operation)]
        id: OperationId,
        #[command(flatten)]
        rest: Powering,
    },
}

impl RecoveryCommand {
    /// The desired-state file that it names.
    pub(crate) const fn file(&self) -> &FileFlag {
        match self {
            Self::Show { file, .. } => file,
            Self::Resume { rest, .. }
            | Self::Rollback { rest, .. }
            | Self::Release { rest, .. } => &rest.file,
        }
    }
}

fn operation(text: &str) -> Result<OperationId, String> {
    let number: Result<u64, _> = text.parse();
    number
        .map(OperationId::new)
        .map_err(|_bad| format!("`{text}` is not the number of an operation"))
}
