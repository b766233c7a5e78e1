//! What one driver bears from those who ask: every bound of the API with its reason, and the rate.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

/// Connections at once on one listener: hundreds of idle clients, and half of the files that a process may usually open.
pub(super) const CONNECTIONS: usize = 512;
/// Agents at once, those that were not let in yet included: each costs a file and a task.
pub(super) const AGENTS: usize = 16_384;
/// Watches at once: each costs a task, and a copy of the text while it is sent.
pub(super) const WATCHERS: usize = 256;
/// Bytes of a request's head: a path, a token and the headers of a proxy.
pub(super) const HEAD_BYTES: usize = 64 * 1_024;
/// Headers of a request.
pub(super) const HEADERS: usize = 64;
/// Bytes of a body: the shape of the largest file (1 MiB of TOML) as JSON.
pub(super) const BODY_BYTES: usize = 8 * 1_024 * 1_024;
/// How long a head may take, and a connection may rest between two requests.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long a handshake may take.
pub(super) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long a client may take none of what is sent to it.
pub(super) const STALL_TIME: Duration = Duration::from_secs(30);
/// How long a request may take from its head to the head of its answer: a body that never ends is cut.
pub(super) const REQUEST_TIME: Duration = Duration::from_mins(1);
/// Longest wait for news in one call.
pub(super) const NEWS_WAIT: Duration = Duration::from_secs(10);
/// Events and operations in one answer.
pub(super) const PAGE: u32 = 1_000;

/// What a call that makes the driver work costs of the rate; any other costs one.
pub(super) const WORK_COST: u32 = 20;
/// What may be asked at once.
const BURST: u32 = 4_000;
/// What is given back each second.
const PER_SECOND: u32 = 1_000;

/// The rate of one listener: a bucket that refills.
#[derive(Debug)]
pub(super) struct Rate(Mutex<Bucket>);

#[derive(Debug)]
struct Bucket {
    left: u32,
    at: Instant,
}

impl Rate {
    /// A full bucket.
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(Bucket { left: BURST, at: now }))
    }

    /// Takes `cost`; if it is not there, says after how long it may be.
    pub(super) fn take(&self, cost: u32, now: Instant) -> Result<(), Duration> {
        let mut bucket = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let millis = now.saturating_duration_since(bucket.at).as_millis();
        let given = u32::try_from(millis).unwrap_or(u32::MAX).saturating_mul(PER_SECOND) / 1_000;
        if given > 0 {
            bucket.left = bucket.left.saturating_add(given).min(BURST);
            bucket.at = now;
        }
        match bucket.left.checked_sub(cost) {
            Some(left) => {
                bucket.left = left;
                Ok(())
            }
            None => Err(Duration::from_secs(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BURST, PER_SECOND, Rate};
    use std::time::{Duration, Instant};

    /// A burst is let through, what exceeds it is not, and time gives back no more than the rate.
    #[test]
    fn a_rate_bounds_what_is_asked_in_any_time() {
        let begun = Instant::now();
        let rate = Rate::new(begun);
        let taken = |now| (0..10 * BURST).filter(|_| rate.take(1, now).is_ok()).count();
        assert_eq!(taken(begun), BURST as usize);
        assert_eq!(taken(begun), 0);
        assert_eq!(taken(begun + Duration::from_secs(1)), PER_SECOND as usize);
        assert_eq!(taken(begun + Duration::from_hours(1)), BURST as usize);
        assert_eq!(taken(begun), 0, "a clock that goes back gives nothing");
    }
}
