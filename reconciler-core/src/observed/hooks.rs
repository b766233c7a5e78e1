//! What the hooks of an attempt have done: which is done with, which completed, which is in doubt.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{desired::HookPoint, id::SessionId};

/// One hook of one session. Orders as they run within an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HookMark {
    /// The session.
    pub session: SessionId,
    /// When in the session.
    pub point: HookPoint,
}

impl fmt::Display for HookMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of session {}", self.point.as_str(), self.session)
    }
}

/// What the hooks of an attempt have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookFacts {
    /// The last that is done with: it completed, or a stop went on without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<HookMark>,
    /// The last that completed: what it did cannot be taken back (R138).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<HookMark>,
    /// The one that was begun and whose end nobody saw; a person says what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<HookMark>,
    /// The session that was stopped and whose post-stop hook has yet to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<SessionId>,
}

impl HookFacts {
    /// True if nothing is known of any hook.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if the hook of `mark` is still to run; one in doubt is never repeated blind.
    pub fn awaits(&self, mark: HookMark) -> bool {
        self.passed < Some(mark) && self.doubt != Some(mark)
    }

    /// The hook of `mark` is done with.
    pub(crate) fn pass(&mut self, mark: HookMark) {
        self.passed = self.passed.max(Some(mark));
        if mark.point == HookPoint::PostStop {
            self.stopped = None;
        }
    }
}
