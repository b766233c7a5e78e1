//! A point in time as the console knows it: by the wall, and by a clock that never goes back.

use reconciler_core::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

/// A point in time, told by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The wall clock, against which ages are counted.
    pub wall: Timestamp,
    /// A clock that never goes back, against which delays are counted.
    pub mono: Millis,
}

impl Moment {
    /// How long `earlier` (of the steady clock) lies back.
    pub const fn since(self, earlier: Millis) -> Millis {
        Millis::new(self.mono.get().saturating_sub(earlier.get()))
    }
}
