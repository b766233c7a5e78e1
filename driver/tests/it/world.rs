//! A scripted world: what the fake provider holds, which calls it saw, how it is to answer, and the laws that it
//! watches at every effect. It outlives the driver, so that a second start meets the same world.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use checkpoint::reader::Reader;
use executor::seam::EffectContext;
use reconciler_core::{
    effect::{CommandKind, EffectFailure, ExitStatus, FailureClass},
    id::{AttemptId, Fence, IdempotencyKey, LogicalNodeId},
};
use tokio::sync::watch;

/// How long any predicate may take to come true; far longer than it ever needs.
pub(crate) const BOUND: Duration = Duration::from_secs(40);

/// Something that the world holds for an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) ground: String,
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) fence: Fence,
    /// The session whose workload was started.
    pub(crate) session: Option<u64>,
    pub(crate) exit: Option<ExitStatus>,
}

/// An effect as the provider saw it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) kind: CommandKind,
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) key: IdempotencyKey,
}

/// How a call is answered.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// It surely fails.
    Fail(FailureClass),
    /// The answer is lost; the thing was done or not.
    Doubt { done: bool },
    /// The provider's code crashes, before or after it was done.
    Panic { done: bool },
    /// It waits for the gate, then does it.
    Block,
}

/// Which calls an act is for, and how often.
struct Rule {
    kind: CommandKind,
    slot: Option<String>,
    left: usize,
    act: Act,
}

/// What listings show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// What there is, with its workloads.
    True,
    /// What there is, but not before the gate is open.
    Late,
    /// What there is, and nothing of workloads.
    Leases,
    /// What there is, with the claim that every workload has ended.
    Ended,
    /// Nothing, with the claim that this is all.
    Empty,
    /// An error.
    Blind,
}

/// What happens to the driver's process in the middle of an effect.
#[derive(Clone, Copy, Debug)]
struct Death {
    after: usize,
    done: bool,
}

/// The state of the world.
pub(crate) struct Land {
    pub(crate) leases: BTreeMap<String, Lease>,
    pub(crate) calls: Vec<Call>,
    pub(crate) listings: usize,
    pub(crate) sight: Sight,
    /// True if a look by id can tell nothing.
    pub(crate) blind: bool,
    /// True if ends of workloads are reported.
    pub(crate) watched: bool,
    pub(crate) busy: BTreeSet<AttemptId>,
    pub(crate) busiest: usize,
    /// Most leases that may be there at once.
    pub(crate) most: usize,
    /// How many leases a slot may have beside the first: one while a candidate stands beside what serves.
    pub(crate) beside: usize,
    /// True once the driver that is served is to be dead.
    pub(crate) dead: bool,
    faults: Vec<String>,
    script: Vec<Rule>,
    death: Option<Death>,
    journal: PathBuf,
}

impl Land {
    /// How many calls of `kind` there were.
    pub(crate) fn count(&self, kind: CommandKind) -> usize {
        self.calls.iter().filter(|call| call.kind == kind).count()
    }

    /// The calls of `kind` for `slot`.
    pub(crate) fn of(&self, kind: CommandKind, slot: &str) -> Vec<Call> {
        let mine = |call: &&Call| call.kind == kind && call.slot.to_string() == slot;
        self.calls.iter().filter(mine).cloned().collect()
    }

    /// The slots whose workload runs.
    pub(crate) fn running(&self) -> Vec<String> {
        let runs = |lease: &&Lease| lease.session.is_some() && lease.exit.is_none();
        let mut slots: Vec<_> =
            self.leases.values().filter(runs).map(|l| l.slot.to_string()).collect();
        slots.sort();
        slots
    }

    /// How a call is to be answered.
    pub(crate) fn turn(&mut self, call: &EffectContext, kind: CommandKind) -> Turn {
        if self.dead {
            return Turn::Die { done: false };
        }
        if let Some(death) = &mut self.death {
            death.after = death.after.saturating_sub(1);
            if death.after == 0 {
                let done = death.done;
                self.death = None;
                self.dead = true;
                return Turn::Die { done };
            }
        }
        let slot = call.slot.to_string();
        let rule = self.script.iter_mut().find(|rule| {
            rule.left > 0 && rule.kind == kind && rule.slot.as_ref().is_none_or(|s| *s == slot)
        });
        let Some(rule) = rule else { return Turn::Do };
        rule.left -= 1;
        match &rule.act {
            Act::Fail(class) => Turn::Fail(crate::fake::failure(*class)),
            Act::Doubt { done } => Turn::Doubt { done: *done },
            Act::Panic { done } => Turn::Panic { done: *done },
            Act::Block => Turn::Block,
        }
    }

    fn fault(&mut self, text: String) {
        self.faults.push(text);
    }
}

/// How one call goes.
pub(crate) enum Turn {
    Do,
    Fail(EffectFailure),
    Doubt { done: bool },
    Panic { done: bool },
    Block,
    Die { done: bool },
}

struct Shared {
    land: Mutex<Land>,
    moved: Condvar,
    changes: watch::Sender<u64>,
    gate: watch::Sender<bool>,
}

/// A handle on the world.
#[derive(Clone)]
pub(crate) struct World(Arc<Shared>);

