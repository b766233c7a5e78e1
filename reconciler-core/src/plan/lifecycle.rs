//! A plan: what would happen, and the hash over all that it was made from, which confirms it (P3).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{
    change::Change,
    graph::{Graph, GraphError},
    header::PlanHeader,
    impact::Impact,
    step::PlanStep,
    stored::{Specs, write_plan},
};
use crate::{
    id::{GroupId, LogicalNodeId, PlanHash},
    reconcile::Reason,
};

/// A plan: what would happen, bound to everything that it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifecyclePlan {
    /// What it is bound to.
    pub header: PlanHeader,
    /// What the attempts of its steps implement, redacted.
    pub specs: Specs,
    /// Its steps in a stable topological order: Kahn's, the smallest key first.
    pub steps: Vec<PlanStep>,
    /// What happens to each slot that does not simply stay.
    pub changes: Vec<Change>,
    /// Slots that cannot move, and why.
    pub blocked: Vec<(LogicalNodeId, Reason)>,
    /// What it does to the availability of the groups whose nodes it replaces.
    pub impacts: Vec<Impact>,
    /// Counts per group before and after.
    pub counts: BTreeMap<GroupId, (u32, u32)>,
    /// The hash of all the above.
    pub hash: PlanHash,
}

impl LifecyclePlan {
    /// The plan's canonical text; its SHA-256 is the hash.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        let Self { header, specs, steps, impacts, .. } = self;
        write_plan(header, specs, steps, impacts, |part| text.push_str(part));
        text
    }

    /// The wave of each step: at most `parallelism` steps at once, and what a step comes after lies in earlier
    /// waves.
    ///
    /// # Errors
    /// Fails if the steps are no graph, which a plan that was made or read here never is.
    pub fn waves(&self) -> Result<Vec<u32>, GraphError> {
        Ok(Graph::new(&self.steps)?.waves(self.header.parallelism as usize))
    }

    /// True if it changes nothing at all: no step, no record, no shape.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.changes.is_empty()
    }
}
