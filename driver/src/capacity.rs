//! Capacity of providers: what a plan may ask of them, and which leases a pass may ask for (D16, R92).
//!
//! What is taken is counted from the records, which a driver has from its journal; the journal counts its own rows once
//! more as it writes the reservation. Where no capacity is declared, nothing is counted.

use std::collections::{BTreeMap, BTreeSet};

use reconciler_core::{
    desired::ClusterShape,
    effect::{ActionKind, CommandKind},
    id::{GroupId, LogicalNodeId, ProviderName},
    observed::{ClusterState, NodeRecord, Side},
    ownership::{Admission, Capacity, Demand, Ledger, Shortage, holds},
    plan::LifecyclePlan,
    reconcile::ReconcilePlan,
    time::Timestamp,
};

use crate::{
    config::ProviderDecl,
    refusing::refuse,
    view::{Refusal, RefusalKind},
};

/// What the providers are declared to have; only those of which something is declared.
pub(crate) type Declared = BTreeMap<ProviderName, Capacity>;

/// What helps where a plan asks for too much.
const HINT: &str = "ask for less, end what holds the rest, or declare more in the file and restart its driver; then plan again";

/// What is declared of `providers`.
pub(crate) fn declared(providers: &BTreeMap<ProviderName, ProviderDecl>) -> Declared {
    providers.iter().filter_map(|(name, decl)| Some((name.clone(), decl.capacity?))).collect()
}

/// What every attempt holds now.
fn held(declared: &Declared, cluster: &ClusterState) -> Ledger {
    let mut ledger = Ledger::new(declared.clone());
    let slots = cluster.groups().flat_map(|(_, group)| group.records());
    for record in slots.flat_map(|record| record.attempts()).filter(|one| holds(one)) {
        let demand = Demand::of(&record.spec.shape);
        ledger.hold(&record.spec.provider, &record.slot.group, demand);
    }
    ledger
}

/// Refuses a plan that asks a provider for more than it has, once all that the plan ends is gone (R88).
pub(crate) fn refuse_beyond(
    plan: &LifecyclePlan,
    target: &ClusterShape,
    declared: &Declared,
) -> Result<(), Refusal> {
    if declared.is_empty() {
        return Ok(());
    }
    let create = ActionKind::Command(CommandKind::CreateLease);
    let asking: BTreeSet<&GroupId> =
        plan.steps.iter().filter(|step| step.action == create).map(|s| &s.slot.group).collect();
    let mut ledger = Ledger::new(declared.clone());
    let demand = |group: &reconciler_core::desired::RunNodeGroupSpec| {
        let peak = plan.impacts.iter().find(|impact| impact.group == group.group);
        let count = peak.map_or(group.count, |impact| impact.peak.max(group.count));
        Demand::of(&group.spec.shape).times(count.into())
    };
    for group in target.groups().filter(|group| !asking.contains(&group.group)) {
        ledger.hold(&group.spec.provider, &group.group, demand(group));
    }
    for group in target.groups().filter(|group| asking.contains(&group.group)) {
        let fits = ledger.admit(&group.spec.provider, &group.group, demand(group), Timestamp::ZERO);
        fits.map_err(|short| Refusal {
            hint: Some(HINT.to_owned()),
            ..refuse(RefusalKind::Forbidden, format!("group {}: {short}", group.group))
        })?;
    }
    Ok(())
}

/// Which leases of one pass fit.
#[derive(Default)]
pub(crate) struct Gate {
    ledger: Ledger,
    creates: BTreeSet<(LogicalNodeId, Side)>,
    now: Timestamp,
    /// The evidence for those that fit.
    pub(crate) admitted: BTreeMap<(LogicalNodeId, Side), Admission>,
    /// What lacks for those that do not.
    pub(crate) short: BTreeMap<LogicalNodeId, Shortage>,
}

impl Gate {
    /// Counts what is taken, if the pass asks for a lease at all.
    pub(crate) fn new(
        declared: &Declared,
        cluster: &ClusterState,
        plan: &ReconcilePlan,
        now: Timestamp,
    ) -> Self {
        if declared.is_empty() {
            return Self::default();
        }
        let present = plan.per_node.iter().map(|(slot, action)| (slot, Side::Present, action));
        let second = plan.per_second.iter().map(|(slot, action)| (slot, Side::Second, action));
        let creates: BTreeSet<_> = present
            .chain(second)
            .filter(|(_, _, action)| action.kind() == CommandKind::CreateLease)
            .map(|(slot, side, _)| (slot.clone(), side))
            .collect();
        if creates.is_empty() {
            return Self::default();
        }
        Self { ledger: held(declared, cluster), creates, now, ..Self::default() }
    }

    /// True if the command for one side of a slot may go out; takes what it needs.
    pub(crate) fn admit(&mut self, side: Side, record: &NodeRecord) -> bool {
        let key = (record.slot.clone(), side);
        if !self.creates.contains(&key) {
            return true;
        }
        let (provider, group) = (&record.spec.provider, &record.slot.group);
        let demand = Demand::of(&record.spec.shape);
        match self.ledger.admit(provider, group, demand, self.now) {
            Ok(evidence) => {
                self.admitted.extend(evidence.map(|evidence| (key, evidence)));
                true
            }
            Err(short) => {
                self.short.insert(key.0, short);
                false
            }
        }
    }
}
