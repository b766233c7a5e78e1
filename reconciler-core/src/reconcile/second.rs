//! The attempt beside the present one: a candidate comes up, passes every gate and takes over; one that gave
//! way goes (D10, R169, R172, R173).

use alloc::boxed::Box;

use super::{
    decision::{Decision, GroupContext, wait},
    ladder, probes,
    reason::Rung,
    room::{past_freeze, past_gates, within_spare_room},
};
use crate::{
    desired::RunNodeGroupSpec,
    fold::Transition,
    limits,
    observed::{DeleteReason, Freeze, NodeRecord, NodeStage, Second},
    time::Timestamp,
};

/// Decides the second attempt of a slot.
pub(super) fn decide(
    present: &NodeRecord,
    second: &Second,
    group: &mut GroupContext<'_>,
    now: Timestamp,
) -> Decision {
    let wanted = candidate_of(present, group);
    let record = &second.record;
    ladder::forbidden(record)
        .or_else(|| destroyed(present, record, wanted, group, now))
        .or_else(|| ladder::group_held(record, wanted, group, now))
        .or_else(|| takes_over(present, record, wanted, group))
        .or_else(|| begins_delete(record, wanted, group))
        .or_else(|| ladder::unresolved(record, now))
        .or_else(|| ladder::held_back(record, group, now))
        .or_else(|| probes::gives_up(record, group, now))
        .or_else(|| promotes(second, group, now))
        .unwrap_or_else(|| {
            let step = ladder::by_stage(record, group.shape.uuid, now);
            within_spare_room(past_gates(past_freeze(step, record, group), group), group)
        })
}

/// What a candidate of the slot should be; nothing where none is wanted.
fn candidate_of<'a>(
    present: &NodeRecord,
    group: &GroupContext<'a>,
) -> Option<&'a RunNodeGroupSpec> {
    let wanted = group.wanted(present.slot.index).map(AsRef::as_ref);
    wanted.filter(|wanted| present.revision != wanted.revision)
}

/// Nothing is left of the second attempt: it goes, waits, or begins anew.
fn destroyed(
    present: &NodeRecord,
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &GroupContext<'_>,
    now: Timestamp,
) -> Option<Decision> {
    let reap = Decision::Move(Transition::Reap);
    if !record.is_destroyed() {
        return None;
    }
    // Where nothing serves that it should stand beside, its slot begins anew by itself.
    let Some(wanted) = wanted.filter(|_| present.is_ready()) else { return Some(reap) };
    if let Some(hold) = group.hold {
        return Some(wait(Rung::GroupHeld(hold.code), None));
    }
    if record.revision != wanted.revision {
        return Some(reap);
    }
    if let Some(freeze) = group.freeze {
        return Some(wait(Rung::of_freeze(freeze), None));
    }
    if let Some(hold) = &record.hold {
        return Some(ladder::held(hold));
    }
    if let Some(until) = record.backoff.not_before.filter(|at| *at > now) {
        return Some(ladder::backing_off(record, until));
    }
    let spec = group.shape.stamp(wanted, record.slot.clone(), present.born, present.next_ordinal());
    Some(Decision::Move(Transition::Restart(Box::new(spec))))
}

/// Nothing is left of the present attempt: its candidate takes the slot as it stands.
fn takes_over(
    present: &NodeRecord,
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &GroupContext<'_>,
) -> Option<Decision> {
    let wanted = wanted.filter(|_| !group.freeze.is_some_and(Freeze::is_stalled))?;
    let takes = present.is_destroyed() && record.is_live() && record.revision == wanted.revision;
    takes.then_some(Decision::Move(Transition::Promote))
}

fn begins_delete(
    record: &NodeRecord,
    wanted: Option<&RunNodeGroupSpec>,
    group: &GroupContext<'_>,
) -> Option<Decision> {
    if record.deletion.is_some() {
        return None;
    }
    let go = |reason| Some(Decision::Move(Transition::BeginDelete(reason)));
    let Some(wanted) = wanted else { return go(DeleteReason::Undesired) };
    if matches!(record.stage, NodeStage::Failed { .. }) {
        return go(DeleteReason::Failed);
    }
    if record.revision != wanted.revision {
        return go(DeleteReason::Replaced);
    }
    if record.policy == wanted.policy {
        return None;
    }
    let spec = group.shape.stamp(wanted, record.slot.clone(), record.born, record.attempt.ordinal);
    Some(Decision::Move(Transition::Retune(Box::new(spec))))
}

/// The gates of a promotion in their order: joined, every probe passed, observed for long enough, and seen to run just now.
fn promotes(second: &Second, group: &GroupContext<'_>, now: Timestamp) -> Option<Decision> {
    let record = &second.record;
    if record.deletion.is_some() {
        return None;
    }
    if let Some(freeze) = group.freeze.filter(|freeze| record.is_ready() && freeze.is_stalled()) {
        return Some(wait(Rung::of_freeze(freeze), None));
    }
    if let Some(kind) = record.unproven_probe().filter(|_| record.stage.is_ready()) {
        return Some(wait(probes::awaited(record, kind), None));
    }
    let proven = record.ready_since()?.after(record.policy.update.observation);
    if proven > now {
        return Some(wait(Rung::Observing, Some(proven)));
    }
    let fresh = |at: &Timestamp| *at >= proven && now.since(*at) <= limits::FRESH_LOOK;
    if second.seen.as_ref().is_some_and(fresh) {
        return Some(Decision::Move(Transition::Promote));
    }
    Some(wait(Rung::Verifying, second.look_at.filter(|at| *at > now)))
}
