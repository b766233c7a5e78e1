//! The ten stages, each with exactly the facts that are legal there.

use serde::{Deserialize, Serialize};

use super::facts::{MemberFacts, SessionFacts};
use crate::{
    effect::FailureClass,
    id::SessionId,
    lease::{Endpoint, Handle, LeaseFacts},
    redact::Redacted,
    time::Timestamp,
};

/// Where an attempt is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum NodeStage {
    /// Entered when the attempt is made, and when its lease is gone during deletion. Leaves by `CreateLease`.
    New,
    /// Entered when `CreateLease` is on its way. Leaves with its outcome, or when a look finds the lease.
    LeaseRequested,
    /// Entered with a lease. Leaves by `LookupEndpoint`, or by `StartBootstrap` if the endpoint came with it.
    LeaseCreated {
        /// What the provider gave.
        lease: LeaseFacts,
        /// Where it is reached, if the provider said so at once.
        endpoint: Option<Endpoint>,
        /// When to look for the endpoint again.
        probe_at: Option<Timestamp>,
    },
    /// Entered when the endpoint is known, and when a session was cancelled. Leaves by `StartBootstrap`.
    EndpointKnown {
        /// What the provider gave.
        lease: LeaseFacts,
        /// Where it is reached.
        endpoint: Endpoint,
    },
    /// Entered when the workload was started. Leaves when it joins, exits, or runs out of time.
    BootstrapRunning {
        /// What the provider gave.
        lease: LeaseFacts,
        /// Where it is reached.
        endpoint: Endpoint,
        /// The session that brings it up.
        session: SessionFacts,
        /// When a workload that still runs counts as joined.
        settle_at: Timestamp,
    },
    /// Entered when it joined. Leaves by `BootstrapConvergenceObserved`.
    SwactorJoined {
        /// What the provider gave.
        lease: LeaseFacts,
        /// Where it is reached.
        endpoint: Endpoint,
        /// The session, still open.
        session: SessionFacts,
        /// When it joined.
        joined_at: Timestamp,
    },
    /// Entered when the session is closed: ready, not yet stable. Leaves at `stable_at`.
    HandedOff {
        /// What the provider gave.
        lease: LeaseFacts,
        /// Where it is reached.
        endpoint: Endpoint,
        /// The remote side.
        member: MemberFacts,
        /// When it counts as stable.
        stable_at: Timestamp,
    },
    /// Entered when it was ready for the stable interval, and when the workload of a job ended well. Steady: nothing
    /// is scheduled.
    Dormant {
        /// What the provider gave.
        lease: LeaseFacts,
        /// Where it is reached.
        endpoint: Endpoint,
        /// The remote side.
        member: MemberFacts,
        /// When the workload of a job ended well, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed: Option<Timestamp>,
    },
    /// Entered on a definite failure or a proven loss. Leaves through deletion: what remains is cleaned up first.
    Failed {
        /// What went wrong.
        failure: FailureFacts,
        /// What is still to be cleaned up.
        remains: Remains,
    },
    /// Entered when nothing of it is left. Leaves by a fresh attempt or by being reaped.
    Destroyed {
        /// When.
        at: Timestamp,
        /// What had gone wrong, if anything.
        failure: Option<FailureFacts>,
    },
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureFacts {
    /// When.
    pub at: Timestamp,
    /// What kind.
    pub class: FailureClass,
    /// What was said, cleaned.
    pub message: Redacted,
}

/// What a failed attempt still owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Remains {
    /// Nothing.
    Nothing,
    /// A lease without a workload.
    Lease {
        /// What the provider gave.
        lease: LeaseFacts,
    },
    /// A lease and a session whose workload may still run.
    Session {
        /// What the provider gave.
        lease: LeaseFacts,
        /// The session.
        session: SessionFacts,
    },
}

/// A stage without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageName {
    /// `New`.
    New,
    /// `LeaseRequested`.
    LeaseRequested,
    /// `LeaseCreated`.
    LeaseCreated,
    /// `EndpointKnown`.
    EndpointKnown,
    /// `BootstrapRunning`.
    BootstrapRunning,
    /// `SwactorJoined`.
    SwactorJoined,
    /// `HandedOff`.
    HandedOff,
    /// `Dormant`.
    Dormant,
    /// `Failed`.
    Failed,
    /// `Destroyed`.
    Destroyed,
}

impl StageName {
    /// All ten, in the order of a life.
    pub const ALL: [Self; 10] = [
        Self::New,
        Self::LeaseRequested,
        Self::LeaseCreated,
        Self::EndpointKnown,
        Self::BootstrapRunning,
        Self::SwactorJoined,
        Self::HandedOff,
        Self::Dormant,
        Self::Failed,
        Self::Destroyed,
    ];

