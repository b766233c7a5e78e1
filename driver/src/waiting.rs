//! Facts that came in and are not folded yet.
//!
//! Most are worth a pass at once. Progress within a session decides nothing: it waits a moment, so that it is folded
//! and written together with whatever comes next instead of costing a pass and a sync of its own.

use std::time::Duration;

use reconciler_core::fold::Fact;
use tokio::time::Instant;

/// How long progress may wait; shorter than a person notices.
const PATIENCE: Duration = Duration::from_millis(25);

/// What waits to be folded, in the order in which it came.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    facts: Vec<Fact>,
    due: Option<Instant>,
}

impl Waiting {
    /// Takes a fact that wants a pass now, and is worth one.
    pub(crate) fn push(&mut self, fact: Fact) {
        self.add(fact, Instant::now());
    }

    /// Takes a fact that can wait for others.
    pub(crate) fn push_patiently(&mut self, fact: Fact) {
        self.add(fact, Instant::now() + PATIENCE);
    }

    fn add(&mut self, fact: Fact, due: Instant) {
        self.facts.push(fact);
        self.due = Some(self.due.map_or(due, |known| known.min(due)));
    }

    /// True if nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// When the first of them wants to be folded.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Everything that waits.
    pub(crate) fn take(&mut self) -> Vec<Fact> {
        self.due = None;
        std::mem::take(&mut self.facts)
    }
}
