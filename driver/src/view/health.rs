//! The short answers: how a run stands in counts, and whether its driver is at work.

use reconciler_core::id::{Generation, PassNumber};
use serde::{Deserialize, Serialize};

use super::run::RunState;

/// How a run stands, in counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthView {
    /// How it stands as a whole.
    pub state: RunState,
    /// The last pass that did something.
    pub pass: PassNumber,
    /// The generation of the live shape.
    pub generation: Generation,
    /// How many nodes are wanted, without those that are switched off.
    pub want: u32,
    /// How many of them are ready.
    pub ready: u32,
    /// How many slots or groups are held.
    pub held: u32,
    /// How many groups have nodes that wait for other groups.
    pub gated: u32,
}

/// Whether the driver is at work: it has the run, and has looked at every provider once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyView {
    /// True if it is.
    pub ready: bool,
    /// Why not, if it is not.
    pub why: Option<String>,
}
