//! One story under way: the world, the journal's disk, the drivers' fates, the trace, and the first law that broke.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use checkpoint::store::MemoryStore;
use reconciler_core::{
    effect::ExitStatus, observed::ClusterState, reconcile::standing, time::Timestamp,
};
use tokio::{
    sync::{mpsc::UnboundedSender, watch},
    time::Instant,
};

use super::{
    book::Book,
    bug::Bug,
    event::Broken,
    fleet::DAWN_MS,
    land::{Land, Thing},
    story::{Input, Moment, Story},
};
use crate::{looping::Loop, view::RunState};

/// What becomes of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fortune {
    /// True once its process is gone.
    pub(crate) dead: bool,
    /// Until when it does nothing, in milliseconds of the story.
    pub(crate) stalled_until: u64,
}

/// How the run stands as its driver shows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// True if all is as declared.
    pub(crate) converged: bool,
    /// True if nothing is under way or to be decided.
    pub(crate) resting: bool,
    /// True if nothing falls due by itself.
    pub(crate) idle: bool,
    /// Slots and groups that are held.
    pub(crate) held: Vec<String>,
    /// Groups whose update is paused.
    pub(crate) paused: Vec<String>,
    /// Groups that rest, wholly or in part.
    pub(crate) off: Vec<String>,
    /// Groups that wait at a gate.
    pub(crate) gated: u32,
    /// Leases without a record, as reported.
    pub(crate) orphans: Vec<String>,
    /// What it says of every slot that is not steady.
    pub(crate) reasons: Vec<String>,
}

impl Seen {
    /// What a driver shows. The scene is at hand, so the driver's clock, which asks it, must not be.
    pub(crate) fn of(driver: &Loop, state: RunState, resting: bool, wall: Timestamp) -> Self {
        let (cluster, shape) = (&driver.state.cluster, &driver.state.shape);
        let paused = cluster.rollouts().filter(|(_, rollout)| rollout.paused);
        let off = shape.groups().filter(|g| g.power.off_count(g.count) > 0);
        let orphans = cluster.groups().flat_map(|(_, group)| group.orphans());
        let plan = reconciler_core::reconcile::reconcile(cluster, shape, wall);
        Self {
            converged: state == RunState::Converged,
            resting,
            idle: driver.state.next_due().is_none() && cluster.missing().is_empty(),
            held: held(cluster),
            paused: paused.map(|(group, _)| group.to_string()).collect(),
            off: off.map(|group| group.group.to_string()).collect(),
            gated: standing(cluster, shape).gated,
            orphans: orphans.map(|(_, orphan)| orphan.lease.id.to_string()).collect(),
            reasons: plan.reasons.iter().map(|(slot, why)| format!("{slot}: {why}")).collect(),
        }
    }

    /// True if nothing more is to happen.
    pub(crate) const fn settled(&self) -> bool {
        self.converged && self.resting && self.idle
    }

    /// True if it says why the run is not as declared.
    pub(crate) fn explained(&self) -> bool {
        !(self.held.is_empty() && self.paused.is_empty() && self.orphans.is_empty())
            || self.gated > 0
    }
}

fn held(cluster: &ClusterState) -> Vec<String> {
    let mut held = Vec::new();
    for (name, group) in cluster.groups() {
        if group.hold().is_some() {
            held.push(name.to_string());
        }
        let slots = group.records().filter(|r| r.attempts().any(|one| one.hold.is_some()));
        held.extend(slots.map(|record| record.slot.to_string()));
    }
    held
}

/// The state of a story under way.
pub(crate) struct Scene {
    pub(crate) seed: u64,
    pub(crate) bug: Option<Bug>,
    begun: Instant,
    /// How far the wall clock is from the story's, in milliseconds.
    pub(crate) skew: i64,
    pub(crate) land: Land,
    /// What is synced.
    pub(crate) disk: MemoryStore,
    /// When the present driver took the run, in milliseconds of the story.
    pub(crate) taken_at: u64,
    pub(crate) lives: Vec<Fortune>,
    /// Where the driver is to die next.
    pub(crate) doom: Option<Moment>,
    /// How long the driver hangs once it has written its next intents, in milliseconds, while its run is taken.
    pub(crate) usurped: Option<u64>,
    /// Tells that a driver ended, or that its run is to be taken.
    pub(crate) ended: UnboundedSender<usize>,
    /// How long the next write takes, in milliseconds, and whether it fails.
    pub(crate) slow_write: Option<u64>,
    pub(crate) full: bool,
    /// The content of the followed file: its number, and what it declares; nothing if it cannot be read.
    pub(crate) file: (u64, Option<Arc<reconciler_core::desired::ClusterShape>>),
    /// What operators ask for, in order; the first is being asked.
    pub(crate) asks: VecDeque<Input>,
    /// Tells drivers that a death or an ask is there.
    pub(crate) news: watch::Sender<u64>,
    /// How the run stands, once somebody wants to see it.
    pub(crate) seen: Option<Seen>,
    /// True if the story ends as soon as the run rests; and once it has.
    pub(crate) settles: bool,
    pub(crate) over: bool,
    /// When something last happened in the world, in milliseconds of the story.
    pub(crate) stirred_at: u64,
    pub(crate) book: Book,
    pub(crate) trace: String,
    pub(crate) broken: Option<Broken>,
}

