//! What the faces see: one set of values for console, command line and control API.
//!
//! Plain data with stable JSON names; free text in it has passed the redaction gate already.

mod basis;
mod drift;
mod explain;
mod plan;
mod recovery;
mod reply;
mod run;

pub use basis::Basis;
pub use drift::DriftView;
pub use explain::{BlockerView, ExplainView, FactValue, FactView};
pub use plan::{BoundView, ChangeKind, ChangeView, ImpactView, PlanGroupView, PlanView, StepView};
pub use recovery::{CheckpointView, OperationView, OwnerView, RecoveryStepView, RecoveryView};
pub use reply::{Edit, RecoveryVerb, Refusal, RefusalKind, ReleaseView};
pub use run::{
    DriverView, EventView, FileView, GroupView, HoldView, NodeView, OrphanView, OutstandingView,
    PassView, ProviderView, RunState, RunView, SecondView, UpdateView, VIEW_SCHEMA, WaitsForView,
};
