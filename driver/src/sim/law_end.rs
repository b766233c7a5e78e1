//! Laws of a driver at a safe point: what it knows is what is synced, and what rests is as it should be.

use std::sync::Arc;

use reconciler_core::{observed::NodeRecord, reconcile::reconcile};

use super::{event::Event, law_effect::owns, scene::Scene};
use crate::looping::Loop;

type Verdict = Result<(), String>;

pub(super) fn promise_kept(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Stepped { .. } = event else { return Ok(()) };
    let promised = scene.book.promised;
    let kept = scene.disk.shape().map(|row| row.shape.generation).unwrap_or_default();
    if kept < promised {
        return Err(format!("an operator was told of generation {promised}, synced is {kept}"));
    }
    Ok(())
}

/// Steps that a driver may take within one moment: far more than there are slots and effects in a story.
const STEPS_MAX: u32 = 400;

pub(super) fn sleeps(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Stepped { driver, .. } = event else { return Ok(()) };
    if scene.book.steps.1 <= STEPS_MAX {
        return Ok(());
    }
    let due = driver.state.next_due();
    Err(format!("a driver spins at {:?}; due is {due:?}, by its {}", scene.wall(), driver.trigger))
}

pub(super) fn disk_is_memory(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Stepped { life, driver } = event else { return Ok(()) };
    let state = &driver.state;
    let over = life + 1 < scene.lives.len() || scene.is_dead(*life);
    if over || scene.book.jumped || driver.open_commits > 0 || state.cluster.has_dirty() {
        return Ok(());
    }
    agree(scene, driver, |record| record)
}

pub(super) fn taken_over(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Began { driver } = event else { return Ok(()) };
    if scene.book.jumped {
        return Ok(());
    }
    // What was under way is in doubt now; all else is as it was written.
    agree(scene, driver, |mut record| {
        (record.pending, record.ambiguity) = (None, None);
        if let Some(second) = &mut record.second {
            (second.record.pending, second.record.ambiguity) = (None, None);
        }
        record
    })
}

/// What a driver knows is what is synced, as `seen` shows both.
fn agree(scene: &Scene, driver: &Loop, seen: impl Fn(NodeRecord) -> NodeRecord) -> Verdict {
    let state = &driver.state;
    let mut known = state.cluster.groups().flat_map(|(_, group)| group.records());
    let mut kept = scene.disk.records();
    let same = |known: &Arc<NodeRecord>, kept: &Arc<NodeRecord>| {
        let shown = |record: &NodeRecord| serde_json::to_string(&seen(record.clone())).ok();
        Arc::ptr_eq(known, kept) || known.slot == kept.slot && shown(known) == shown(kept)
    };
    loop {
        match (known.next(), kept.next()) {
            (None, None) => break,
            (Some(known), Some(kept)) if same(known, kept) => {}
            (known, kept) => return Err(differs(known, kept)),
        }
    }
    let holds = state.cluster.groups().filter_map(|(name, group)| Some((name, group.hold()?)));
    if !holds.eq(scene.disk.holds()) {
        return Err("the holds of groups that are known are not those that are synced".to_owned());
    }
    if !state.cluster.rollouts().eq(scene.disk.rollouts()) {
        return Err("the updates that are known are not those that are synced".to_owned());
    }
    let shape = scene.disk.shape().is_none_or(|row| row.shape.same_content(&state.shape));
    let why = || "the shape that is known is not the one that is synced".to_owned();
    if shape { Ok(()) } else { Err(why()) }
}

/// How two records differ, field by field as they are written.
fn differs(known: Option<&Arc<NodeRecord>>, kept: Option<&Arc<NodeRecord>>) -> String {
    let (Some(known), Some(kept)) = (known, kept) else {
        let slot = |record: Option<&Arc<NodeRecord>>| record.map(|record| record.slot.to_string());
        return format!("known is {:?}, synced is {:?}", slot(known), slot(kept));
    };
    let fields = |record| serde_json::to_value(record).unwrap_or_default();
    let (one, other) = (fields(known.as_ref()), fields(kept.as_ref()));
    let names = one.as_object().into_iter().flatten().map(|(name, _)| name);
    let differing = names.filter(|name| one.get(name) != other.get(name));
    let texts = differing.map(|name| format!("{name}: {} / {}", one[name], other[name]));
    let texts: Vec<String> = texts.collect();
    format!("{} as it is known and as it is synced differs: {}", known.slot, texts.join("; "))
}

pub(super) fn all_accounted(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Settled { driver } = event else { return Ok(()) };
    let lost = scene.land.things.iter().find(|(id, thing)| {
        let record = driver.state.cluster.record(&thing.slot);
        let mut attempts = record.into_iter().flat_map(|record| record.attempts());
        let owned = attempts.any(|one| one.attempt.uuid == thing.attempt && owns(one));
        let group = driver.state.cluster.group(&thing.slot.group);
        let reported = group.is_some_and(|group| {
            group.orphans().any(|(_, orphan)| orphan.lease.id.as_str() == id.as_str())
        });
        !owned && !reported
    });
    lost.map_or(Ok(()), |(id, thing)| {
        Err(format!("{id} of {} exists, and nobody knows of it", thing.slot))
    })
}

pub(super) fn steady(scene: &Scene, event: &Event<'_>) -> Verdict {
    let Event::Settled { driver } = event else { return Ok(()) };
    let Loop { state, .. } = driver;
    let plan = reconcile(&state.cluster, &state.shape, scene.wall());
    if plan.is_empty() { Ok(()) } else { Err(format!("a settled run still decides {plan:?}")) }
}
