//! What the faces see: one set of values for console, command line and control API.
//!
//! Plain data with stable JSON names; free text in it has passed the redaction gate already.

mod basis;
mod delta;
mod diff;
mod drift;
mod explain;
mod health;
mod journal;
mod plan;
mod recovery;
mod reply;
mod run;
mod watch;

pub use basis::Basis;
pub use delta::RunDelta;
pub use diff::{Difference, diff};
pub use drift::DriftView;
pub use explain::{BlockerView, ExplainView, FactValue, FactView};
pub use health::{HealthView, ReadyView};
pub use journal::{EventsView, OperationStepView, OperationView};
pub use plan::{
    BoundView, ChangeKind, ChangeView, DemandView, ImpactView, PlanGroupView, PlanView, StepView,
};
pub use recovery::{
    CheckpointView, OwnerView, RecoveryOperationView, RecoveryStepView, RecoveryView,
    ShownOperationView, UnreadOperationView,
};
pub use reply::{Edit, OutputView, RecoveryVerb, Refusal, RefusalKind, ReleaseView};
pub use run::{
    DriverView, EventView, FileView, GroupView, HoldView, NodeView, OrphanView, OutstandingView,
    PassView, ProviderView, RunState, RunView, SecondView, UpdateView, VIEW_SCHEMA, WaitsForView,
};
pub use watch::WatchLine;
