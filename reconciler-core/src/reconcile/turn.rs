//! A node of another revision: its turn to give way, and what it waits for until then (D10).
//!
//! Which nodes have a turn is the budget's; what becomes of a candidate stands in `second`.

use alloc::{boxed::Box, sync::Arc};

use super::{
    budget::{Budget, Turn},
    decision::{Decision, GroupContext, wait},
    reason::{Reason, Rung},
};
use crate::{
    desired::{LogicalNodeSpec, RunNodeGroupSpec},
    fold::Transition,
    observed::{DeleteReason, Freeze, NodeRecord},
};

/// What a node of another revision does, if it has its turn.
pub(super) fn takes(
    record: &NodeRecord,
    wanted: &RunNodeGroupSpec,
    group: &GroupContext<'_>,
) -> Option<Decision> {
    if record.revision == wanted.revision {
        return None;
    }
    match group.budget.as_ref().map_or(Turn::Goes, |budget| budget.turn(record)) {
        Turn::Goes => Some(Decision::Move(Transition::BeginDelete(DeleteReason::Replaced))),
        Turn::Beside => {
            let spec =
                group.shape.stamp(wanted, record.slot.clone(), record.born, record.next_ordinal());
            Some(Decision::Move(Transition::Candidate(Box::new(spec))))
        }
        Turn::Waits => None,
    }
}

/// Why nothing of the wanted revision follows where an attempt of it is gone: its update stalled.
pub(super) fn frozen(
    record: &NodeRecord,
    wanted: &RunNodeGroupSpec,
    group: &GroupContext<'_>,
) -> Option<Decision> {
    let freeze = group.freeze.filter(|freeze| freeze.is_stalled())?;
    (record.revision == wanted.revision).then(|| wait(Rung::of_freeze(freeze), None))
}

/// What the next attempt of a slot is to be: what is wanted, or what the slot was while its update moves nothing.
pub(super) fn next(
    record: &NodeRecord,
    wanted: &RunNodeGroupSpec,
    group: &GroupContext<'_>,
) -> LogicalNodeSpec {
    let spec = group.shape.stamp(wanted, record.slot.clone(), record.born, record.next_ordinal());
    if group.freeze.is_none() {
        return spec;
    }
    LogicalNodeSpec { spec: Arc::clone(&record.spec), revision: record.revision, ..spec }
}

/// Why nothing follows yet where nothing of the old revision is left.
pub(super) fn awaits_others(
    record: &NodeRecord,
    wanted: &RunNodeGroupSpec,
    group: &GroupContext<'_>,
) -> Option<Decision> {
    if record.revision == wanted.revision {
        return None;
    }
    let second = record.second.as_deref().map(|second| &second.record);
    // While an update is stalled its candidate does not take over, so nothing waits for that.
    let comes = !group.freeze.is_some_and(Freeze::is_stalled);
    if let Some(live) = second.filter(|second| comes && second.is_live()) {
        return Some(wait(Rung::AwaitCandidate(live.attempt.ordinal), None));
    }
    group.budget.as_ref().and_then(Budget::awaits_others).map(|rung| wait(rung, None))
}

/// A node of another revision that has nothing to do waits for its turn, or for the candidate beside it.
pub(super) fn or_awaited(
    decision: Decision,
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &GroupContext<'_>,
) -> Decision {
    let idle = matches!(
        &decision,
        Decision::Steady | Decision::Wait(Reason { rung: Rung::Stabilising | Rung::Working, .. })
    );
    let outdated = wanted.is_some_and(|wanted| wanted.revision != record.revision);
    let (Some(budget), true) = (&group.budget, idle && outdated) else { return decision };
    let until = match decision {
        Decision::Wait(reason) => reason.until,
        Decision::Steady
        | Decision::Start(_)
        | Decision::Command(_)
        | Decision::Hook(_)
        | Decision::Move(_) => None,
    };
    let live = record.second.as_deref().filter(|second| second.record.is_live());
    let rung = live.map_or_else(
        || budget.waits(),
        |second| Rung::AwaitCandidate(second.record.attempt.ordinal),
    );
    wait(rung, until)
}
