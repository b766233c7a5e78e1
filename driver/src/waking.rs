//! When the loop has something to do: now, or at which time.

use std::time::Duration;

use tokio::time::Instant;

use crate::{looping::Loop, state::Mode};

/// Longest sleep: a clock that jumped is noticed within it, and costs one comparison.
const CHECK_PERIOD: Duration = Duration::from_secs(5);

impl Loop {
    /// True if no pass has to wait: not for the journal, not for the door to agents, not for its time.
    pub(crate) fn may_pass(&self) -> bool {
        let is_held = self.barrier.is_some() || self.agents.opening().is_some();
        !is_held && Instant::now() >= self.next_pass
    }

    /// True if a pass would find something.
    pub(crate) fn has_work(&self) -> bool {
        let due = self.state.next_due().is_some_and(|at| at <= (self.clock)());
        let decides = self.state.mode == Mode::Driving;
        self.news_at().is_some_and(|at| at <= Instant::now()) || (decides && due)
    }

    /// From when on there is something to do about what came in, changed, or was decided and has a next step.
    fn news_at(&self) -> Option<Instant> {
        let now = self.state.cluster.has_dirty() || self.news.next_step;
        if now { Some(self.next_pass) } else { self.facts.due().map(|at| at.max(self.next_pass)) }
    }

    /// When to wake without any event.
    pub(crate) fn wake_at(&self) -> Instant {
        let latest = Instant::now() + CHECK_PERIOD;
        let listing = self.listings.next_at();
        let earliest = listing.map_or(latest, |at| at.min(latest)).min(self.audit_at);
        if self.barrier.is_some() || !self.listings.first_round_over() {
            return earliest;
        }
        let agents = self.agents.next_at();
        let earliest = agents.map_or(earliest, |at| at.min(earliest));
        if let Some(opened) = self.agents.opening() {
            return earliest.min(opened);
        }
        let earliest = self.news_at().map_or(earliest, |at| at.min(earliest));
        let probe = self.prober.next_at().filter(|_| self.state.mode == Mode::Driving);
        let earliest = probe.map_or(earliest, |at| at.min(earliest));
        let joining = self.joining.next_at().filter(|_| self.state.mode == Mode::Driving);
        let earliest = joining.map_or(earliest, |at| at.min(earliest));
        let now = (self.clock)();
        let due = self.state.next_due().filter(|_| self.state.mode == Mode::Driving);
        match due {
            Some(at) => {
                let wait = Duration::from_millis(at.since(now).get());
                earliest.min((Instant::now() + wait).max(self.next_pass))
            }
            None => earliest,
        }
    }
}
