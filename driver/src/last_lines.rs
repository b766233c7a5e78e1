//! What a workload wrote last is asked for shortly before its time to join is over, so that the failure can quote it.
//!
//! An end comes with its last lines; one that never joins runs on, and only its output says what it waits for.

use std::time::Duration;

use reconciler_core::{
    id::{AttemptId, LogicalNodeId, SessionId},
    observed::Side,
};
use tokio::time::Instant;

use crate::{looping::Loop, timed::Timed};

/// How long before that time it is asked; half of it where it is shorter than twice that.
const BEFORE: Duration = Duration::from_secs(5);

/// Who is to join, by the time to ask.
pub(crate) type Joining = Timed<(LogicalNodeId, Side), (LogicalNodeId, AttemptId, SessionId)>;

impl Loop {
    /// Brings who is asked of a slot up to who is to join there.
    pub(crate) fn note_joining(&mut self, slot: &LogicalNodeId) {
        let (now, record) = (self.now(), self.state.cluster.record(slot));
        for side in [Side::Present, Side::Second] {
            let one = record.and_then(|record| record.side(side));
            let Some((one, (session, until))) = one.and_then(|one| Some((one, one.is_unquoted()?)))
            else {
                if self.joining.next_at().is_some() {
                    self.joining.remove(&(slot.clone(), side));
                }
                continue;
            };
            let whole = Duration::from_millis(until.since(one.since).get());
            let left = Duration::from_millis(until.since(now).get());
            let at = Instant::now() + left.saturating_sub(BEFORE.min(whole / 2));
            self.joining.insert((slot.clone(), side), at, (slot.clone(), one.attempt, session));
        }
    }

    /// Asks what those wrote whose time is nearly over.
    pub(crate) fn ask_last_lines(&mut self) {
        for (slot, attempt, session) in self.joining.take_due(Instant::now()) {
            let record = self.state.cluster.record(&slot);
            let Some(record) = record.and_then(|record| record.of_attempt(attempt)) else {
                continue;
            };
            if let Some(lease) = record.stage.lease().filter(|_| record.is_unquoted().is_some()) {
                let (lease, provider) = (lease.clone(), &record.spec.provider);
                self.dispatcher.last_lines((slot, attempt, session), provider, lease);
            }
        }
    }
}
