//! The token bucket of one provider: how soon the next call may go out (C7).
//!
//! Waiters are served in the order of their coming. Each lane of a provider has at most one waiter, so creations
//! by the hundred leave looks and destroys their share. A provider that asks for a pause stops all of them.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Mutex as Turn, time::Instant};

use crate::seam::Rate;

/// Longest pause that a provider may ask for: beyond an hour it is asked again instead.
const PAUSE_MAX: Duration = Duration::from_hours(1);

/// Limits the calls to one provider.
pub(super) struct Bucket {
    /// `None` where only pauses limit.
    rate: Option<Rate>,
    level: Mutex<Level>,
    /// Held by the waiter whose turn it is.
    turn: Turn<()>,
}

struct Level {
    /// When the bucket is full again; each call moves it by one call's share of a second.
    full_at: Instant,
    paused_until: Option<Instant>,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(rate: Option<Rate>) -> Self {
        let rate = rate.filter(|rate| rate.per_second > 0);
        let level = Level { full_at: Instant::now(), paused_until: None };
        Self { rate, level: Mutex::new(level), turn: Turn::new(()) }
    }

    /// Waits until a call may go out, and counts it.
    pub(super) async fn take(&self) {
        let _turn = self.turn.lock().await;
        while let Some(until) = self.try_take(Instant::now()) {
            tokio::time::sleep_until(until).await;
        }
    }

    /// Counts a call that goes out in any case; later ones wait for it.
    pub(super) fn charge(&self) {
        let now = Instant::now();
        if let Some(rate) = self.rate {
            let mut level = self.level();
            level.full_at = level.full_at.max(now) + share(rate);
        }
    }

    /// Lets no call out for `length`.
    pub(super) fn pause(&self, length: Duration) {
        let until = Instant::now() + length.min(PAUSE_MAX);
        let mut level = self.level();
        level.paused_until = Some(level.paused_until.map_or(until, |old| old.max(until)));
    }

    /// True while the provider asked for quiet.
    pub(super) fn is_paused(&self) -> bool {
        self.level().paused_until.is_some_and(|until| Instant::now() < until)
    }

    /// Takes a token, or says when to ask again.
    fn try_take(&self, now: Instant) -> Option<Instant> {
        let mut level = self.level();
        if let Some(until) = level.paused_until.filter(|until| now < *until) {
            return Some(until);
        }
        level.paused_until = None;
        let rate = self.rate?;
        let full_at = level.full_at.max(now) + share(rate);
        let slack = share(rate) * rate.burst.max(1);
        if full_at > now + slack {
            return full_at.checked_sub(slack);
        }
        level.full_at = full_at;
        None
    }

    fn level(&self) -> MutexGuard<'_, Level> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time that one call uses up.
fn share(rate: Rate) -> Duration {
    Duration::from_secs(1) / rate.per_second.max(1)
}
