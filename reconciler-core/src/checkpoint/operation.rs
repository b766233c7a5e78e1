//! Where an operation stands as a whole: what it says of itself, or what its steps come to.

use alloc::collections::BTreeMap;

use super::{
    class::{CheckpointClass, CheckpointRow, RecoveryLane, row},
    mark::{StepCheckpoint, StepMark},
};
use crate::effect::{ActionKind, CommandKind};

/// How far the last deeds of a deletion are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FinalizerMark {
    /// They were begun.
    Started,
    /// They failed.
    Failed,
    /// Nothing is left.
    Verified,
}

impl FinalizerMark {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Started, Self::Failed, Self::Verified];

    const fn row(self) -> CheckpointRow {
        use CheckpointClass::Finalizer;
        match self {
            Self::Started => row("finalizer:started", Finalizer, RecoveryLane::Reobserve),
            Self::Failed => row("finalizer:failed", Finalizer, RecoveryLane::Reobserve),
            Self::Verified => row("finalizer:verified", Finalizer, RecoveryLane::Complete),
        }
    }
}

impl StepMark {
    /// How far a step of `action` that stands so has brought the last deeds of a deletion; nothing for any other step,
    /// and for one that is in doubt or of the way back.
    ///
    /// A lease is given back only once nothing depends on it, and the step that gives it back is verified only when
    /// its absence was seen: those are the two finalizers in their order.
    pub const fn finalizer(self, action: ActionKind) -> Option<FinalizerMark> {
        if !matches!(action, ActionKind::Command(CommandKind::DestroyLease)) {
            return None;
        }
        match self {
            Self::EffectPending => Some(FinalizerMark::Started),
            Self::CancelledNoEffect => Some(FinalizerMark::Failed),
            Self::Verified | Self::VerifiedAfterResume => Some(FinalizerMark::Verified),
            Self::CancelledBeforeEffect
            | Self::AmbiguousEffect
            | Self::AmbiguousAfterResume
            | Self::AcceptedWithoutEffect
            | Self::ContextStale
            | Self::IrreversibleEffect
            | Self::CompensationPending
            | Self::Compensated
            | Self::CompensationAmbiguous
            | Self::CompensationExhausted
            | Self::CompensationStale
            | Self::CompensationFailed
            | Self::CompensationMismatch
            | Self::CompensationUnavailable
            | Self::RestoredHealthHold => None,
        }
    }
}

impl StepCheckpoint {
    /// What a step of `action` that stands so says of its operation.
    #[must_use]
    pub fn of_operation(self, action: ActionKind) -> OperationCheckpoint {
        let finalizer = self.mark.finalizer(action).map(OperationCheckpoint::Finalizer);
        finalizer.unwrap_or(OperationCheckpoint::Step(self))
    }
}

/// Where an operation stands as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationCheckpoint {
    /// Opened; no step was written yet.
    IntentPersisted,
    /// The step that decides by precedence.
    Step(StepCheckpoint),
    /// The last deeds of a deletion.
    Finalizer(FinalizerMark),
    /// Everything was taken back, and what served before serves again.
    RestoredHealthVerified,
    /// It was taken back, and what served before does not serve.
    RestoredHealthHold,
    /// Closed: all that it covered is done.
    Verified,
    /// Closed: all that it did was taken back.
    Compensated,
}

impl OperationCheckpoint {
    /// Those that an operation says of itself, and no step does.
    pub const OWN: [Self; 8] = [
        Self::IntentPersisted,
        Self::Finalizer(FinalizerMark::Started),
        Self::Finalizer(FinalizerMark::Failed),
        Self::Finalizer(FinalizerMark::Verified),
        Self::RestoredHealthVerified,
        Self::RestoredHealthHold,
        Self::Verified,
        Self::Compensated,
    ];

    /// Its row (R108, R116 to R119); a step's row for a derived one.
    pub const fn row(&self) -> CheckpointRow {
        use CheckpointClass::{Intent, RestoredHealth, Terminal};
        use RecoveryLane::{Complete, Resume, SafeHold};
        match self {
            Self::IntentPersisted => row("intent-persisted", Intent, Resume),
            Self::Step(step) => step.mark.row(),
            Self::Finalizer(mark) => mark.row(),
            Self::RestoredHealthVerified => {
                row("rollback-restored-health-verified", RestoredHealth, Complete)
            }
            Self::RestoredHealthHold => {
                row("rollback-restored-health-safe-hold", RestoredHealth, SafeHold)
            }
            Self::Verified => row("verified", Terminal, Complete),
            Self::Compensated => row("compensated", Terminal, Complete),
        }
    }
}

impl OperationCheckpoint {
    /// The class that decides which of several checkpoints an operation stands at.
    ///
    /// A deletion that is over asks for nothing more, so whatever is still under way is shown before it.
    pub const fn precedence(&self) -> CheckpointClass {
        match self {
            Self::Finalizer(FinalizerMark::Verified) => CheckpointClass::Verification,
            Self::IntentPersisted
            | Self::Step(_)
            | Self::Finalizer(FinalizerMark::Started | FinalizerMark::Failed)
            | Self::RestoredHealthVerified
            | Self::RestoredHealthHold
            | Self::Verified
            | Self::Compensated => self.row().class,
        }
    }
}

/// What an open operation says of itself beside its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationMarks {
    /// Whether what served before was seen to serve again; nothing while that was not looked at.
    pub restored: Option<bool>,
}

impl OperationMarks {
    /// The checkpoint that they come to, if they come to one.
    pub fn checkpoint(self) -> Option<OperationCheckpoint> {
        self.restored.map(|proven| {
            if proven {
                OperationCheckpoint::RestoredHealthVerified
            } else {
                OperationCheckpoint::RestoredHealthHold
            }
        })
    }
}

/// Derives where an open operation stands from its steps in the order of their ids, each with what it does, and from
/// its own marks.
///
/// A later step of a slot speaks for that slot: a retry that was verified ends the failed try before it.
/// Among the slots the class of highest precedence decides, and the latest step within it.
pub fn derive_operation(
    steps: impl Iterator<Item = (ActionKind, StepCheckpoint)>,
    marks: OperationMarks,
) -> OperationCheckpoint {
    let mut newest = BTreeMap::new();
    for (order, (action, step)) in steps.enumerate() {
        newest.insert(step.slot.clone(), (order, step.of_operation(action)));
    }
    let of_steps = newest.into_values();
    let of_steps = of_steps.max_by_key(|(order, stands)| (stands.precedence(), *order));
    let of_steps = of_steps.map(|(_, stands)| stands);
    let class = OperationCheckpoint::precedence;
    // What the operation says itself stands over a step of the same class.
    of_steps
        .into_iter()
        .chain(marks.checkpoint())
        .max_by_key(class)
        .unwrap_or(OperationCheckpoint::IntentPersisted)
}
