//! The facts that a stage may own beside its lease and endpoint: session and member.

use serde::{Deserialize, Serialize};

use crate::{id::SessionId, lease::Handle, time::Timestamp};

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
