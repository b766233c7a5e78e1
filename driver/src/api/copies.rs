//! The newest view of a run, and the one before it to make the next of.
//!
//! Who looks holds the newest, so a change cannot be made in it; a copy of a fleet's view costs more than everything
//! else that a change costs. By the time of the next change nobody holds the one before any more: it is brought up by
//! the changes that it lacks.

use std::sync::Arc;

use crate::view::{RunDelta, RunView};

/// Changes that an older view may lack before it is dropped: making up for more costs as much as a copy.
const MISSED_MAX: usize = 8;

/// Views of a run, the newest first.
#[derive(Debug, Default)]
pub(super) struct Copies {
    newest: Option<Arc<RunView>>,
    /// The one before, and what it lacks.
    before: Option<(Arc<RunView>, Vec<RunDelta>)>,
}

impl Copies {
    /// Begins anew with a whole view.
    pub(super) fn begin(&mut self, view: RunView) {
        (self.newest, self.before) = (Some(Arc::new(view)), None);
    }

    /// The newest view.
    pub(super) const fn newest(&self) -> Option<&Arc<RunView>> {
        self.newest.as_ref()
    }

    /// Makes the next view; false where there is none to make it of.
    pub(super) fn follow(&mut self, delta: RunDelta) -> bool {
        let Some(mut newest) = self.newest.take() else { return false };
        if let Some(own) = Arc::get_mut(&mut newest) {
            // Nobody has seen it yet.
            if let Some((_, missed)) = &mut self.before {
                missed.push(delta.clone());
            }
            self.before = self.before.take().filter(|(_, missed)| missed.len() <= MISSED_MAX);
            delta.apply(own);
            self.newest = Some(newest);
            return true;
        }
        let unheld = |(view, missed): (_, Vec<RunDelta>)| Some((Arc::into_inner(view)?, missed));
        let mut next = match self.before.take().and_then(unheld) {
            Some((mut view, missed)) => {
                for delta in missed {
                    delta.apply(&mut view);
                }
                view
            }
            None => newest.as_ref().clone(),
        };
        delta.clone().apply(&mut next);
        (self.newest, self.before) = (Some(Arc::new(next)), Some((newest, vec![delta])));
        true
    }
}

#[cfg(test)]
mod tests {
    use reconciler_core::{
        id::{Generation, PassNumber, Uuid},
        time::Timestamp,
    };

    use super::*;
    use crate::view::{Difference, RunState, VIEW_SCHEMA, diff};

    fn view(pass: u64) -> RunView {
        RunView {
            schema: VIEW_SCHEMA,
            run: "demo".parse().unwrap(),
            uuid: Uuid::from_bytes([7; 16]),
            driver: None,
            generation: Generation::new(1),
            changed_by: None,
            pass: PassNumber::new(pass),
            at: Timestamp::from_millis(pass),
            state: RunState::Converging,
            want: 3,
            ready: u32::try_from(pass % 4).unwrap(),
            due: None,
            ribbon_len: 8,
            file: None,
            groups: Vec::new(),
            nodes: Vec::new(),
            holds: Vec::new(),
            outstanding: Vec::new(),
            passes: Vec::new(),
            events: Vec::new(),
            orphans: Vec::new(),
            providers: Vec::new(),
            drift: Vec::new(),
        }
    }

    fn to(pass: u64) -> RunDelta {
        match diff(view(pass - 1), &view(pass)) {
            Difference::Changed(delta) => *delta,
            other @ (Difference::Still | Difference::Unrelated) => {
                panic!("pass {pass} changes something, not {other:?}")
            }
        }
    }

    /// Whoever holds whichever views for however long sees each as it was, and the newest is what the changes lead to.
    #[test]
    fn views_that_are_held_stand_and_the_newest_follows() {
        let mut copies = Copies::default();
        assert!(!copies.follow(to(1)), "there is nothing to change yet");
        copies.begin(view(0));
        let mut held: Vec<(u64, Arc<RunView>)> = Vec::new();
        for pass in 1..60_u64 {
            if pass % 3 != 0 {
                held.push((pass - 1, Arc::clone(copies.newest().unwrap())));
            }
            // Some are let go at once, some after a while, and some runs of passes are seen by nobody.
            held.retain(|(of, _)| of % 5 == 0 && of + 20 > pass || of + 2 > pass);
            if (30..45).contains(&pass) {
                held.clear();
            }
            assert!(copies.follow(to(pass)));
            assert_eq!(**copies.newest().unwrap(), view(pass));
            for (of, seen) in &held {
                assert_eq!(**seen, view(*of));
            }
        }
    }
}
