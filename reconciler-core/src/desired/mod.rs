//! What should be: the declared shape, its groups, and what of a group makes its revision.

mod gate;
mod group;
mod groups;
mod guardrail;
mod hooks;
mod policy;
mod power;
mod probe;
pub mod revision;
mod secret;
mod shape;
mod update;

pub use gate::{GateCondition, GateError, Gates, find_cycle};
pub use group::{
    BootSpec, DesiredNodeShape, JoinMode, LogicalNodeSpec, NodeSpec, RunNodeGroupSpec,
    VerifyCommand,
};
pub(crate) use groups::Brief;
pub use guardrail::{Deed, Demand, Guardrail};
pub use hooks::{Hook, HookPoint, Hooks};
pub use policy::{GroupKind, Policy, RestartPolicy, Timeouts};
pub use power::Power;
pub use probe::{LivenessBudget, Probe, ProbeCheck, ProbeKind, Probes};
pub use secret::{SecretRef, SecretRefError, is_variable_name};
pub use shape::{ClusterShape, ShapeError};
pub use update::{Amount, OnFailure, UpdateMode, UpdatePolicy};
