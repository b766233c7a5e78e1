//! What a plan does not bring to its target, since a person or something that is not planned has to come first.

use crate::{desired::ClusterShape, id::LogicalNodeId, observed::ClusterState, reconcile::Rung};

/// True for rungs that a fault-free future does not leave.
pub(super) fn is_blocking(rung: &Rung) -> bool {
    matches!(
        rung,
        Rung::Held(..)
            | Rung::GroupHeld(_)
            | Rung::Ambiguous(_)
            | Rung::EffectPending(_)
            | Rung::Overshoot { .. }
            | Rung::Gate(_)
            | Rung::Dependents(_)
            | Rung::Turn { .. }
            | Rung::UpdatePaused
            | Rung::AwaitTurn { .. }
            | Rung::AwaitOthersGone { .. }
            | Rung::AwaitCandidate(_)
            | Rung::AwaitSecondGone(_)
    )
}

/// True for a node that stays at its revision because the update of its group moves nothing: one that took its steps
/// did as it was asked, and is not blocked.
pub(super) fn stays_as_it_was(
    slot: &LogicalNodeId,
    state: &ClusterState,
    target: &ClusterShape,
) -> bool {
    let kept = state.record(slot).zip(target.wanted(slot));
    kept.is_some_and(|(record, wanted)| {
        let frozen = state.freeze(&slot.group, wanted.revision).is_some();
        frozen && record.revision != wanted.revision
    })
}
