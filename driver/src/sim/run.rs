//! Playing a story: inputs at their times, a new driver after each death, then the fair tail.

use std::{sync::Arc, time::Duration};

use reconciler_core::{
    desired::{ClusterShape, RunNodeGroupSpec},
    effect::ExitStatus,
    id::{Fence, Uuid},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::Instant,
};

use super::{
    ailing::Ailment,
    dice::Dice,
    fleet::{self, changed},
    land::{Origin, Thing},
    life::{Life, begin},
    scene::{Scene, Stage},
    story::{Input, Moment, Story},
    tail,
};
use crate::inbox::{StopReason, Wake};

/// How soon a driver that ended by itself is started again, in milliseconds.
const RESTART_MS: u64 = 1_000;

/// A law that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub law: &'static str,
    /// Why, in one line.
    pub why: String,
    /// When, in milliseconds of the story.
    pub at: u64,
}

/// How a story went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What happened, a line per event.
    pub trace: String,
    /// The first law that broke.
    pub broken: Option<Broken>,
}

/// Plays a story. The same story gives the same outcome, byte for byte.
///
/// # Panics
/// If the machine has no timer to build a runtime on.
pub fn run(story: &Story) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and input needs nothing");
    let scene = runtime.block_on(async {
        let (tell_ended, ended) = unbounded_channel();
        let stage = Stage::new(story, tell_ended);
        Cast::begin(&stage, story, ended).play(story).await;
        stage
    });
    // Effects of dead drivers end with the runtime; what they would still do is not part of the story.
    drop(runtime);
    scene.with(|scene| Outcome {
        trace: std::mem::take(&mut scene.trace),
        broken: scene.broken.take(),
    })
}

/// Who plays.
pub(crate) struct Cast {
    pub(crate) stage: Stage,
    begun: Instant,
    life: Life,
    ended: UnboundedReceiver<usize>,
    /// How long the next driver waits, in milliseconds.
    pause: u64,
    /// When the next driver starts.
    next_life: Option<Instant>,
}

impl Cast {
    fn begin(stage: &Stage, story: &Story, ended: UnboundedReceiver<usize>) -> Self {
        let shape = fleet::shape(&story.groups).ok().map(Arc::new);
        stage.with(|scene| scene.file = (1, shape));
        Self {
            stage: stage.clone(),
            begun: Instant::now(),
            life: begin(stage),
            ended,
            pause: RESTART_MS,
            next_life: None,
        }
    }

    async fn play(mut self, story: &Story) {
        for timed in &story.inputs {
            self.until(self.begun + Duration::from_millis(timed.at)).await;
            if self.is_broken() {
                return;
            }
            self.happens(&timed.input);
        }
        tail::play(&mut self).await;
    }

    /// True once a law broke.
    pub(crate) fn is_broken(&self) -> bool {
        self.stage.with(|scene| scene.broken.is_some())
    }

    /// Lets the world go on until `at`, and starts a driver after each that ended.
    pub(crate) async fn until(&mut self, at: Instant) {
        loop {
            let next_life = self.next_life.unwrap_or(at);
            tokio::select! {
                biased;
                ended = self.ended.recv() => {
                    if ended != Some(self.life.number) {
                        continue;
                    }
                    if self.stage.is_dead(self.life.number) {
                        let pause = std::mem::replace(&mut self.pause, RESTART_MS);
                        self.next_life = Some(Instant::now() + Duration::from_millis(pause));
                    } else {
                        // It hangs: the run is taken while it does.
                        self.life = begin(&self.stage);
                    }
                }
                () = tokio::time::sleep_until(next_life.min(at)) => {
                    if self.next_life.is_some_and(|next| next <= Instant::now()) {
                        self.next_life = None;
                        self.life = begin(&self.stage);
                    }
                    if Instant::now() >= at {
                        return;
                    }
                }
            }
        }
    }

