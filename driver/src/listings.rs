//! When each provider was and will be listed.

use std::{collections::BTreeMap, time::Duration};

use executor::seam::Capabilities;
use reconciler_core::{id::ProviderName, time::Timestamp};
use tokio::time::Instant;

/// How long the first decision waits for the first look at every provider; nothing absent is believed anyway.
const FIRST_ROUND_BOUND: Duration = Duration::from_secs(10);

/// When each provider was and will be listed.
pub(crate) struct Listings {
    rounds: BTreeMap<ProviderName, Round>,
    first_until: Instant,
}

struct Round {
    period: Duration,
    next_at: Instant,
    asked_at: Timestamp,
    under_way: bool,
    seen: bool,
}

impl Listings {
    /// Every provider is due for its first listing.
    pub(crate) fn new(capabilities: &BTreeMap<ProviderName, Capabilities>) -> Self {
        let round = |c: &Capabilities| Round {
            period: c.listing_period,
            next_at: Instant::now(),
            asked_at: Timestamp::ZERO,
            under_way: false,
            seen: false,
        };
        Self {
            rounds: capabilities.iter().map(|(name, c)| (name.clone(), round(c))).collect(),
            first_until: Instant::now() + FIRST_ROUND_BOUND,
        }
    }

    /// True once every provider was looked at, or enough time was given to it.
    pub(crate) fn first_round_over(&self) -> bool {
        self.rounds.values().all(|round| round.seen) || Instant::now() >= self.first_until
    }

    /// When the next listing is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let waiting = self.rounds.values().filter(|round| !round.under_way);
        let next = waiting.map(|round| round.next_at).min();
        if self.first_round_over() {
            next
        } else {
            Some(next.map_or(self.first_until, |at| at.min(self.first_until)))
        }
    }

    /// Every provider.
    pub(crate) fn providers(&self) -> Vec<ProviderName> {
        self.rounds.keys().cloned().collect()
    }

    /// The providers whose period is over.
    pub(crate) fn due(&self) -> Vec<ProviderName> {
        let now = Instant::now();
        let due = self.rounds.iter().filter(|(_, round)| !round.under_way && round.next_at <= now);
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Notes that a listing is asked for; false if there is no such provider.
    pub(crate) fn begin(&mut self, name: &ProviderName, now: Timestamp) -> bool {
        let Some(round) = self.rounds.get_mut(name) else { return false };
        round.under_way = true;
        round.asked_at = now;
        round.next_at = Instant::now() + round.period;
        true
    }

    /// Notes that a listing came in, and says when it was asked for.
    pub(crate) fn end(&mut self, name: &ProviderName) -> Option<Timestamp> {
        let round = self.rounds.get_mut(name)?;
        round.under_way = false;
        round.seen = true;
        Some(round.asked_at)
    }
}
