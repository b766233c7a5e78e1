//! What is: the record of each slot's present attempt, and the fleet of them.

mod admission;
mod agent;
mod calendar;
mod clock;
mod cluster;
mod due;
mod ending;
mod facts;
mod fleet;
mod group;
mod groups;
mod health;
mod hooks;
mod leaf;
mod note;
mod probed;
mod pull;
mod record;
mod rollout;
mod rollouts;
mod stage;
mod tally;

pub use admission::Admission;
pub use agent::{AgentFacts, AgentNews};
pub use cluster::{ClusterState, ProviderState};
pub use due::next_due;
pub use facts::{MemberFacts, SessionFacts, SessionStage};
pub use fleet::Fleet;
pub use group::GroupState;
pub use health::{Health, ProbeAnswer, ProbeVerdict, Trial};
pub use hooks::{HookFacts, HookMark};
pub use note::{About, Note, NoteKind, Settlement, StepEnd};
pub use record::{
    Ambiguity, Backoff, DeleteReason, Deletion, NodeRecord, Pending, Retry, Second, Side,
};
pub use rollout::{Failing, Freeze, Hooked, NoWayBack, Prior, Rollout};
pub use stage::{FailureFacts, NodeStage, Remains, StageName};

pub use crate::lease::{Endpoint, Handle, LeaseFacts, LeaseId};
