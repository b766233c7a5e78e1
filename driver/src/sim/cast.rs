//! Who plays a story: the clock that its inputs come by, and a new driver after each that ended.

use std::{sync::Arc, time::Duration};

use reconciler_core::desired::{ClusterShape, RunNodeGroupSpec};
use tokio::{sync::mpsc::UnboundedReceiver, time::Instant};

use super::{
    fleet::{self, changed},
    life::{Life, begin},
    scene::{Scene, Stage},
    story::{Input, Moment, Story},
    world,
};
use crate::inbox::{StopReason, Wake};

/// How soon a driver that ended by itself is started again, in milliseconds.
const RESTART_MS: u64 = 1_000;

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
    /// The first driver takes the run.
    pub(crate) fn begin(stage: &Stage, story: &Story, ended: UnboundedReceiver<usize>) -> Self {
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

    /// Lets happen what the story tells; false if a law broke meanwhile.
    pub(crate) async fn play(&mut self, story: &Story) -> bool {
        for timed in &story.inputs {
            self.until(self.begun + Duration::from_millis(timed.at)).await;
            if self.is_broken() {
                return false;
            }
            self.happens(&timed.input);
        }
        true
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
            | Input::FullDisk => self.stage.with(|scene| world::happens(scene, input)),
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
