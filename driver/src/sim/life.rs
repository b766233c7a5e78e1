//! One driver of a story: the product's loop, step by step, until it is killed, told to stop, or gives up.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use checkpoint::paths::StatePaths;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{
    bug::Bug,
    bug_ground::faulty,
    disk::SimStore,
    event::Event,
    fleet::{PARALLELISM, RUN, run_name},
    ground::grounds,
    laws,
    operator::Operator,
    scene::{Fortune, Scene, Seen, Stage},
};
use crate::{
    Begin, Content, Followed, Ground, Options, config::Catalogue, inbox::Wake, looping::Loop,
    publish::Published, start_on,
};

/// How long the world must have been still before a run counts as settled: two listings of each provider.
const QUIET_MS: u64 = 70_000;

/// A driver that was started.
pub(crate) struct Life {
    pub(crate) number: usize,
    pub(crate) inbox: UnboundedSender<Wake>,
}

/// Takes the run, and drives until the driver ends; the scene is told of it then.
#[expect(clippy::disallowed_methods, reason = "each driver of a story is a task")]
pub(crate) fn begin(stage: &Stage) -> Life {
    let number = stage.with(|scene| {
        scene.lives.push(Fortune::default());
        scene.lives.len() - 1
    });
    let driver = start_on(options(stage), |_, wake| Ok::<_, ()>(ground(stage, number, wake)));
    let (driver, inbox) = match driver {
        Ok(driver) => driver.into_parts(),
        // Nothing in the making of this ground fails.
        Err(()) => return Life { number, inbox: unbounded_channel().0 },
    };
    stage.with(|scene| {
        let fence = scene.disk.fence();
        scene.tell(&format!("driver {number} takes the run with fence {fence}"));
    });
    drop(inbox.send(Wake::FileChanged));
    let stage = stage.clone();
    let operator = Operator::new(stage.clone(), inbox.clone());
    tokio::spawn(async move {
        live(&stage, number, driver, operator).await;
        stage.with(|scene| {
            scene.kill(number);
            scene.ended.send(number).unwrap_or_default();
        });
    });
    Life { number, inbox }
}

fn ground(stage: &Stage, number: usize, wake: crate::StoreWake) -> Ground {
    let (store, recovered) = SimStore::take(stage, number, wake);
    let (mine, frozen) = stage.with(|s| (s.disk.fence(), s.bug == Some(Bug::StaleFence)));
    let reader = stage.clone();
    let fence =
        Arc::new(move || if frozen { mine } else { reader.with(|scene| scene.disk.fence()) });
    let providers = grounds(stage, number).into_iter();
    let providers = providers.map(|(name, ground)| (name, faulty(stage, ground))).collect();
    Ground { store: Box::new(store), recovered, fence, providers }
}

fn options(stage: &Stage) -> Options {
    let file = stage.clone();
    let load = move || {
        let (number, shape) = file.with(|scene| scene.file.clone());
        let shape = shape.ok_or("it cannot be read")?;
        let shape = reconciler_core::desired::ClusterShape::clone(&shape);
        let digest = format!("content {number}");
        Ok(Content { shape, providers: BTreeMap::new(), digest, auto: true })
    };
    Options {
        paths: StatePaths::new(PathBuf::from("sim")),
        run: run_name(),
        uuid: RUN,
        providers: BTreeMap::new(),
        catalogue: Catalogue::new([]),
        base_dir: PathBuf::from("sim"),
        secrets: executor::secret::Secrets::default(),
        parallelism: PARALLELISM,
        pace: Duration::ZERO,
        agents: None,
        follow: Some(Followed { path: PathBuf::from("sim.toml"), load: Arc::new(load) }),
        begin: Begin::Driving,
        clock: stage.clock(),
    }
}

/// Steps the loop until its end.
async fn live(stage: &Stage, number: usize, mut driver: Loop, mut operator: Operator) {
    let mut news = stage.with(|scene| scene.news.subscribe());
    stage.with(|scene| laws::check(scene, &Event::Began { driver: &driver }));
    driver.begin();
    loop {
        if stage.is_dead(number) {
            return;
        }
        if let Some(reason) = driver.stop {
            let ended = driver.finish(reason).await;
            return stage.with(|scene| scene.tell(&format!("driver {number} ended: {ended:?}")));
        }
        tokio::select! {
            biased;
            changed = news.changed() => drop(changed),
            wake = driver.woken() => {
                hang(stage, number).await;
                if stage.is_dead(number) {
                    return;
                }
                if let Err(error) = driver.step(wake) {
                    return stage.with(|scene| scene.tell(&format!("driver {number} gives up: {error}")));
                }
                driver.untold.log();
            }
        }
        if stage.is_dead(number) {
            return;
        }
        operator.turn(number, &driver);
        stage.with(|scene| stepped(scene, number, &driver));
    }
}

/// Does nothing for as long as the story has it.
async fn hang(stage: &Stage, number: usize) {
    loop {
        let left = stage.with(|scene| {
            let until = scene.lives.get(number).map_or(0, |fortune| fortune.stalled_until);
            until.saturating_sub(scene.now())
        });
        if left == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(left)).await;
    }
}

/// Holds the laws against a driver that did all it could, and keeps what the story asks to see.
fn stepped(scene: &mut Scene, number: usize, driver: &Loop) {
    let now = scene.now();
    scene.book.stepped(now);
    laws::check(scene, &Event::Stepped { life: number, driver });
    if scene.broken.is_some() {
        // A driver that spins would keep the story from its end.
        return scene.kill(number);
    }
    if number + 1 < scene.lives.len() || scene.seen.is_none() {
        return;
    }
    let published = Published {
        observed: driver.listings.first_round_over(),
        ..driver.state.published(&driver.driver, None, scene.wall())
    };
    let decided = driver.state.work.is_empty()
        && driver.state.queued.values().all(std::collections::BTreeSet::is_empty);
    let under_way = driver.dispatcher.in_flight() + driver.open_commits;
    let resting = decided && under_way == 0 && driver.facts.is_empty();
    let seen = Seen::of(driver, published.state(), resting, scene.wall());
    if scene.settles && seen.settled() && scene.now() - scene.stirred_at >= QUIET_MS {
        laws::check(scene, &Event::Settled { driver });
        scene.over = true;
    }
    scene.seen = Some(seen);
}
