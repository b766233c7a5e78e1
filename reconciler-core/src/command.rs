//! The six commands by name; what each carries stands in `request`, and hooks, which are none, in `kind`.

use serde::{Deserialize, Serialize};

use crate::{desired::Policy, limits, time::Millis};

/// The kind of a command, without what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CommandKind {
    /// `CreateLease`.
    CreateLease,
    /// `LookupEndpoint`.
    LookupEndpoint,
    /// `StartBootstrap`.
    StartBootstrap,
    /// `BootstrapConvergenceObserved`.
    BootstrapConvergenceObserved,
    /// `CancelBootstrap`.
    CancelBootstrap,
    /// `DestroyLease`.
    DestroyLease,
}

impl CommandKind {
    /// All six.
    pub const ALL: [Self; 6] = [
        Self::CreateLease,
        Self::LookupEndpoint,
        Self::StartBootstrap,
        Self::BootstrapConvergenceObserved,
        Self::CancelBootstrap,
        Self::DestroyLease,
    ];

    /// The command of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// The command's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CreateLease => "CreateLease",
            Self::LookupEndpoint => "LookupEndpoint",
            Self::StartBootstrap => "StartBootstrap",
            Self::BootstrapConvergenceObserved => "BootstrapConvergenceObserved",
            Self::CancelBootstrap => "CancelBootstrap",
            Self::DestroyLease => "DestroyLease",
        }
    }

    /// How long it may take under `policy`.
    pub const fn timeout(self, policy: &Policy) -> Millis {
        let timeouts = &policy.timeouts;
        match self {
            Self::CreateLease => timeouts.create,
            Self::StartBootstrap => timeouts.bootstrap,
            Self::CancelBootstrap => timeouts.cancel,
            Self::DestroyLease => timeouts.destroy,
            Self::LookupEndpoint | Self::BootstrapConvergenceObserved => limits::EFFECT_TIMEOUT,
        }
    }
}