impl World {
    /// An empty world whose effects must stand in the journal at `journal` before they come.
    pub(crate) fn new(journal: PathBuf, most: usize) -> Self {
        let land = Land {
            leases: BTreeMap::new(),
            calls: Vec::new(),
            listings: 0,
            sight: Sight::True,
            blind: false,
            watched: true,
            busy: BTreeSet::new(),
            busiest: 0,
            most,
            beside: 0,
            dead: false,
            faults: Vec::new(),
            script: Vec::new(),
            death: None,
            journal,
        };
        Self(Arc::new(Shared {
            land: Mutex::new(land),
            moved: Condvar::new(),
            changes: watch::Sender::new(0),
            gate: watch::Sender::new(false),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Land> {
        self.0.land.lock().unwrap()
    }

    /// Reads or changes the world.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Land) -> T) -> T {
        let result = change(&mut self.lock());
        self.0.moved.notify_all();
        self.0.changes.send_modify(|n| *n += 1);
        result
    }

    /// Waits until the world is so.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, so: impl Fn(&Land) -> bool) {
        let deadline = Instant::now() + BOUND;
        let mut land = self.lock();
        while !so(&land) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "not in time: {what}; {:#?}", land.calls);
            land = self.0.moved.wait_timeout(land, left).unwrap().0;
        }
    }

    /// Answers the next `times` calls of `kind` for `slot`, or for any, with `act`.
    pub(crate) fn script(&self, kind: CommandKind, slot: Option<&str>, times: usize, act: Act) {
        let slot = slot.map(str::to_owned);
        self.with(|land| land.script.push(Rule { kind, slot, left: times, act }));
    }

    /// Ends the script, so that everything succeeds again, and lets blocked calls through.
    pub(crate) fn heal(&self) {
        self.with(|land| land.script.clear());
        self.0.gate.send_replace(true);
    }

    /// Lets blocked calls through; the script goes on.
    pub(crate) fn open(&self) {
        self.0.gate.send_replace(true);
    }

    /// The driver dies at its `nth` effect from now, before or after it was done.
    pub(crate) fn kill_at(&self, nth: usize, done: bool) {
        self.with(|land| land.death = Some(Death { after: nth, done }));
    }

    /// Serves a new driver; what was planned for the old one is over.
    pub(crate) fn revive(&self) {
        self.with(|land| {
            land.dead = false;
            land.death = None;
        });
    }

    /// The workload of `slot` ends.
    pub(crate) fn exit(&self, slot: &str, code: i32) {
        self.with(|land| {
            for lease in land.leases.values_mut().filter(|l| l.slot.to_string() == slot) {
                lease.exit = Some(ExitStatus::Code(code));
            }
        });
    }

    /// Waits for blocked calls to be let through.
    pub(crate) async fn gate(&self) {
        drop(self.0.gate.subscribe().wait_for(|open| *open).await);
    }

    /// Waits until the world has something to say of the lease, or for ever.
    pub(crate) async fn ended(&self, id: &str) -> ExitStatus {
        let mut changes = self.0.changes.subscribe();
        loop {
            if let Some(exit) = self.lock().leases.get(id).and_then(|lease| lease.exit.clone()) {
                return exit;
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Notes a call, and whether the laws hold at this instant: its step stands in the journal as pending (P2,
    /// R64, R93), its provider was looked at before (R76), and no other effect of the attempt is under way (R66).
    pub(crate) fn enter(&self, ctx: &EffectContext, kind: CommandKind) -> Busy {
        let journal = self.lock().journal.clone();
        let durable = stands(&journal, ctx, kind);
        self.with(|land| {
            if let Err(why) = durable {
                land.fault(format!("{kind:?} of {} came before its intent: {why}", ctx.slot));
            }
            if land.listings == 0 {
                land.fault(format!("{kind:?} of {} came before any look", ctx.slot));
            }
            if !land.busy.insert(ctx.attempt) {
                land.fault(format!("two effects of one attempt of {} at once", ctx.slot));
            }
            land.busiest = land.busiest.max(land.busy.len());
            let (slot, attempt, key) = (ctx.slot.clone(), ctx.attempt, ctx.key);
            land.calls.push(Call { kind, slot, attempt, key });
        });
        Busy { world: self.clone(), attempt: ctx.attempt }
    }

    /// Notes that a lease was made: never one too many of a slot, never more than declared (R68, D10).
    pub(crate) fn made(land: &mut Land, id: String, lease: Lease) {
        let others = land.leases.values().filter(|other| other.slot == lease.slot).count();
        if others > land.beside {
            land.fault(format!("one lease too many of {}", lease.slot));
        }
        land.leases.insert(id, lease);
        if land.leases.len() > land.most {
            land.fault(format!("{} leases, at most {} may be", land.leases.len(), land.most));
        }
    }

    /// Fails if a law was broken at any time.
    #[track_caller]
    pub(crate) fn lawful(&self) {
        let faults = self.lock().faults.clone();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

/// Says why the step of an effect does not stand in the journal as it must.
fn stands(journal: &Path, ctx: &EffectContext, kind: CommandKind) -> Result<(), String> {
    let reader = Reader::open(journal).map_err(|error| error.to_string())?;
    let steps = reader.steps(500).map_err(|error| error.to_string())?;
    let step = steps.iter().find(|row| row.step == ctx.step).ok_or("no such step")?;
    let mark = step.checkpoint.as_ref().map_err(ToString::to_string)?.mark;
    let said = (&step.slot, step.attempt, step.command, step.key, step.fence, step.operation);
    let same = said == (&ctx.slot, ctx.attempt, kind.into(), ctx.key, ctx.fence, ctx.operation);
    if mark == step.direction.pending() && same {
        Ok(())
    } else {
        Err(format!("it stands as {mark:?}, as itself: {same}"))
    }
}

/// An effect under way; it is over when this is dropped, also with a dying driver.
pub(crate) struct Busy {
    world: World,
    attempt: AttemptId,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.world.with(|land| land.busy.remove(&self.attempt));
    }
}
