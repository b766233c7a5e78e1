//! Time as a value: milliseconds since the Unix epoch, given by the caller.
//!
//! All arithmetic saturates, so that a clock that jumps or a huge setting can neither panic nor wrap (D12).

use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

/// A length of time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(u64);

impl Timestamp {
    /// The earliest time.
    pub const ZERO: Self = Self(0);
    /// The latest time; as a due time it means never.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes a timestamp of milliseconds since the epoch.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms)
    }

    /// The milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This time and `length` later; the latest time if that does not fit.
    #[must_use]
    pub const fn after(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// How long ago `earlier` was; zero if it lies ahead (a clock that went back).
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length of `ms` milliseconds.
    pub const fn new(ms: u64) -> Self {
        Self(ms)
    }

    /// A length of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000))
    }

    /// The length in milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }
}
