//! What is known of a workload, and how one ended.

use serde::{Deserialize, Serialize};

use crate::{lease::Handle, redact::Redacted};

/// How a workload ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It is gone, and nobody saw how.
    Unknown,
}

/// What is known of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadState {
    /// None was started.
    Absent,
    /// It runs.
    Running {
        /// What the provider knows of it.
        workload: Handle,
    },
    /// It ended.
    Exited {
        /// How.
        status: ExitStatus,
        /// Its last lines.
        tail: Redacted,
    },
    /// The provider cannot say.
    Unknown,
}
