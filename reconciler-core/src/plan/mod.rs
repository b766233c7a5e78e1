//! The plan of a change: the decider itself, run to its fixpoint on a predicted state (D2).

mod after;
mod blocked;
mod change;
mod graph;
mod guard;
mod header;
mod impact;
mod key;
mod lifecycle;
mod link;
mod openers;
mod predicted;
mod probing;
mod project;
mod step;
mod stored;

pub use after::After;
pub use change::{Change, ChangeKind};
pub use graph::GraphError;
pub use guard::{Breach, Demanded, judge};
pub use header::{PlanHeader, PlanInput, Scope, capability_digest, observation_text};
pub use impact::Impact;
pub use key::StepKey;
pub use lifecycle::LifecyclePlan;
pub use project::{ProjectError, project};
pub use step::{Condition, PlanStep, inverse};
pub use stored::{Specs, StoredPlan, StoredPlanError};
