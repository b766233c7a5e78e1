//! Laws of what is synced: what one commit may make of the records before it.

use checkpoint::record::RecordWrite;
use reconciler_core::{
    desired::{ClusterShape, GateCondition},
    effect::{ActionKind, CommandKind},
    id::{AttemptId, GroupId, LogicalNodeId},
    observed::{NodeRecord, NodeStage},
};

use super::{
    event::{Event, Written},
    scene::Scene,
};

type Verdict = Result<(), String>;

fn unless(broken: bool, why: impl FnOnce() -> String) -> Verdict {
    if broken { Err(why()) } else { Ok(()) }
}

/// Asks `ask` of each record that a commit writes: the slot, the record before, and after.
fn each(
    event: &Event<'_>,
    mut ask: impl FnMut(&LogicalNodeId, Option<&NodeRecord>, Option<&NodeRecord>) -> Verdict,
) -> Verdict {
    let Event::Written(written) = event else { return Ok(()) };
    written.commit.records.iter().try_for_each(|write| {
        let (slot, after) = match write {
            RecordWrite::Put(record) => (&record.slot, Some(record.as_ref())),
            RecordWrite::Remove(slot) => (slot, None),
        };
        let before = written.before.get(slot).and_then(Option::as_deref);
        ask(slot, before, after)
    })
}

fn attempts(record: Option<&NodeRecord>) -> impl Iterator<Item = &NodeRecord> {
    record.into_iter().flat_map(NodeRecord::attempts)
}

pub(super) fn lease_kept(scene: &Scene, event: &Event<'_>) -> Verdict {
    each(event, |slot, before, after| {
        let kept = |id: &str| {
            attempts(after).any(|r| r.stage.lease().is_some_and(|l| l.id.as_str() == id))
        };
        let lost = attempts(before).find_map(|record| {
            let lease = record.stage.lease()?.id.as_str();
            let proven = scene.book.lacked.contains(&record.attempt.uuid);
            let there = scene.land.things.get(lease).is_some_and(|thing| !scene.hides(thing));
            (there && !proven && !kept(lease)).then_some(lease)
        });
        lost.map_or(Ok(()), |lease| Err(format!("{slot} forgets {lease}, which exists")))
    })
}

pub(super) fn loss_proven(scene: &Scene, event: &Event<'_>) -> Verdict {
    if scene.book.jumped {
        return Ok(());
    }
    let failed = |record: &NodeRecord| matches!(record.stage, NodeStage::Failed { .. });
    each(event, |slot, before, after| {
        let new = attempts(after).find(|one| {
            let was = before.and_then(|record| record.of_attempt(one.attempt));
            failed(one)
                && !was.is_some_and(failed)
                && !scene.book.causes.contains(&one.attempt.uuid)
        });
        new.map_or(Ok(()), |one| Err(format!("{slot} failed for no cause: {:?}", one.stage)))
    })
}

pub(super) fn backoff_kept(scene: &Scene, event: &Event<'_>) -> Verdict {
    if scene.book.jumped {
        return Ok(());
    }
    let wall = scene.wall();
    each(event, |slot, before, after| {
        let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
        let (was, is) = (&before.backoff, &after.backoff);
        let Some(due) = was.not_before.filter(|due| *due > wall) else { return Ok(()) };
        let nearer = is.not_before.is_none_or(|now| now < due);
        unless(nearer && is.failures >= was.failures, || {
            format!("{slot} was to wait until {due:?}, and now until {:?}", is.not_before)
        })
    })
}

pub(super) fn deletion_final(_scene: &Scene, event: &Event<'_>) -> Verdict {
    each(event, |slot, before, after| {
        let back = attempts(after).find(|one| {
            let was = before.and_then(|record| record.of_attempt(one.attempt));
            let going = was.is_some_and(|was| was.deletion.is_some());
            going && one.deletion.is_none() && !one.is_destroyed()
        });
        back.map_or(Ok(()), |one| Err(format!("{slot} #{} is to stay again", one.attempt.ordinal)))
    })
}

