//! What happens in a story as laws see it, and the law that broke.

use std::{collections::BTreeMap, fmt, sync::Arc};

use checkpoint::store::Commit;
use reconciler_core::{
    id::{Fence, LogicalNodeId, OperationId, PassNumber, StepId},
    observed::NodeRecord,
};

use super::book::Call;
use crate::looping::Loop;

/// Something that laws are held against.
pub(crate) enum Event<'a> {
    /// An effect came to a provider.
    Entered(&'a Call),
    /// An effect took hold.
    Applied {
        call: &'a Call,
        /// True if there is one thing more.
        new: bool,
    },
    /// A commit was synced.
    Written(&'a Written<'a>),
    /// A driver took the run, and has done nothing yet.
    Began { driver: &'a Loop },
    /// A driver did all that it could do at a moment.
    Stepped { life: usize, driver: &'a Loop },
    /// The faults are over and the run rests.
    Settled { driver: &'a Loop },
}

/// A commit that was synced.
pub(crate) struct Written<'a> {
    pub(crate) life: usize,
    /// The fence of its driver.
    pub(crate) mine: Fence,
    pub(crate) commit: &'a Commit,
    /// The records of its slots before it.
    pub(crate) before: &'a BTreeMap<LogicalNodeId, Option<Arc<NodeRecord>>>,
    /// Every record before it, where it has intents.
    pub(crate) all: &'a [Arc<NodeRecord>],
    /// The newest numbers before it.
    pub(crate) numbers: (PassNumber, OperationId, StepId),
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Commit { records, steps, intents, operations, shape, events, .. } = self.commit;
        write!(f, "driver {} writes", self.life)?;
        if let Some(row) = shape {
            write!(f, " generation {}", row.shape.generation)?;
        }
        let counts = [
            (records.len(), "records"),
            (steps.len(), "results"),
            (intents.len(), "intents"),
            (operations.len(), "operations"),
        ];
        for (n, what) in counts.iter().filter(|(n, _)| *n > 0) {
            write!(f, " {n} {what}")?;
        }
        for event in events {
            write!(f, "\n          | {}: {}", event.subject, event.text)?;
        }
        Ok(())
    }
}

/// A law that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub law: &'static str,
    /// Why, in one line.
    pub why: String,
    /// When, in milliseconds of the story.
    pub at: u64,
}