    /// The stage's name in lower case with hyphens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::LeaseRequested => "lease-requested",
            Self::LeaseCreated => "lease-created",
            Self::EndpointKnown => "endpoint-known",
            Self::BootstrapRunning => "bootstrap-running",
            Self::SwactorJoined => "swactor-joined",
            Self::HandedOff => "handed-off",
            Self::Dormant => "dormant",
            Self::Failed => "failed",
            Self::Destroyed => "destroyed",
        }
    }
}

impl StageName {
    /// The stage as a plan has it. Ready is ready: that a node becomes stable changes no step, and must not make
    /// a plan stale.
    pub(crate) const fn as_planned(self) -> Self {
        if matches!(self, Self::HandedOff) { Self::Dormant } else { self }
    }
}

impl NodeStage {
    /// Which of the ten it is.
    pub const fn name(&self) -> StageName {
        match self {
            Self::New => StageName::New,
            Self::LeaseRequested => StageName::LeaseRequested,
            Self::LeaseCreated { .. } => StageName::LeaseCreated,
            Self::EndpointKnown { .. } => StageName::EndpointKnown,
            Self::BootstrapRunning { .. } => StageName::BootstrapRunning,
            Self::SwactorJoined { .. } => StageName::SwactorJoined,
            Self::HandedOff { .. } => StageName::HandedOff,
            Self::Dormant { .. } => StageName::Dormant,
            Self::Failed { .. } => StageName::Failed,
            Self::Destroyed { .. } => StageName::Destroyed,
        }
    }

    /// True where the node serves: its session is closed and nothing is wrong with it.
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::HandedOff { .. } | Self::Dormant { .. })
    }

    /// True where the workload of a job ended well.
    pub const fn is_completed(&self) -> bool {
        matches!(self, Self::Dormant { completed: Some(_), .. })
    }

    /// True where a workload was started that is not known to have ended.
    pub const fn has_workload(&self) -> bool {
        match self {
            Self::BootstrapRunning { .. }
            | Self::SwactorJoined { .. }
            | Self::HandedOff { .. }
            | Self::Dormant { completed: None, .. }
            | Self::Failed { remains: Remains::Session { .. }, .. } => true,
            Self::New
            | Self::LeaseRequested
            | Self::LeaseCreated { .. }
            | Self::EndpointKnown { .. }
            | Self::Dormant { completed: Some(_), .. }
            | Self::Failed { remains: Remains::Lease { .. } | Remains::Nothing, .. }
            | Self::Destroyed { .. } => false,
        }
    }

    /// What the provider knows of the workload, in the stages of a live attempt that have one.
    pub const fn workload(&self) -> Option<&Handle> {
        match self {
            Self::BootstrapRunning { session, .. } | Self::SwactorJoined { session, .. } => {
                Some(&session.workload)
            }
            Self::HandedOff { member, .. } | Self::Dormant { member, completed: None, .. } => {
                Some(&member.workload)
            }
            Self::New
            | Self::LeaseRequested
            | Self::LeaseCreated { .. }
            | Self::EndpointKnown { .. }
            | Self::Dormant { completed: Some(_), .. }
            | Self::Failed { .. }
            | Self::Destroyed { .. } => None,
        }
    }

    /// The session of the workload, in the stages of a live attempt that have one.
    pub const fn session(&self) -> Option<SessionId> {
        match self {
            Self::BootstrapRunning { session, .. } | Self::SwactorJoined { session, .. } => {
                Some(session.id)
            }
            Self::HandedOff { member, .. } | Self::Dormant { member, completed: None, .. } => {
                Some(member.session)
            }
            Self::New
            | Self::LeaseRequested
            | Self::LeaseCreated { .. }
            | Self::EndpointKnown { .. }
            | Self::Dormant { completed: Some(_), .. }
            | Self::Failed { .. }
            | Self::Destroyed { .. } => None,
        }
    }

    /// The lease, in the stages that own one.
    pub const fn lease(&self) -> Option<&LeaseFacts> {
        match self {
            Self::LeaseCreated { lease, .. }
            | Self::EndpointKnown { lease, .. }
            | Self::BootstrapRunning { lease, .. }
            | Self::SwactorJoined { lease, .. }
            | Self::HandedOff { lease, .. }
            | Self::Dormant { lease, .. }
            | Self::Failed {
                remains: Remains::Lease { lease } | Remains::Session { lease, .. },
                ..
            } => Some(lease),
            Self::New
            | Self::LeaseRequested
            | Self::Failed { remains: Remains::Nothing, .. }
            | Self::Destroyed { .. } => None,
        }
    }

    /// The endpoint, in the stages that know one.
    pub const fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::LeaseCreated { endpoint, .. } => endpoint.as_ref(),
            Self::EndpointKnown { endpoint, .. }
            | Self::BootstrapRunning { endpoint, .. }
            | Self::SwactorJoined { endpoint, .. }
            | Self::HandedOff { endpoint, .. }
            | Self::Dormant { endpoint, .. } => Some(endpoint),
            Self::New | Self::LeaseRequested | Self::Failed { .. } | Self::Destroyed { .. } => None,
        }
    }
}
