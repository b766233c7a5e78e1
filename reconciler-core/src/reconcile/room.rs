//! What a step must pass before it goes out: an update that stalled, the gates of its group, and room for its lease. What is live, deleting,
//! unresolved or unaccounted for never exceeds what may exist (D10, C4).

use alloc::sync::Arc;

use super::{
    decision::{Decision, GroupContext, wait},
    reason::Rung,
};
use crate::{
    desired::HookPoint,
    effect::{CommandKind, NodeManagerCommand},
    observed::NodeRecord,
};

/// A new lease needs room: live, deleting and unaccounted ones never exceed the count (D10, C4).
pub(super) fn within_room(decision: Decision, group: &mut GroupContext<'_>) -> Decision {
    let Decision::Command(command) = &decision else { return decision };
    if command.kind() != CommandKind::CreateLease {
        return decision;
    }
    let Some(left) = group.room.checked_sub(1) else {
        let count = group.desired.map_or(0, |desired| desired.count);
        let rung = Rung::Overshoot { owning: group.owning, orphans: group.orphans, count };
        return wait(rung, None);
    };
    group.room = left;
    decision
}

/// A candidate's lease needs room beside the present ones: all together never exceed count and surge (D10).
pub(super) fn within_spare_room(decision: Decision, group: &mut GroupContext<'_>) -> Decision {
    let Decision::Command(command) = &decision else { return decision };
    if command.kind() != CommandKind::CreateLease {
        return decision;
    }
    let Some(left) = group.spare.checked_sub(1) else {
        let surge = group.desired.map_or(0, |d| d.policy.update.surge(d.count));
        let count = group.desired.map_or(0, |desired| desired.count).saturating_add(surge);
        let rung = Rung::Overshoot { owning: group.owning, orphans: group.orphans, count };
        return wait(rung, None);
    };
    group.spare = left;
    decision
}

/// Nothing new is made of the revision of an update that stalled; what was made before goes on.
pub(super) fn past_freeze(
    decision: Decision,
    record: &NodeRecord,
    group: &GroupContext<'_>,
) -> Decision {
    let creates = matches!(decision, Decision::Command(NodeManagerCommand::CreateLease(_)));
    let stalled = group.freeze.filter(|freeze| freeze.is_stalled());
    let of_it = group.desired.is_some_and(|desired| desired.revision == record.revision);
    match stalled.filter(|_| creates && of_it) {
        Some(freeze) => wait(Rung::of_freeze(freeze), None),
        None => decision,
    }
}

/// A new lease and a start wait until the gates of the group are open; what runs is not touched (R167).
pub(super) fn past_gates(decision: Decision, group: &mut GroupContext<'_>) -> Decision {
    let gated = match &decision {
        Decision::Command(command) => match command.kind() {
            CommandKind::CreateLease | CommandKind::StartBootstrap => true,
            CommandKind::LookupEndpoint
            | CommandKind::BootstrapConvergenceObserved
            | CommandKind::CancelBootstrap
            | CommandKind::DestroyLease => false,
        },
        Decision::Hook(hook) => hook.point == HookPoint::PreStart,
        Decision::Steady | Decision::Wait(_) | Decision::Start(_) | Decision::Move(_) => false,
    };
    if !gated || group.lacks().is_empty() {
        return decision;
    }
    wait(Rung::Gate(Arc::clone(group.lacks())), None)
}