/// A handle on it.
#[derive(Clone)]
pub(crate) struct Stage(Arc<Mutex<Scene>>);

impl Stage {
    /// The beginning of a story; to be called on its own runtime.
    pub(crate) fn new(story: &Story, ended: UnboundedSender<usize>) -> Self {
        let scene = Scene {
            seed: story.seed,
            bug: story.bug,
            begun: Instant::now(),
            skew: 0,
            land: Land::default(),
            disk: MemoryStore::new(),
            taken_at: 0,
            lives: Vec::new(),
            doom: None,
            usurped: None,
            ended,
            slow_write: None,
            full: false,
            file: (0, None),
            asks: VecDeque::new(),
            news: watch::Sender::new(0),
            seen: None,
            settles: false,
            over: false,
            stirred_at: 0,
            book: Book::default(),
            trace: String::new(),
            broken: None,
        };
        Self(Arc::new(Mutex::new(scene)))
    }

    fn lock(&self) -> MutexGuard<'_, Scene> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads or changes the scene.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Scene) -> T) -> T {
        change(&mut self.lock())
    }

    /// True if a driver's process is gone.
    pub(crate) fn is_dead(&self, life: usize) -> bool {
        self.with(|scene| scene.is_dead(life))
    }

    /// The wall clock.
    pub(crate) fn clock(&self) -> crate::Clock {
        let stage = self.clone();
        Arc::new(move || stage.with(|scene| scene.wall()))
    }
}

impl Scene {
    /// Milliseconds since the beginning.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from((Instant::now() - self.begun).as_millis()).unwrap_or(u64::MAX)
    }

    /// The wall clock.
    pub(crate) fn wall(&self) -> Timestamp {
        Timestamp::from_millis((DAWN_MS + self.now()).saturating_add_signed(self.skew))
    }

    /// True of what no look shows yet, where the wall clock jumped: a lag is measured by that clock, so that it
    /// passes for gone before its time.
    pub(crate) fn hides(&self, thing: &Thing) -> bool {
        self.book.jumped && thing.visible_at > self.now()
    }

    /// Notes that something happens in the world.
    pub(crate) fn stir(&mut self) {
        self.stirred_at = self.now();
        self.land.moved();
    }

    /// Notes that an operator wants something.
    pub(crate) fn ask(&mut self, input: Input) {
        if !self.asks.contains(&input) {
            self.asks.push_back(input);
            self.news.send_modify(|n| *n += 1);
        }
    }

    /// True if a driver's process is gone.
    pub(crate) fn is_dead(&self, life: usize) -> bool {
        self.lives.get(life).is_none_or(|fortune| fortune.dead)
    }

    /// Ends a driver's process: what it had not synced is lost, what it had sent goes on.
    pub(crate) fn kill(&mut self, life: usize) {
        if let Some(fortune) = self.lives.get_mut(life).filter(|fortune| !fortune.dead) {
            fortune.dead = true;
            self.news.send_modify(|n| *n += 1);
            self.tell(&format!("driver {life} dies"));
        }
    }

    /// True if the present driver is to die at `moment`, and it is `life`; it is dead then.
    pub(crate) fn dies_at(&mut self, moment: Moment, life: usize) -> bool {
        let now = self.doom == Some(moment) && life + 1 == self.lives.len();
        if now {
            self.doom = None;
            self.kill(life);
        }
        now
    }

    /// Lets a driver hang that has just written intents, if the story has it so, and its run be taken meanwhile.
    pub(crate) fn usurp(&mut self, life: usize) {
        let Some(length) = self.usurped.filter(|_| life + 1 == self.lives.len()) else { return };
        self.usurped = None;
        let until = self.now() + length;
        self.lives[life].stalled_until = until;
        self.ended.send(life).unwrap_or_default();
    }

    /// Writes a line of the trace.
    pub(crate) fn tell(&mut self, line: &str) {
        let now = self.now();
        let line = format!("{now:>9} {line}\n");
        self.trace.push_str(&line);
    }

    /// The workload on a lease ends, if it runs.
    pub(crate) fn exit(&mut self, id: &str, code: i32) {
        let Some(thing) = self.land.things.get_mut(id).filter(|thing| thing.runs()) else { return };
        thing.exit = Some(ExitStatus::Code(code));
        let attempt = thing.attempt;
        self.book.causes.insert(attempt);
        self.tell(&format!("{id} ends with {code}"));
        self.stir();
    }
}
