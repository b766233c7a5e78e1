//! Observing: listings in rounds, looks by id, watches on workloads; and reports turned into facts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use executor::{dispatch::Report, seam::Capabilities};
use reconciler_core::{
    effect::Listing,
    fold::Fact,
    id::{LogicalNodeId, ProviderName},
    limits,
    observed::{Handle as Workload, NodeRecord, NodeStage},
    time::{Millis, Timestamp},
};
use tokio::time::Instant;

use crate::{
    run::Loop,
    state::{Mode, millis},
};

/// How long the first decision waits for the first look at every provider; nothing absent is believed anyway.
const FIRST_ROUND_BOUND: Duration = Duration::from_secs(10);

/// When each provider was and will be listed.
pub(crate) struct Listings {
    rounds: BTreeMap<ProviderName, Round>,
    first_until: Instant,
}

struct Round {
    period: Duration,
    next_at: Instant,
    asked_at: Timestamp,
    under_way: bool,
    seen: bool,
}

impl Listings {
    /// Every provider is due for its first listing.
    pub(crate) fn new(capabilities: &BTreeMap<ProviderName, Capabilities>) -> Self {
        let round = |c: &Capabilities| Round {
            period: c.listing_period,
            next_at: Instant::now(),
            asked_at: Timestamp::ZERO,
            under_way: false,
            seen: false,
        };
        Self {
            rounds: capabilities.iter().map(|(name, c)| (name.clone(), round(c))).collect(),
            first_until: Instant::now() + FIRST_ROUND_BOUND,
        }
    }

    /// True once every provider was looked at, or enough time was given to it.
    pub(crate) fn first_round_over(&self) -> bool {
        self.rounds.values().all(|round| round.seen) || Instant::now() >= self.first_until
    }

    /// When the next listing is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let waiting = self.rounds.values().filter(|round| !round.under_way);
        let next = waiting.map(|round| round.next_at).min();
        if self.first_round_over() {
            next
        } else {
            Some(next.map_or(self.first_until, |at| at.min(self.first_until)))
        }
    }
}

impl Loop {
    /// Asks every provider at once.
    pub(crate) fn list_all(&mut self) {
        let names: Vec<ProviderName> = self.listings.rounds.keys().cloned().collect();
        for name in names {
            self.list(&name);
        }
    }

    /// Asks the providers whose period is over.
    pub(crate) fn list_due(&mut self) {
        let now = Instant::now();
        let due = self.listings.rounds.iter().filter(|(_, r)| !r.under_way && r.next_at <= now);
        let names: Vec<ProviderName> = due.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.list(&name);
        }
    }

    /// Asks one provider for everything that it holds.
    pub(crate) fn list(&mut self, name: &ProviderName) {
        let now = self.now();
        if let Some(round) = self.listings.rounds.get_mut(name) {
            round.under_way = true;
            round.asked_at = now;
            round.next_at = Instant::now() + round.period;
            self.dispatcher.observe_listing(name);
        }
    }

    /// Looks at one slot's attempt by its id, unless that is under way.
    pub(crate) fn look(&mut self, slot: &LogicalNodeId) {
        let Some(record) = self.state.cluster.record(slot) else { return };
        if self.looking.insert(slot.clone()) {
            let (attempt, provider) = (record.attempt, record.spec.provider.clone());
            let lease = record.stage.lease().cloned();
            self.dispatcher.inspect(slot.clone(), attempt, &provider, lease);
        }
    }

    /// Watches a slot's workload, if it has one.
    pub(crate) fn watch(&self, slot: &LogicalNodeId) {
        if self.state.mode == Mode::Waiting {
            return;
        }
        let Some(record) = self.state.cluster.record(slot) else { return };
        if let (Some(lease), Some(workload)) = (record.stage.lease(), workload(record)) {
            let (lease, workload) = (lease.clone(), workload.clone());
            let (attempt, provider) = (record.attempt, &record.spec.provider);
            self.dispatcher.watch(slot.clone(), attempt, provider, lease, workload);
        }
    }

    /// Watches every workload: a driver that begins to drive knows none of them.
    pub(crate) fn watch_all(&self) {
        let records: Vec<Arc<NodeRecord>> =
            self.state.cluster.groups().flat_map(|(_, g)| g.records().cloned()).collect();
        for record in records {
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
                ("session", Fact::Session { slot, attempt, session, seq, stage })
            }
            Report::Listed { provider, listing, visibility } => {
                return self.take_listing(provider, listing, millis(visibility));
            }
            Report::Looked { provider: _, slot, attempt, look } => {
                self.looking.remove(&slot);
                self.looked_for_release(&slot);
                let visibility = self.state.visibility(&slot);
                ("look", Fact::Looked { slot, attempt, look, visibility })
            }
            Report::Exited { slot, attempt, workload: _, exit } => {
                ("exit", Fact::Exited { slot, attempt, status: exit.status, tail: exit.tail })
            }
        };
        self.trigger = trigger;
        self.facts.push(fact);
    }

    fn take_listing(&mut self, provider: ProviderName, listing: Listing, visibility: Millis) {
        let Some(round) = self.listings.rounds.get_mut(&provider) else { return };
        round.under_way = false;
        round.seen = true;
        let asked_at = round.asked_at;
        let grace = limits::ABSENCE_GRACE.max(visibility);
        let fence = self.state.fence;
        self.news.listed = true;
        self.trigger = "listing";
        self.facts.push(Fact::Listed { provider, listing, asked_at, grace, fence });
    }

    /// Looks by id at everything that the last listings lacked (C1).
    pub(crate) fn look_for_missing(&mut self) {
        for record in self.state.cluster.missing() {
            self.look(&record.slot);
        }
    }
}

/// What the provider knows of a slot's workload, in the stages that have one.
fn workload(record: &NodeRecord) -> Option<&Workload> {
    match &record.stage {
        NodeStage::BootstrapRunning { session, .. } | NodeStage::SwactorJoined { session, .. } => {
            Some(&session.workload)
        }
        NodeStage::HandedOff { member, .. } | NodeStage::Dormant { member, .. } => {
            Some(&member.workload)
        }
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => None,
    }
}
