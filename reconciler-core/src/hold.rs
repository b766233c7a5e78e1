//! Safe holds: a doubt that stops a slot or a group until someone or something resolves it (P6).

use alloc::{format, string::String};

use serde::{Deserialize, Serialize};

use crate::{redact::Redacted, time::Timestamp};

/// Why something is held; the text form is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HoldCode {
    /// A slot failed as often in a row as its policy allows.
    #[serde(rename = "restart.crash-loop")]
    CrashLoop,
    /// A provider refused a request in a way that a retry cannot mend (bad argument, bad credentials).
    #[serde(rename = "effect.refused")]
    Refused,
    /// More nodes of a group vanished from a listing at once than is believable.
    #[serde(rename = "observation.implausible")]
    Implausible,
    /// A stored record makes no sense to this version.
    #[serde(rename = "record.unrecognised")]
    Unrecognised,
    /// The provider shows a newer controller's mark on our resource.
    #[serde(rename = "fence.newer")]
    NewerFence,
    /// The identity of the slot's attempt was observed in two places.
    #[serde(rename = "identity.duplicate")]
    DuplicateIdentity,
    /// More of a group looks broken at once, by signs that prove nothing, than is believable.
    #[serde(rename = "health.mass")]
    MassUnhealthy,
    /// A provider refuses to end or to give back what an attempt has, in a way that a retry cannot mend.
    #[serde(rename = "cleanup.refused")]
    CleanupRefused,
    /// The workload of a job is gone, and nobody saw how it ended.
    #[serde(rename = "job.exit-unknown")]
    ExitUnknown,
    /// An update made no progress in time, and nothing takes it back.
    #[serde(rename = "update.stalled")]
    UpdateStalled,
    /// A hook was begun, and nobody saw how it ended.
    #[serde(rename = "hook.unknown")]
    HookUnknown,
    /// An update has failed, and a hook completed on its way: what it did cannot be taken back.
    #[serde(rename = "rollback.irreversible-hook")]
    IrreversibleHook,
    /// What was taken back does not serve again.
    #[serde(rename = "rollback.restored-health-failed")]
    RestoredHealthFailed,
    /// An operation stands in the journal in a way that nobody can go by.
    #[serde(rename = "rollback.planning-incomplete")]
    PlanningIncomplete,
    /// An operation was handed over to be taken back, and was not yet.
    #[serde(rename = "rollback.handed-over")]
    HandedOver,
}

impl HoldCode {
    /// Every code, for tables and documents.
    pub const ALL: [Self; 15] = [
        Self::CrashLoop,
        Self::Refused,
        Self::Implausible,
        Self::Unrecognised,
        Self::NewerFence,
        Self::DuplicateIdentity,
        Self::MassUnhealthy,
        Self::CleanupRefused,
        Self::ExitUnknown,
        Self::UpdateStalled,
        Self::HookUnknown,
        Self::IrreversibleHook,
        Self::RestoredHealthFailed,
        Self::PlanningIncomplete,
        Self::HandedOver,
    ];

    /// The stable text of the code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CrashLoop => "restart.crash-loop",
            Self::Refused => "effect.refused",
            Self::Implausible => "observation.implausible",
            Self::Unrecognised => "record.unrecognised",
            Self::NewerFence => "fence.newer",
            Self::DuplicateIdentity => "identity.duplicate",
            Self::MassUnhealthy => "health.mass",
            Self::CleanupRefused => "cleanup.refused",
            Self::ExitUnknown => "job.exit-unknown",
            Self::UpdateStalled => "update.stalled",
            Self::HookUnknown => "hook.unknown",
            Self::IrreversibleHook => "rollback.irreversible-hook",
            Self::RestoredHealthFailed => "rollback.restored-health-failed",
            Self::PlanningIncomplete => "rollback.planning-incomplete",
            Self::HandedOver => "rollback.handed-over",
        }
    }

    /// True for what holds a slot because it is not known whose it is, or what has become of it.
    pub const fn is_doubt(self) -> bool {
        match self {
            Self::Unrecognised
            | Self::NewerFence
            | Self::DuplicateIdentity
            | Self::HookUnknown
            | Self::ExitUnknown => true,
            Self::CrashLoop
            | Self::Refused
            | Self::Implausible
            | Self::MassUnhealthy
            | Self::CleanupRefused
            | Self::UpdateStalled
            | Self::IrreversibleHook
            | Self::RestoredHealthFailed
            | Self::PlanningIncomplete
            | Self::HandedOver => false,
        }
    }

    /// True for what holds a group because its update has failed: another update, or none, ends it.
    pub const fn is_of_update(self) -> bool {
        matches!(self, Self::UpdateStalled | Self::IrreversibleHook | Self::RestoredHealthFailed)
    }

    /// True for what holds a group because its open operation cannot be read: nobody can tell how far that came.
    pub const fn is_of_operation(self) -> bool {
        matches!(self, Self::PlanningIncomplete)
    }
}

/// A safe hold on one slot or group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Why.
    pub code: HoldCode,
    /// What happened, for people.
    pub text: Redacted,
    /// Since when.
    pub since: Timestamp,
}

impl Hold {
    /// The command that leaves the hold on `subject` (a slot or group), without its confirmation hash: run as
    /// it stands, it re-observes and prints the hash to confirm.
    pub fn way_out(subject: &str) -> String {
        format!("levelhead release {subject}")
    }
}
