//! A plan as it is shown before it is confirmed.

use reconciler_core::id::{Generation, GroupId, LogicalNodeId, PlanHash, PlanSerial};
use serde::{Deserialize, Serialize};

use super::drift::DriftView;

/// What a plan does to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A node is made where none was.
    Create,
    /// A node gives way to one of another revision.
    Replace,
    /// A node that is not as it should be is brought on.
    Repair,
    /// A node goes.
    Destroy,
    /// Nothing can be done: it is held.
    Blocked,
}

/// What happens to one slot, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeView {
    /// Which.
    pub slot: LogicalNodeId,
    /// What.
    pub kind: ChangeKind,
    /// True if the node serves at present.
    pub ready: bool,
    /// Why, in one line.
    pub why: String,
}

/// One group within a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanGroupView {
    /// Which.
    pub group: GroupId,
    /// Its count before.
    pub from: u32,
    /// Its count after.
    pub to: u32,
    /// What happens to its slots, in order; those that stay are left out.
    pub changes: Vec<ChangeView>,
    /// How many stay as they are.
    pub unchanged: u32,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepView {
    /// Its key, unique within the plan.
    pub key: String,
    /// The slot.
    pub slot: LogicalNodeId,
    /// The action.
    pub action: String,
    /// Keys of the steps that come first.
    pub after: Vec<String>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    /// The version of this form.
    pub schema: u32,
    /// Confirms the plan: the hash of everything that it was made from.
    pub hash: PlanHash,
    /// How many plans were confirmed before.
    pub serial: PlanSerial,
    /// The generation that it starts from.
    pub base: Generation,
    /// The generation that it leads to.
    pub target: Generation,
    /// The groups that it touches or that exist.
    pub groups: Vec<PlanGroupView>,
    /// Its steps in a stable topological order.
    pub steps: Vec<StepView>,
    /// Nodes made.
    pub create: u32,
    /// Nodes replaced.
    pub replace: u32,
    /// Nodes repaired.
    pub repair: u32,
    /// Nodes destroyed.
    pub destroy: u32,
    /// Nodes that stay.
    pub unchanged: u32,
    /// Nodes that are held.
    pub blocked: u32,
    /// True if it changes nothing.
    pub empty: bool,
    /// Where what is observed is not what the plan leads to, in a stable order.
    #[serde(default)]
    pub drift: Vec<DriftView>,
}
