//! Laws of effects: what must hold when one comes to a provider, and when it takes hold.

use reconciler_core::{
    checkpoint::StepMark,
    effect::{ActionKind, CommandKind},
    observed::{NodeRecord, NodeStage},
};

use super::{
    book::Call,
    event::Event,
    fleet::PARALLELISM,
    land::{Origin, lease_id},
    scene::Scene,
};

type Verdict = Result<(), String>;

fn unless(broken: bool, why: impl FnOnce() -> String) -> Verdict {
    if broken { Err(why()) } else { Ok(()) }
}

/// The record of a call's attempt as it is synced.
fn record<'a>(scene: &'a Scene, call: &Call) -> Option<&'a NodeRecord> {
    scene.disk.record(&call.slot)?.of_attempt(call.attempt)
}

pub(super) fn intent_first(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    let Some(row) = scene.disk.step(call.step) else {
        return Err(format!("step {} of {} is not synced", call.step, call.slot));
    };
    let mark = row.checkpoint.as_ref().map(|checkpoint| checkpoint.mark);
    let said = (&row.slot, row.attempt, row.command, row.key, row.fence, row.operation);
    let comes = (
        &call.slot,
        call.attempt,
        ActionKind::from(call.kind),
        call.key,
        call.fence,
        call.operation,
    );
    // A driver whose run was taken may still be heard of; that its fence is stale is another law's.
    let intent = [StepMark::EffectPending, StepMark::CompensationPending].map(Ok);
    let pending = intent.contains(&mark) || call.life + 1 < scene.lives.len();
    unless(!pending || said != comes, || {
        format!(
            "step {} of {} stands as {mark:?}, as itself: {}",
            call.step,
            call.slot,
            said == comes
        )
    })
}

pub(super) fn one_effect(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    // Where the clock jumped, a driver gives up sooner than the call's own deadline says.
    if scene.book.jumped {
        return Ok(());
    }
    // What happened first may settle a step while its effect is still on its way.
    let open = scene.book.open.get(&call.attempt.uuid);
    let other = scene.book.under_way(call.life).find(|other| {
        let pending = open.is_some_and(|open| open.contains(&other.step));
        other.attempt == call.attempt && other.deadline > call.at && pending
    });
    other.map_or(Ok(()), |other| {
        Err(format!(
            "{} of {} while {} is under way",
            call.kind.as_str(),
            call.slot,
            other.kind.as_str()
        ))
    })
}

pub(super) fn parallelism(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    let busy = scene.book.under_way(call.life).filter(|other| other.deadline > call.at).count() + 1;
    unless(busy > PARALLELISM as usize, || format!("{busy} effects, {PARALLELISM} are allowed"))
}

pub(super) fn fresh_fence(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    // Between the last look at the fence and the call lies an instant; taking the run lies in none.
    let present = scene.disk.fence();
    unless(call.fence < present && scene.taken_at < call.at, || {
        format!(
            "{} of {} goes out under fence {}, which is {present}",
            call.kind.as_str(),
            call.slot,
            call.fence
        )
    })
}

pub(super) fn doubt_looked_at(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    let doubt = scene.book.doubts.get(&call.attempt.uuid).filter(|since| **since < call.at);
    // A driver whose run was taken cannot know of the doubts of the next.
    let stale = call.life + 1 < scene.lives.len();
    unless(doubt.is_some() && !stale, || {
        let since = doubt.copied().unwrap_or_default();
        format!("{} of {} although nobody looked since {since}", call.kind.as_str(), call.slot)
    })
}

pub(super) fn waits_out(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    if call.kind != CommandKind::CreateLease || scene.book.jumped {
        return Ok(());
    }
    let until = record(scene, call).and_then(|record| record.backoff.not_before);
    let wall = scene.wall();
    unless(until.is_some_and(|until| until > wall), || {
        format!("{} asks for a lease before {until:?}, it is {wall:?}", call.slot)
    })
}

pub(super) fn attempt_once(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    if call.kind != CommandKind::CreateLease || call.life + 1 < scene.lives.len() {
        return Ok(());
    }
    let highest = scene.book.ordinals.get(&call.slot).copied().unwrap_or_default();
    unless(scene.book.destroyed.contains(&call.attempt.uuid), || {
        format!("attempt {} of {} was destroyed before", call.attempt.ordinal, call.slot)
    })?;
    unless(call.attempt.ordinal < highest && record(scene, call).is_none(), || {
        format!("attempt {} of {} after attempt {highest}", call.attempt.ordinal, call.slot)
    })
}

pub(super) fn own_only(_scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Entered(call) = event else { return Ok(()) };
    let own = lease_id(call.attempt.uuid);
    unless(call.lease.as_ref().is_some_and(|lease| *lease != own), || {
        format!("{} of {} is about {:?}", call.kind.as_str(), call.slot, call.lease)
    })
}

/// A lease that came into being by an effect whose driver could know.
fn made<'a>(scene: &Scene, event: &Event<'a>) -> Option<&'a Call> {
    let Event::Applied { call, new: true } = event else { return None };
    let thing = scene.land.things.get(&lease_id(call.attempt.uuid))?;
    (thing.origin == Origin::Ours).then_some(*call)
}

pub(super) fn one_lease(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Some(call) = made(scene, event) else { return Ok(()) };
    let things = scene.land.things.values();
    let mine = things.filter(|t| t.slot == call.slot && t.origin == Origin::Ours).count();
    let shape = scene.disk.shape().map(|row| &row.shape);
    let group = shape.and_then(|shape| shape.group(&call.slot.group));
    // What is declared may have shrunk to nothing since the intent was written.
    let surges = group.is_some_and(|group| group.policy.update.surge(group.count.max(1)) > 0);
    unless(mine > 1 + usize::from(surges), || format!("{} has {mine} leases", call.slot))
}

pub(super) fn within_count(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Some(call) = made(scene, event) else { return Ok(()) };
    let things = scene.land.things.values();
    let of_group = things.filter(|t| t.slot.group == call.slot.group && t.origin == Origin::Ours);
    // What is declared may have grown since the intent was written.
    let then = scene.book.bounds.get(&call.step).copied().unwrap_or(0);
    let shape = scene.disk.shape().map(|row| &row.shape);
    let group = shape.and_then(|shape| shape.group(&call.slot.group));
    let now = group.map_or(0, |g| g.count + g.policy.update.surge(g.count));
    let (there, most) = (of_group.count(), then.max(now));
    unless(there > most as usize, || {
        format!("{} holds {there} leases, {most} may be", call.slot.group)
    })
}

/// True if the record says that something exists, or may.
pub(super) fn owns(record: &NodeRecord) -> bool {
    record.stage.lease().is_some()
        || record.is_open()
        || matches!(record.stage, NodeStage::LeaseRequested)
}
