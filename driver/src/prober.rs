//! When each workload is asked by its probes: each by its own interval, and never twice at once.
//!
//! Nothing of this is kept on disk: what answers amount to is the core's, and a driver that begins asks everybody.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use reconciler_core::{
    desired::{Probe, ProbeKind},
    id::{AttemptId, LogicalNodeId, SessionId},
    observed::NodeRecord,
    time::{Millis, Timestamp},
};
use tokio::time::Instant;

/// One probe of one workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) kind: ProbeKind,
}

/// When a probe is asked next.
struct Round {
    session: SessionId,
    probe: Arc<Probe>,
    at: Instant,
    under_way: bool,
}

type Rounds = BTreeMap<(AttemptId, ProbeKind), Round>;

/// When each workload is asked.
#[derive(Default)]
pub(crate) struct Prober {
    /// Of the slots that are asked at all.
    rounds: BTreeMap<LogicalNodeId, Rounds>,
    /// What is not under way, by time.
    due: BTreeSet<(Instant, Place)>,
}

impl Prober {
    /// When the next workload is to be asked.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Brings what is asked of a slot up to what `record` says is to be; `None` for a slot that is gone.
    pub(crate) fn note(
        &mut self,
        slot: &LogicalNodeId,
        record: Option<&NodeRecord>,
        now: Timestamp,
    ) {
        let attempts = || record.into_iter().flat_map(NodeRecord::attempts);
        // The common case: nobody probes here, and nobody did.
        let none = attempts().all(|one| one.policy.probes.is_empty());
        if none && !self.rounds.contains_key(slot) {
            return;
        }
        let mut known = self.rounds.remove(slot).unwrap_or_default();
        let mut rounds = Rounds::new();
        for one in attempts() {
            let Some(session) = one.stage.session() else { continue };
            for (kind, probe, first) in one.probes() {
                let (attempt, slot) = (one.attempt, slot.clone());
                let same = known.remove(&(attempt, kind));
                let same = same.filter(|r| r.session == session && *r.probe == **probe);
                let round = same.unwrap_or_else(|| {
                    let at = Instant::now() + length(first.since(now));
                    Round { session, probe: Arc::clone(probe), at, under_way: false }
                });
                // One that is there already is put there a second time, which changes nothing.
                if !round.under_way {
                    self.due.insert((round.at, Place { slot, attempt, kind }));
                }
                rounds.insert((attempt, kind), round);
            }
        }
        for ((attempt, kind), round) in known {
            self.due.remove(&(round.at, Place { slot: slot.clone(), attempt, kind }));
        }
        if !rounds.is_empty() {
            self.rounds.insert(slot.clone(), rounds);
        }
    }

    fn round(&mut self, place: &Place) -> Option<&mut Round> {
        self.rounds.get_mut(&place.slot)?.get_mut(&(place.attempt, place.kind))
    }

    /// Takes what is due by `now`: it is under way from here on, and asked again an interval later.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Place> {
        let mut taken = Vec::new();
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, place)) = self.due.pop_first() else { break };
            let Some(round) = self.round(&place) else { continue };
            (round.under_way, round.at) = (true, now + length(round.probe.interval));
            taken.push(place);
        }
        taken
    }

    /// An answer came: the probe is asked again when its interval is over.
    pub(crate) fn answered(&mut self, place: &Place, session: SessionId, probe: &Probe) {
        let Some(round) = self.round(place) else { return };
        if round.session == session && *round.probe == *probe && round.under_way {
            round.under_way = false;
            let at = round.at;
            self.due.insert((at, place.clone()));
        }
    }
}

fn length(length: Millis) -> Duration {
    Duration::from_millis(length.get())
}
