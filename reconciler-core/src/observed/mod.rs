//! What is: the record of each slot's present attempt, and the fleet of them.

mod clock;
mod cluster;
mod due;
mod facts;
mod fleet;
mod groups;
mod record;
mod stage;

pub use cluster::{ClusterState, GroupState, ProviderState};
pub use due::next_due;
pub use facts::{Endpoint, Handle, LeaseFacts, LeaseId, MemberFacts, SessionFacts, SessionStage};
pub use fleet::Fleet;
pub use record::{Ambiguity, Backoff, DeleteReason, Deletion, NodeRecord, Pending, Retry};
pub use stage::{FailureFacts, NodeStage, Remains, StageName};
