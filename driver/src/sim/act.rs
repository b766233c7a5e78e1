//! An effect on its way through the world: when it comes, when it takes hold, and when its driver is answered.

use executor::seam::EffectContext;
use reconciler_core::effect::{Certainty, CommandKind, EffectFailure, FailureClass};

use super::{
    book::Call,
    dice::Dice,
    event::Event,
    land::{Land, Origin},
    laws,
    scene::{Scene, Stage},
    story::{Fate, Moment},
};

/// Longest that an effect may take by policy, and then some: what comes so late finds its driver gone on.
const LATE_MS: u64 = 310_000;

/// How a call goes.
pub(crate) struct Turn {
    /// The number of the call in the book.
    pub(crate) call: usize,
    pub(crate) fate: Option<Fate>,
    /// How long the request takes, and the answer, in milliseconds.
    pub(crate) there: u64,
    pub(crate) back: u64,
}

impl Stage {
    /// Notes that an effect comes to a provider; nothing if its driver is dead before that.
    pub(crate) fn enter(
        &self,
        life: usize,
        ctx: &EffectContext,
        kind: CommandKind,
        (provider, lease): (&str, Option<&str>),
    ) -> Option<Turn> {
        self.with(|scene| {
            if scene.is_dead(life) || scene.dies_at(Moment::BeforeEffect, life) {
                return None;
            }
            let now = scene.now();
            let left = ctx.deadline.saturating_duration_since(tokio::time::Instant::now().into());
            let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            let call = Call {
                life,
                at: now,
                deadline: now.saturating_add(left),
                kind,
                provider: provider.to_owned(),
                slot: ctx.slot.clone(),
                attempt: ctx.attempt,
                lease: lease.map(str::to_owned),
                key: ctx.key,
                fence: ctx.fence,
                step: ctx.step,
                operation: ctx.operation,
                answered: false,
            };
            let fate = scene.land.fate(kind);
            let (slot, ordinal) = (&call.slot, call.attempt.ordinal);
            let how = fate.map_or(String::new(), |fate| format!(" to be {fate:?}"));
            scene.tell(&format!("driver {life} asks {} of {slot} #{ordinal}{how}", kind.as_str()));
            laws::check(scene, &Event::Entered(&call));
            let nth = scene.book.calls.iter().filter(|c| c.attempt == call.attempt).count();
            let mut dice = Dice::new(scene.seed, (ctx.attempt.uuid.as_bytes(), kind, nth));
            scene.book.entered(&call);
            scene.book.calls.push(call);
            if fate == Some(Fate::Late) {
                scene.book.doubt(ctx.attempt.uuid, now.saturating_add(left));
            }
            scene.dies_at(Moment::DuringEffect, life);
            let there = if fate == Some(Fate::Late) { LATE_MS } else { dice.between(1, 400) };
            Some(Turn { call: scene.book.calls.len() - 1, fate, there, back: dice.between(1, 100) })
        })
    }

    /// Lets an effect take hold.
    pub(crate) fn apply<T>(
        &self,
        at: usize,
        act: impl FnOnce(&mut Land, &Doing<'_>) -> Result<T, EffectFailure>,
    ) -> Result<T, EffectFailure> {
        self.with(|scene| {
            let Some(call) = scene.book.calls.get(at).cloned() else {
                return Err(super::land::refusal(FailureClass::Invalid));
            };
            let doing = Doing::new(scene, &call);
            let before = scene.land.things.len();
            let done = act(&mut scene.land, &doing);
            let new = scene.land.things.len() > before;
            scene.stir();
            let what = if done.is_ok() { "done" } else { "not done" };
            scene.tell(&format!("{what}: {} of {}", call.kind.as_str(), call.slot));
            if done.is_ok() {
                laws::check(scene, &Event::Applied { call: &call, new });
                scene.book.applied(&call);
            }
            scene.dies_at(Moment::AfterEffect, call.life);
            done
        })
    }

    /// Notes what its driver is answered; dead drivers hear nothing.
    pub(crate) fn answer<T>(&self, at: usize, result: &Result<T, EffectFailure>) {
        self.with(|scene| {
            let now = scene.now();
            let Some(call) = scene.book.calls.get_mut(at) else { return };
            call.answered = true;
            let (attempt, slot, kind) = (call.attempt.uuid, call.slot.clone(), call.kind);
            let Err(failure) = result else { return };
            scene.book.causes.insert(attempt);
            if failure.certainty == Certainty::Ambiguous {
                scene.book.doubt(attempt, now);
            }
            let (class, certainty) = (failure.class, failure.certainty);
            scene.tell(&format!("answered {certainty:?} {class:?}: {} of {slot}", kind.as_str()));
        });
    }

    /// Notes that what the provider says of a call is not so.
    pub(crate) fn denies(&self, at: usize) {
        self.with(|scene| {
            let Some(call) = scene.book.calls.get(at) else { return };
            let (attempt, made) = (call.attempt.uuid, call.kind == CommandKind::CreateLease);
            scene.book.causes.insert(attempt);
            for thing in scene.land.things.values_mut().filter(|t| made && t.attempt == attempt) {
                thing.origin = Origin::Stray;
            }
        });
    }
}

/// The circumstances of an effect that takes hold.
pub(crate) struct Doing<'a> {
    pub(crate) call: &'a Call,
    pub(crate) now: u64,
    /// How long what is made now stays invisible.
    pub(crate) hidden_ms: u64,
    /// True if its driver may know what it does: it lives, drives, and still waits.
    pub(crate) known: bool,
}

impl<'a> Doing<'a> {
    fn new(scene: &Scene, call: &'a Call) -> Self {
        let now = scene.now();
        let lags = call.provider == "lax";
        let mut dice = Dice::new(scene.seed, ("lag", call.attempt.uuid.as_bytes()));
        Self {
            call,
            now,
            hidden_ms: if lags { dice.below(4_000) } else { 0 },
            known: now <= call.deadline
                && !scene.is_dead(call.life)
                && call.life + 1 == scene.lives.len(),
        }
    }
}
