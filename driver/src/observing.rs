//! Observing: listings, looks by id and watches are asked for, and what comes back turns into facts.

use std::sync::Arc;

use executor::dispatch::Report;
use reconciler_core::{
    effect::{Listing, OwnedLease, WorkloadState},
    fold::Fact,
    id::{AttemptId, LogicalNodeId, ProviderName},
    limits,
    observed::NodeRecord,
    time::Millis,
};

use crate::{
    looping::Loop,
    state::{Mode, millis},
};

impl Loop {
    /// Asks every provider at once.
    pub(crate) fn list_all(&mut self) {
        for name in self.listings.providers() {
            self.list(&name);
        }
    }

    /// Asks the providers whose period is over.
    pub(crate) fn list_due(&mut self) {
        for name in self.listings.due() {
            self.list(&name);
        }
    }

    /// Asks one provider for everything that it holds.
    fn list(&mut self, name: &ProviderName) {
        let now = self.now();
        if self.listings.begin(name, now) {
            self.dispatcher.observe_listing(name);
        }
    }

    /// Looks at one attempt of a slot by its id, unless that is under way.
    pub(crate) fn look(&mut self, slot: &LogicalNodeId, attempt: AttemptId) {
        let record = self.state.cluster.record(slot).and_then(|record| record.of_attempt(attempt));
        let Some(record) = record else { return };
        if self.looking.insert((slot.clone(), attempt)) {
            let provider = record.spec.provider.clone();
            let lease = record.stage.lease().cloned();
            self.dispatcher.inspect(slot.clone(), attempt, &provider, lease);
        }
    }

    /// Watches the workloads of a slot's attempts, of those that have one, and has them asked by their probes.
    pub(crate) fn watch(&mut self, slot: &LogicalNodeId) {
        if self.state.mode == Mode::Waiting {
            return;
        }
        let (now, record) = (self.now(), self.state.cluster.record(slot));
        self.prober.note(slot, record.map(AsRef::as_ref), now);
        self.note_joining(slot);
        let Some(record) = self.state.cluster.record(slot) else { return };
        for record in record.attempts() {
            if let (Some(lease), Some(workload)) = (record.stage.lease(), record.stage.workload()) {
                let (lease, workload) = (lease.clone(), workload.clone());
                let (attempt, provider) = (record.attempt, &record.spec.provider);
                self.dispatcher.watch(slot.clone(), attempt, provider, lease, workload);
            }
        }
    }

    /// Watches every workload: a driver that begins to drive knows none of them.
    pub(crate) fn watch_all(&mut self) {
        let records: Vec<Arc<NodeRecord>> =
            self.state.cluster.groups().flat_map(|(_, g)| g.records().cloned()).collect();
        for record in records {
            self.miss_agents(&record);
            self.watch(&record.slot);
        }
    }

    /// Turns a report into a fact.
    pub(crate) fn take_report(&mut self, report: Report) {
        let (trigger, fact) = match report {
            Report::Effect(report) => ("effect", Fact::Reported(report)),
            Report::Session { slot, attempt, session, observation } => {
                if let Some(line) = &observation.line {
                    tracing::info!(%slot, stage = ?observation.stage, "{line}");
                }
                let (seq, stage) = (observation.seq, observation.stage);
                return self.facts.push_patiently(Fact::Session {
                    slot,
                    attempt,
                    session,
                    seq,
                    stage,
                });
            }
            Report::Listed { provider, listing, visibility } => {
                return self.take_listing(provider, listing, millis(visibility));
            }
            Report::Looked { provider: _, slot, attempt, look } => {
                let looked = (slot, attempt);
                self.looking.remove(&looked);
                self.looked_for_release(&looked);
                self.news.next_step |= self.state.operations.seen(&looked, &look);
                let slot = looked.0;
                let visibility = self.state.visibility(&slot, attempt);
                ("look", Fact::Looked { slot, attempt, look, visibility })
            }
            Report::Probed { slot, attempt, session, kind, probe, answer } => {
                let asked = (session, kind, probe);
                let Some(fact) = self.take_answer((slot, attempt), asked, answer) else { return };
                ("probe", fact)
            }
            Report::Said { slot, attempt, session, tail } => {
                return self.facts.push(Fact::Said { slot, attempt, session, tail });
            }
            Report::Exited { slot, attempt, workload, exit } => {
                let (status, tail) = (exit.status, exit.tail);
                ("exit", Fact::Exited { slot, attempt, workload, status, tail })
            }
        };
        self.trigger = trigger;
        self.facts.push(fact);
    }

    fn take_listing(&mut self, provider: ProviderName, listing: Listing, visibility: Millis) {
        let Some(asked_at) = self.listings.end(&provider) else { return };
        self.look_for_unsaid(&listing);
        let grace = limits::ABSENCE_GRACE.max(visibility);
        let fence = self.state.fence;
        self.news.listed = true;
        self.trigger = "listing";
        self.facts.push(Fact::Listed { provider, listing, asked_at, grace, fence });
    }

    /// Looks by id at the workloads of which a listing says nothing: it may show what there is and not how it fares.
    fn look_for_unsaid(&mut self, listing: &Listing) {
        let (Listing::Complete(owned) | Listing::Partial(owned, _)) = listing else { return };
        let unsaid = owned.iter().filter(|lease| matches!(lease.workload, WorkloadState::Unknown));
        let attempt = |lease: &OwnedLease| {
            let attempts = self.state.cluster.record(&lease.slot)?.attempts();
            let has_one = |one: &&NodeRecord| {
                one.attempt.uuid == lease.attempt && one.stage.has_workload() && !one.is_open()
            };
            Some((lease.slot.clone(), attempts.into_iter().find(has_one)?.attempt))
        };
        let attempts: Vec<_> = unsaid.filter_map(attempt).collect();
        for (slot, attempt) in attempts {
            self.look(&slot, attempt);
        }
    }

    /// Looks by id at everything that the last listings lacked (C1).
    pub(crate) fn look_for_missing(&mut self) {
        for (slot, attempt) in self.state.cluster.missing() {
            self.look(&slot, attempt);
        }
    }
}
