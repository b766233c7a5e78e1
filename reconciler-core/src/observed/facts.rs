//! The facts that a stage may own: lease, endpoint, session, member.

use alloc::{collections::BTreeMap, string::String, sync::Arc};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    effect::HandleFacts,
    id::{Fence, SessionId},
    time::Timestamp,
};

/// The provider's own name for a lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(Arc<str>);

impl LeaseId {
    /// Wraps a provider's id.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a provider keeps about a lease or a workload of its own, shared and opaque.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(Arc<HandleFacts>);

impl Handle {
    /// Wraps a provider's facts.
    pub fn new(facts: HandleFacts) -> Self {
        Self(Arc::new(facts))
    }

    /// One fact.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All facts.
    pub fn facts(&self) -> &HandleFacts {
        &self.0
    }
}

/// What a provider gave for an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseFacts {
    /// The provider's id for it.
    pub id: LeaseId,
    /// The fence under which it was created; provenance, not a lock.
    pub fence: Fence,
    /// What the provider needs to find it again.
    pub handle: Handle,
}

/// Where a node is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// A host name or address.
    pub host: Arc<str>,
    /// Its ports by name.
    pub ports: Arc<BTreeMap<String, u16>>,
}

/// How far a bootstrap session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionStage {
    /// The session exists.
    Created,
    /// Its output is being read.
    StdoutStreaming,
    /// A verify command runs.
    BootChecking,
    /// The workload is being started.
    SwactorStarting,
    /// It runs, and has not joined yet.
    WaitingForSwactorJoin,
    /// It joined.
    Converged,
    /// The session is over.
    Closed,
    /// A verify command failed.
    BootCheckFailed,
    /// The workload could not be started, or ended too soon.
    StartFailed,
    /// It did not join in time.
    SwactorJoinFailed,
    /// Its output could not be read.
    StreamError,
    /// It was cancelled.
    Cancelled,
}

/// A running bootstrap session and its workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Its number within the attempt.
    pub id: SessionId,
    /// The last stage that it reported.
    pub stage: SessionStage,
    /// The last sequence number that it reported; never moves back.
    pub seq: u64,
    /// When its workload was started.
    pub started_at: Timestamp,
    /// What the provider knows of the workload.
    pub workload: Handle,
}

/// A member: the remote side after it joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberFacts {
    /// The session through which it joined; closed since.
    pub session: SessionId,
    /// When it joined.
    pub joined_at: Timestamp,
    /// When it became ready.
    pub ready_at: Timestamp,
    /// What the provider knows of its workload.
    pub workload: Handle,
}
