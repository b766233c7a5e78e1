//! The lease of a controller on an operation: finite, renewed as it is written to, and nobody else's before its end (R143).

use alloc::{format, string::String, sync::Arc};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, de, ser};

use crate::{
    id::{Fence, IdError, fails, text_serde},
    limits,
    time::{Millis, Timestamp},
};

/// Who holds a lease: a process and its host, written `PID@HOST`, or a person who takes an operation over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerId(Arc<str>);

impl ControllerId {
    /// The controller that is process `pid` of `host`; what a name may not hold is written as a hyphen.
    pub fn of_process(pid: u32, host: &str) -> Self {
        let clean = |c: char| if is_legal(c) { c } else { '-' };
        let host = host.chars().take(limits::NAME_LEN_MAX).map(clean);
        let name: String = format!("{pid}@").chars().chain(host).collect();
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | ':')
}

impl FromStr for ControllerId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let fails = |rule| fails("controller", text, rule);
        if text.is_empty() || text.len() > limits::CONTROLLER_LEN_MAX {
            return Err(fails("it must have 1 to 80 characters"));
        }
        if text.chars().all(is_legal) {
            Ok(Self(text.into()))
        } else {
            Err(fails("only letters, digits and . _ - @ : are allowed"))
        }
    }
}

impl fmt::Display for ControllerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

text_serde!(ControllerId);

/// How long a lease is: 1 s to 900 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseLength(Millis);

impl LeaseLength {
    /// A length of `secs` seconds; nothing outside 1 to 900.
    pub const fn from_secs(secs: u64) -> Option<Self> {
        let length = Millis::from_secs(secs);
        if secs == 0 || length.get() > limits::LEASE_LENGTH_MAX.get() {
            return None;
        }
        Some(Self(length))
    }

    /// The length.
    pub const fn get(self) -> Millis {
        self.0
    }
}

impl Default for LeaseLength {
    fn default() -> Self {
        Self(limits::LEASE_LENGTH_MAX)
    }
}

/// What is known of the process that holds a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderLife {
    /// It has ended: the lock that dies with it was free on the machine where it ran.
    Gone,
    /// Nobody knows: it ran elsewhere, or may be running still.
    Unknown,
}

/// Somebody else holds the lease, and not long enough has passed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{owner} holds it under fence {fence}, for {left} ms more", left = .left.get())]
pub struct LeaseConflict {
    /// Who.
    pub owner: ControllerId,
    /// Under which fence.
    pub fence: Fence,
    /// Until when.
    pub until: Timestamp,
    /// How long that is from now on.
    pub left: Millis,
}

/// A controller's lease on one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationLease {
    /// Who holds it.
    pub owner: ControllerId,
    /// The fence under which it was taken.
    pub fence: Fence,
    /// When it ends.
    pub until: Timestamp,
    /// How long it is.
    pub length: LeaseLength,
    /// How often the operation was taken over from somebody who had it.
    pub handoffs: u32,
}

impl OperationLease {
    /// The first lease on an operation.
    pub fn begun(owner: ControllerId, fence: Fence, length: LeaseLength, now: Timestamp) -> Self {
        Self { owner, fence, until: now.after(length.get()), length, handoffs: 0 }
    }

    /// When it ends as seen from `now`: a clock that went back lengthens no lease.
    pub fn ends(&self, now: Timestamp) -> Timestamp {
        self.until.min(now.after(limits::LEASE_LENGTH_MAX))
    }

    /// True once nobody holds it any more; its last millisecond is still its owner's.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now > self.ends(now)
    }

    /// The lease after a write of its owner; nothing while it is as good as new.
    ///
    /// A tenth of it may pass first, so that a row that says nothing else is not written with every commit.
    pub fn renewed(&self, now: Timestamp) -> Option<Self> {
        let fresh = now.after(self.length.get());
        let tenth = self.length.get().get().checked_div(10).unwrap_or_default();
        let is_new = self.until <= fresh && fresh.since(self.until).get() < tenth;
        (!is_new).then(|| Self { until: fresh, ..self.clone() })
    }

    /// The lease as its owner leaves it: over with this moment.
    #[must_use]
    pub fn given_back(&self, now: Timestamp) -> Self {
        let over = Timestamp::from_millis(now.as_millis().saturating_sub(1));
        Self { until: self.until.min(over), ..self.clone() }
    }

    /// Whether somebody else may take it now.
    ///
    /// # Errors
    /// Names the holder while the lease is not over and the holder is not known to have ended.
    pub fn may_be_taken(&self, life: HolderLife, now: Timestamp) -> Result<(), LeaseConflict> {
        if life == HolderLife::Gone || self.is_over(now) {
            return Ok(());
        }
        let until = self.ends(now);
        let (owner, fence) = (self.owner.clone(), self.fence);
        Err(LeaseConflict { owner, fence, until, left: until.since(now) })
    }
}
