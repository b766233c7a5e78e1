//! The agent of a workload, as far as it is kept. That it is not heard of says nothing of its workload.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentSeal, SessionId},
    time::Timestamp,
};

/// The agent that joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// The session of the workload that it runs.
    pub session: SessionId,
    /// What tells it from any other.
    pub seal: AgentSeal,
    /// Since when it is not heard of, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since: Option<Timestamp>,
}

/// What is told of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentNews {
    /// It showed its token, and has this seal.
    Joined(AgentSeal),
    /// Nothing was heard of it for longer than its heartbeats are apart.
    Lost,
    /// It is heard of again.
    Back,
}
