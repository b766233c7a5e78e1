//! Random numbers of a story: one stream per purpose, so that taking one input out of a story moves no other draw.

use std::hash::{Hash, Hasher};

/// A stream of numbers (`SplitMix64`): equal seeds and labels give equal streams on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

/// FNV-1a: the standard library's hasher is keyed anew by each process.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Dice {
    /// The stream of `seed` for what `label` names.
    pub(crate) fn new(seed: u64, label: impl Hash) -> Self {
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325 ^ seed);
        label.hash(&mut hasher);
        Self(hasher.finish())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next().checked_rem(n).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `some`; they must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, some: &'a [T]) -> &'a T {
        let at = self.below(some.len() as u64);
        &some[usize::try_from(at).unwrap_or(0)]
    }
}