pub(super) fn identity_new(scene: &Scene, event: &Event<'_>) -> Verdict {
    each(event, |slot, _, after| {
        let back = attempts(after).find(|one| scene.book.buried.contains(&one.attempt.uuid));
        back.map_or(Ok(()), |one| {
            let AttemptId { ordinal, uuid } = one.attempt;
            Err(format!("{slot} #{ordinal} is {uuid}, as an attempt of a record that is gone"))
        })
    })
}

pub(super) fn one_open_step(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Written(written) = event else { return Ok(()) };
    written.commit.intents.iter().try_for_each(|intent| {
        let open = scene.book.open.get(&intent.attempt.uuid);
        let settled =
            |step| written.commit.steps.iter().any(|s| s.step == step && s.finished_at.is_some());
        let other = open.into_iter().flatten().find(|step| !settled(**step));
        other.map_or(Ok(()), |other| {
            Err(format!("{} gets step {} while {other} is open", intent.slot, intent.step))
        })
    })
}

pub(super) fn backed(scene: &Scene, event: &Event<'_>) -> Verdict {
    each(event, |slot, _, after| {
        let bare = attempts(after)
            .filter_map(|one| one.pending.as_ref())
            .find(|pending| scene.disk.step(pending.step).is_none());
        bare.map_or(Ok(()), |p| {
            Err(format!("{slot} waits for step {}, which nobody wrote", p.step))
        })
    })
}

pub(super) fn gates_shut(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Written(written) = event else { return Ok(()) };
    let Some(row) = scene.disk.shape() else { return Ok(()) };
    let gated =
        |kind: ActionKind| kind == CommandKind::CreateLease || kind == CommandKind::StartBootstrap;
    let intents = written.commit.intents.iter().filter(|intent| gated(intent.action.kind()));
    for intent in intents {
        let Some(group) = row.shape.group(&intent.slot.group) else { continue };
        for (on, condition) in &group.policy.after {
            let (have, want) = opened(scene, written, &row.shape, on, *condition);
            unless(have < want, || {
                format!(
                    "{} goes on although {on} has {have} of {want} {}",
                    intent.slot,
                    condition.as_str()
                )
            })?;
        }
    }
    Ok(())
}

/// How many nodes of a group had come to a gate's condition before a commit, or have with it; and how many must.
fn opened(
    scene: &Scene,
    written: &Written<'_>,
    shape: &ClusterShape,
    on: &GroupId,
    condition: GateCondition,
) -> (u32, u32) {
    let want = shape.group(on).map_or(0, |group| group.count);
    let there = |record: &NodeRecord| match condition {
        GateCondition::Started => record.is_started(),
        GateCondition::Ready => record.is_ready(),
        GateCondition::Completed => record.is_completed(),
    };
    let before = written.all.iter().map(AsRef::as_ref);
    let after = scene.disk.records().map(AsRef::as_ref);
    let slots: std::collections::BTreeSet<&LogicalNodeId> = before
        .chain(after)
        .filter(|record| record.slot.group == *on && there(record))
        .map(|record| &record.slot)
        .collect();
    (u32::try_from(slots.len()).unwrap_or(u32::MAX), want)
}

pub(super) fn numbers_rise(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Written(written) = event else { return Ok(()) };
    let present = scene.disk.fence();
    unless(written.mine < present, || {
        format!("driver {} writes under fence {}, which is {present}", written.life, written.mine)
    })?;
    let (pass, _, step) = written.numbers;
    let old = written.commit.pass.as_ref().is_some_and(|row| row.pass <= pass);
    unless(old, || format!("a pass follows pass {pass} with no higher number"))?;
    let old = written.commit.intents.iter().any(|intent| intent.step <= step);
    unless(old, || format!("a step follows step {step} with no higher number"))
}
