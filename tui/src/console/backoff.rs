//! How long to wait before a driver that does not answer is tried again: longer each time, and not all consoles at once.

use std::time::Duration;

const FIRST: u64 = 500;
const LONGEST: u64 = 5_000;
/// What a refusal waits at least: a token that is wrong does not become right by being shown often.
const REFUSED: u64 = 10_000;

/// The tries since the driver was last heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    nth: u32,
    seed: u64,
}

impl Backoff {
    /// None yet; consoles with different seeds wait differently.
    pub(crate) const fn new(seed: u64) -> Self {
        Self { nth: 0, seed }
    }

    /// The driver was heard.
    pub(crate) const fn reset(&mut self) {
        self.nth = 0;
    }

    /// The number of the next try, from 1, and how long to wait for it; longer after a refusal.
    pub(crate) fn next(&mut self, refused: bool) -> (u32, Duration) {
        let doubled = FIRST.saturating_mul(1_u64.checked_shl(self.nth.min(16)).unwrap_or(1));
        let whole = if refused { REFUSED } else { doubled.min(LONGEST) };
        self.nth = self.nth.saturating_add(1);
        // From four to six fifths of it.
        let share = 80_u64.saturating_add(mixed(self.seed, self.nth) % 41);
        (self.nth, Duration::from_millis(whole.saturating_mul(share) / 100))
    }
}

/// A number that looks like chance, the same for the same two.
fn mixed(seed: u64, nth: u32) -> u64 {
    let mut z = seed.wrapping_add(u64::from(nth).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_begin_anew() {
        for seed in 0..200 {
            let mut backoff = Backoff::new(seed);
            let waits: Vec<u128> = (0..8).map(|_| backoff.next(false).1.as_millis()).collect();
            assert!((400..=600).contains(&waits[0]), "{waits:?}");
            assert!((800..=1_200).contains(&waits[1]), "{waits:?}");
            assert!(waits[4..].iter().all(|wait| (4_000..=6_000).contains(wait)), "{waits:?}");
            assert!(backoff.next(true).1 >= Duration::from_secs(8));
            backoff.reset();
            let (nth, wait) = backoff.next(false);
            assert!(nth == 1 && wait <= Duration::from_millis(600));
        }
    }

    #[test]
    fn consoles_do_not_come_all_at_once() {
        let first = |seed| Backoff::new(seed).next(false).1;
        let mut waits: Vec<Duration> = (4_000..4_020).map(first).collect();
        waits.sort();
        waits.dedup();
        assert!(waits.len() > 10, "{waits:?}");
    }
}
