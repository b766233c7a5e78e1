//! The fair tail: the faults stop, and the run must come to what is declared, or say what keeps it from that; what it
//! says must be something that a person can end.

use std::time::Duration;

use reconciler_core::desired::GroupKind;
use tokio::time::Instant;

use super::{cast::Cast, event::Broken, scene::Scene, story::Input};

/// How long the run has by itself: longer than any deadline of any policy.
const ALONE: Duration = Duration::from_mins(30);
/// How often people help after that, and how long each time takes (R72).
const ROUNDS: u32 = 64;
const ROUND: Duration = Duration::from_mins(1);

/// Plays the tail.
pub(crate) async fn play(cast: &mut Cast) {
    cast.stage.with(heal);
    let alone = Instant::now() + ALONE;
    while Instant::now() < alone {
        if turn(cast).await {
            return;
        }
    }
    if cast.stage.with(stuck) {
        return;
    }
    for _ in 0..ROUNDS {
        cast.stage.with(help);
        if turn(cast).await {
            return;
        }
    }
    cast.stage.with(|scene| {
        let reasons = scene.seen.as_ref().map(|seen| seen.reasons.clone());
        let why = format!("it does not come to rest: {reasons:?}; {:?}", scene.seen);
        fail(scene, why);
    });
}

/// A while; true once the story is over.
async fn turn(cast: &mut Cast) -> bool {
    cast.stage.with(finish_jobs);
    cast.until(Instant::now() + ROUND).await;
    cast.stage.with(|scene| scene.over || scene.broken.is_some())
}

/// The faults stop.
fn heal(scene: &mut Scene) {
    scene.tell("faults stop");
    scene.land.fates.clear();
    scene.land.sights.clear();
    scene.land.blind_looks = 0;
    scene.land.ailing.clear();
    scene.doom = None;
    scene.usurped = None;
    scene.slow_write = None;
    scene.full = false;
    scene.settles = true;
    scene.seen = Some(super::scene::Seen::default());
    let now = scene.now();
    for fortune in &mut scene.lives {
        fortune.stalled_until = fortune.stalled_until.min(now + 1);
    }
    scene.stir();
}

/// Jobs are there to end.
fn finish_jobs(scene: &mut Scene) {
    let Some(row) = scene.disk.shape().cloned() else { return };
    let job = |thing: &super::land::Thing| {
        let group = row.shape.group(&thing.slot.group);
        thing.runs() && group.is_some_and(|group| group.policy.kind == GroupKind::Job)
    };
    let jobs = scene.land.things.iter().filter(|(_, thing)| job(thing));
    for id in jobs.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
        scene.exit(&id, 0);
    }
}

/// A run that neither goes on nor says why breaks the law (P6, P7); true if it does.
fn stuck(scene: &mut Scene) -> bool {
    let Some(seen) = scene.seen.clone() else { return false };
    let stuck = !seen.converged && seen.resting && seen.idle && !seen.explained();
    if stuck {
        fail(scene, format!("it rests, is not as declared, and says nothing of why: {seen:?}"));
    }
    stuck
}

/// People do what they are told to: they end holds, let updates go on, switch on, and take strangers away.
fn help(scene: &mut Scene) {
    let Some(seen) = scene.seen.clone() else { return };
    for subject in seen.held {
        scene.ask(Input::Release(subject));
    }
    for group in seen.paused {
        scene.ask(Input::Resume(group));
    }
    for group in seen.off {
        scene.ask(Input::Start(group));
    }
    for id in seen.orphans {
        if scene.land.things.remove(&id).is_some() {
            scene.tell(&format!("somebody takes {id} away"));
            scene.stir();
        }
    }
}

fn fail(scene: &mut Scene, why: String) {
    let at = scene.now();
    scene.tell(&format!("BROKEN converges: {why}"));
    scene.broken.get_or_insert(Broken { law: "converges", why, at });
}
