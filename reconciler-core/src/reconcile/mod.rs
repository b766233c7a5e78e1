//! Deciding: observed and desired state go in, at most one step per slot comes out.
//!
//! Pure and level-triggered: the same state, shape and time give the same plan, whatever woke the pass (R1 to
//! R7). [`reconcile`] looks at every slot; [`reconcile_some`] asks the same question of the slots that may have
//! an answer, and a property holds the two together.

mod blockers;
mod budget;
mod converged;
mod decision;
mod explain;
mod gates;
mod hooks;
mod known;
mod ladder;
mod outlook;
mod parked;
mod pass;
mod power;
mod probes;
mod reason;
mod rollout;
mod room;
mod second;
mod sight;
mod trials;
mod turn;

pub use blockers::Blocker;
pub use converged::{Standing, group_converged, ready_on, standing};
pub use decision::Decision;
pub use explain::{Explanation, explain};
pub use gates::{Lack, held_back, lacks};
pub use known::Known;
pub use ladder::reconcile_node;
pub use outlook::{Outlook, Outstanding, WaitsFor, Why, outlook};
pub use parked::{Parked, Parking};
pub use pass::{ReconcilePlan, Start, reconcile, reconcile_some};
pub use reason::{Reason, Rung};
pub use rollout::RolloutChange;
