//! One queue of waiting jobs, first come first served; its pump runs only while something waits.
//!
//! The queue needs no bound of its own: a slot has at most one effect and one look under way, so it is bounded
//! by the fleet.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::job::Job;

/// A queue and whether somebody empties it.
#[derive(Default)]
pub(super) struct Lane(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    pumped: bool,
}

impl Lane {
    /// Queues `job`; true if the caller must start the pump.
    pub(super) fn push(&self, job: Job) -> bool {
        let mut state = self.state();
        state.waiting.push_back(job);
        !std::mem::replace(&mut state.pumped, true)
    }

    /// True if something waits; otherwise the pump is released and must end.
    pub(super) fn goes_on(&self) -> bool {
        let mut state = self.state();
        state.pumped = !state.waiting.is_empty();
        state.pumped
    }

    /// The next job, unless it was taken away meanwhile.
    pub(super) fn pop(&self) -> Option<Job> {
        self.state().waiting.pop_front()
    }

    /// Takes away everything that waits.
    pub(super) fn drain(&self) -> Vec<Job> {
        self.state().waiting.drain(..).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