    fn happens(&mut self, input: &Input) {
        self.stage.with(|scene| scene.tell(&format!("> {input:?}")));
        match input {
            Input::Crash(moment, pause) => {
                self.pause = *pause;
                self.stage.with(|scene| match moment {
                    Moment::Now => scene.kill(self.life.number),
                    Moment::BeforeCommit
                    | Moment::AfterCommit
                    | Moment::BeforeEffect
                    | Moment::DuringEffect
                    | Moment::AfterEffect => scene.doom = Some(*moment),
                });
            }
            Input::Takeover(length) => self.stage.with(|scene| scene.usurped = Some(*length)),
            Input::Quit(pause) => {
                self.pause = *pause;
                drop(self.life.inbox.send(Wake::Stop(StopReason::Terminated)));
            }
            Input::Stall(length) => self.stage.with(|scene| {
                let until = scene.now() + length;
                if let Some(fortune) = scene.lives.last_mut() {
                    fortune.stalled_until = until;
                }
            }),
            Input::File(..) | Input::BadFile => {
                self.stage.with(|scene| file(scene, input));
                drop(self.life.inbox.send(Wake::FileChanged));
            }
            Input::Scale(..)
            | Input::Revise(..)
            | Input::Restart(..)
            | Input::Stop(..)
            | Input::Start(..)
            | Input::Pause(..)
            | Input::Resume(..)
            | Input::Rollback(..)
            | Input::Release(..) => self.stage.with(|scene| scene.ask(input.clone())),
            Input::Fault(..)
            | Input::Listing(..)
            | Input::BlindLook
            | Input::Exit(..)
            | Input::Ill(..)
            | Input::Mute(..)
            | Input::Vanish(..)
            | Input::Foreign(..)
            | Input::Clock(..)
            | Input::SlowDisk(..)
            | Input::FullDisk => self.stage.with(|scene| world(scene, input)),
        }
    }
}

fn file(scene: &mut Scene, input: &Input) {
    let (number, content) = &scene.file;
    let next = if let Input::File(group, count) = input {
        content.as_deref().and_then(|shape| {
            let count =
                |spec: &RunNodeGroupSpec| RunNodeGroupSpec { count: *count, ..spec.clone() };
            changed(shape, group, count).ok()
        })
    } else {
        None
    };
    let keeps = |shape: ClusterShape| Some(Arc::new(shape));
    scene.file = (number + 1, next.and_then(keeps));
}

/// What happens to providers, workloads, clocks and disks.
fn world(scene: &mut Scene, input: &Input) {
    match input {
        Input::Fault(kind, fate) => scene.land.fates.push((*kind, *fate)),
        Input::Listing(provider, sight) => {
            scene.land.sights.push_back((provider.clone(), *sight));
        }
        Input::BlindLook => scene.land.blind_looks += 1,
        Input::Exit(slot, code) => {
            for id in scene.land.of_slot(slot) {
                exit(scene, &id, *code);
            }
        }
        Input::Ill(slot, length) | Input::Mute(slot, length) => {
            let until = scene.now().saturating_add(*length);
            let ails = Ailment { until, mute: matches!(input, Input::Mute(..)) };
            scene.land.ailing.insert(slot.clone(), ails);
        }
        Input::Vanish(slot) => {
            for id in scene.land.of_slot(slot) {
                if let Some(thing) = scene.land.things.remove(&id) {
                    scene.book.causes.insert(thing.attempt);
                }
            }
        }
        Input::Foreign(group, index) => foreign(scene, group, *index),
        Input::Clock(length) => {
            scene.skew = scene.skew.saturating_add(*length);
            scene.book.jumped = true;
        }
        Input::SlowDisk(length) => scene.slow_write = Some(*length),
        Input::FullDisk => scene.full = true,
        Input::Scale(..)
        | Input::Revise(..)
        | Input::Restart(..)
        | Input::Stop(..)
        | Input::Start(..)
        | Input::Pause(..)
        | Input::Resume(..)
        | Input::Rollback(..)
        | Input::Release(..)
        | Input::Crash(..)
        | Input::Stall(..)
        | Input::Takeover(..)
        | Input::Quit(..)
        | Input::File(..)
        | Input::BadFile => {}
    }
    scene.stir();
}

/// The workload on a lease ends, if it runs.
pub(crate) fn exit(scene: &mut Scene, id: &str, code: i32) {
    let Some(thing) = scene.land.things.get_mut(id).filter(|thing| thing.runs()) else { return };
    thing.exit = Some(ExitStatus::Code(code));
    let attempt = thing.attempt;
    scene.book.causes.insert(attempt);
    scene.tell(&format!("{id} ends with {code}"));
    scene.stir();
}

fn foreign(scene: &mut Scene, group: &str, index: u32) {
    let Ok(slot) = format!("{group}-{index}").parse() else { return };
    let mut dice = Dice::new(scene.seed, ("foreign", group, index));
    let bytes: Vec<u8> = (0..16).map(|_| u8::try_from(dice.below(256)).unwrap_or(0)).collect();
    let bytes = <[u8; 16]>::try_from(bytes).unwrap_or_default();
    let thing = Thing {
        provider: (*dice.pick(&super::ground::NAMES)).to_owned(),
        slot,
        attempt: Uuid::from_bytes(bytes),
        fence: Fence::new(0),
        session: None,
        exit: None,
        visible_at: 0,
        origin: Origin::Foreign,
    };
    scene.land.things.insert(format!("foreign-{group}-{index}"), thing);
}
