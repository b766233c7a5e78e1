//! What an operation is taken back to, written when it is opened, and whether its steps can be taken back as written.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    command::CommandKind,
    desired::{ClusterShape, RunNodeGroupSpec, ShapeError},
    effect::ActionKind,
    id::{GroupId, StepId},
    observed::ClusterState,
    plan::inverse,
};

/// What a group is taken back to: the group as it was declared before, of the revision that served.
///
/// It is precomputed and stands in the journal with the intent of its operation, so that going back needs nothing
/// that could be lost meanwhile (R93).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compensation {
    /// The group before; nothing if it was not declared.
    pub before: Option<Arc<RunNodeGroupSpec>>,
}

impl Compensation {
    /// What an operation that leaves `live` takes `group` back to.
    ///
    /// Where an update is under way, what it leads to never served: the way back leads to what did.
    pub fn of(group: &GroupId, live: &ClusterShape, observed: &ClusterState) -> Self {
        let before = live.group(group).map(|declared| {
            let rollout = observed.rollout(group).filter(|r| r.target == declared.revision);
            let Some(prior) = rollout.and_then(|rollout| rollout.prior.as_ref()) else {
                return Arc::clone(declared);
            };
            let mut before = RunNodeGroupSpec::clone(declared);
            (before.revision, before.spec) = (prior.revision, Arc::clone(&prior.spec));
            Arc::new(before)
        });
        Self { before }
    }

    /// The shape in which `group` is what it was before; how nodes are treated stays as it is declared now.
    ///
    /// # Errors
    /// Refuses to take away what another group waits for, and to bring back what waits for a group that is gone.
    pub fn restored(
        &self,
        group: &GroupId,
        live: &ClusterShape,
    ) -> Result<ClusterShape, ShapeError> {
        let Some(before) = &self.before else {
            return live.without(&BTreeSet::from([group.clone()]));
        };
        let mut before = RunNodeGroupSpec::clone(before);
        if let Some(present) = live.group(group) {
            before.policy = Arc::clone(&present.policy);
        }
        live.with_group(before)
    }
}

/// A step as the journal has it, as far as taking it back asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenStep {
    /// Which one.
    pub step: StepId,
    /// What it does.
    pub action: ActionKind,
    /// What was written as its inverse; nothing says that there is none.
    pub inverse: Option<CommandKind>,
}

/// A step whose inverse is not the one that undoes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the inverse of step {step} is written as {}, and it is {}", name(*written), name(*known))]
pub struct BrokenRecord {
    /// Which step.
    pub step: StepId,
    /// What is written.
    pub written: Option<CommandKind>,
    /// What undoes it.
    pub known: Option<CommandKind>,
}

fn name(inverse: Option<CommandKind>) -> &'static str {
    inverse.map_or("none", CommandKind::as_str)
}

/// Checks that every step carries the inverse that undoes it.
///
/// # Errors
/// Names the first step that does not: what was written elsewhere or by chance is not gone by.
pub fn audit(steps: impl IntoIterator<Item = WrittenStep>) -> Result<(), BrokenRecord> {
    let mut known = BTreeMap::new();
    for WrittenStep { step, action, inverse: written } in steps {
        let known = *known.entry(action).or_insert_with(|| inverse(action));
        if written != known {
            return Err(BrokenRecord { step, written, known });
        }
    }
    Ok(())
}
