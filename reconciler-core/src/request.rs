//! The six commands with what each carries: what a provider is asked for.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    command::CommandKind,
    desired::{NodeSpec, Policy},
    id::{AttemptId, LogicalNodeId, RevisionDigest, SessionId, Uuid},
    lease::{Endpoint, Handle, LeaseFacts},
    time::Millis,
};

/// The six commands; there is no seventh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeManagerCommand {
    /// Allocate without running.
    CreateLease(NodeRequest),
    /// Ask where the lease can be reached.
    LookupEndpoint(LeaseFacts),
    /// Run the verify commands, then the workload.
    StartBootstrap {
        /// What to run.
        request: NodeRequest,
        /// Where.
        lease: LeaseFacts,
        /// How it is reached.
        endpoint: Endpoint,
        /// The number of this session.
        session: SessionId,
        /// How long a verify command chain may take in all.
        timeout: Millis,
    },
    /// The member joined: close its bootstrap session.
    BootstrapConvergenceObserved {
        /// The lease.
        lease: LeaseFacts,
        /// The session to close.
        session: SessionId,
        /// What the provider knows of the workload.
        workload: Handle,
    },
    /// End the session and its workload, also after handoff.
    CancelBootstrap {
        /// The lease.
        lease: LeaseFacts,
        /// The session.
        session: SessionId,
        /// What the provider knows of the workload.
        workload: Handle,
        /// Time between the polite and the forced end.
        grace: Millis,
    },
    /// Give the lease back.
    DestroyLease(LeaseFacts),
}

impl NodeManagerCommand {
    /// How long it may take under `policy`.
    pub const fn timeout(&self, policy: &Policy) -> Millis {
        self.kind().timeout(policy)
    }

    /// The session that it is about, if it is about one.
    pub const fn session(&self) -> Option<SessionId> {
        match self {
            Self::StartBootstrap { session, .. }
            | Self::BootstrapConvergenceObserved { session, .. }
            | Self::CancelBootstrap { session, .. } => Some(*session),
            Self::CreateLease(_) | Self::LookupEndpoint(_) | Self::DestroyLease(_) => None,
        }
    }

    /// The lease that it is about, if one was made.
    pub const fn lease(&self) -> Option<&LeaseFacts> {
        match self {
            Self::CreateLease(_) => None,
            Self::LookupEndpoint(lease)
            | Self::StartBootstrap { lease, .. }
            | Self::BootstrapConvergenceObserved { lease, .. }
            | Self::CancelBootstrap { lease, .. }
            | Self::DestroyLease(lease) => Some(lease),
        }
    }

    /// Which of the six it is.
    pub const fn kind(&self) -> CommandKind {
        match self {
            Self::CreateLease(_) => CommandKind::CreateLease,
            Self::LookupEndpoint(_) => CommandKind::LookupEndpoint,
            Self::StartBootstrap { .. } => CommandKind::StartBootstrap,
            Self::BootstrapConvergenceObserved { .. } => CommandKind::BootstrapConvergenceObserved,
            Self::CancelBootstrap { .. } => CommandKind::CancelBootstrap,
            Self::DestroyLease(_) => CommandKind::DestroyLease,
        }
    }
}

/// Everything that a provider needs to know of the attempt that it works for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRequest {
    /// The run.
    pub run: Uuid,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt.
    pub attempt: AttemptId,
    /// The revision that the attempt implements.
    pub revision: RevisionDigest,
    /// What the node is.
    pub spec: Arc<NodeSpec>,
}
