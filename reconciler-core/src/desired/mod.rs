//! What should be: the declared shape, its groups, and what of a group makes its revision.

mod group;
mod policy;
pub mod revision;
mod shape;

pub use group::{
    BootSpec, DesiredNodeShape, JoinMode, LogicalNodeSpec, NodeSpec, RunNodeGroupSpec,
    VerifyCommand,
};
pub use policy::{Policy, RestartPolicy, Timeouts};
pub use shape::{ClusterShape, ShapeError};
