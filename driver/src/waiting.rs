//! Facts that came in and are not folded yet.
//!
//! Most are worth a pass at once. Progress within a session decides nothing: it waits a moment, so that it is folded
//! and written together with whatever comes next instead of costing a pass and a sync of its own.

use std::time::Duration;

use reconciler_core::fold::Fact;
use tokio::time::Instant;

/// How long progress may wait; shorter than a person notices.
const PATIENCE: Duration = Duration::from_millis(25);

/// Facts that one pass folds at most: while it does, the driver takes no event, and a thousand are some ten
/// milliseconds. A listing is one fact, so what it shows is never judged in parts.
const FACTS_MAX: usize = 1_000;

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

    /// What waits, from the first on, as much of it as one pass takes; the rest is due as it was.
    pub(crate) fn take(&mut self) -> Vec<Fact> {
        let rest = self.facts.split_off(self.facts.len().min(FACTS_MAX));
        self.due = self.due.filter(|_| !rest.is_empty());
        std::mem::replace(&mut self.facts, rest)
    }
}

#[cfg(test)]
mod tests {
    use reconciler_core::{
        id::{AttemptId, AttemptOrdinal, LogicalNodeId, SessionId, Uuid},
        observed::SessionStage,
    };

    use super::*;

    fn fact(seq: u64) -> Fact {
        let attempt =
            AttemptId { ordinal: AttemptOrdinal::new(1), uuid: Uuid::from_bytes([7; 16]) };
        Fact::Session {
            slot: LogicalNodeId::new("web".parse().expect("a name"), 0),
            attempt,
            session: SessionId::new(1),
            seq,
            stage: SessionStage::StdoutStreaming,
        }
    }

    fn number(fact: &Fact) -> u64 {
        let Fact::Session { seq, .. } = fact else { panic!("another fact: {fact:?}") };
        *seq
    }

    /// ST3: however much comes in at once, a pass folds a bounded part of it, in order, and the rest stays due.
    #[test]
    fn a_burst_is_folded_in_parts_and_in_order() {
        let mut waiting = Waiting::default();
        (0..2_500).for_each(|seq| waiting.push(fact(seq)));
        let mut parts: Vec<Vec<u64>> = Vec::new();
        while waiting.due().is_some() {
            parts.push(waiting.take().iter().map(number).collect());
        }
        assert!(waiting.is_empty());
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1_000, 1_000, 500]);
        assert!(parts.into_iter().flatten().eq(0..2_500));
    }
}
