//! The lines of `GET /v1/watch`, a JSON object each.

use reconciler_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{delta::RunDelta, run::RunView};

/// One line of a watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum WatchLine {
    /// The run as it is; what was known before is to be forgotten.
    Snapshot {
        /// From where a later watch goes on.
        cursor: String,
        /// The run.
        view: Box<RunView>,
    },
    /// What changed since the line before.
    Delta {
        /// From where a later watch goes on.
        cursor: String,
        /// The change.
        delta: Box<RunDelta>,
    },
    /// Changes are missing here; a snapshot follows.
    Gap {
        /// Why, in one line.
        why: String,
    },
    /// Nothing changed for a while, and the driver is there.
    Alive {
        /// The driver's time.
        at: Timestamp,
    },
    /// The driver stops; no line follows.
    End {
        /// Why, in one line.
        why: String,
    },
}
