//! Probes on a predicted state: whatever is asked passes, as everything else succeeds.

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use crate::{
    desired::{Probe, ProbeKind},
    fold::Fact,
    id::LogicalNodeId,
    observed::{ClusterState, NodeRecord, ProbeAnswer, ProbeVerdict},
};

/// True if an attempt of the slot has a probe that is asked and does not pass.
pub(super) fn awaits_probe(state: &ClusterState, slot: &LogicalNodeId) -> bool {
    let attempts = state.record(slot).into_iter().flat_map(|record| record.attempts());
    attempts.into_iter().any(|one| !one.policy.probes.is_empty() && awaited(one).next().is_some())
}

/// The answers after which the probes that are asked now pass.
pub(super) fn passes(state: &ClusterState, slots: &BTreeSet<LogicalNodeId>) -> Vec<Fact> {
    let records = slots.iter().filter_map(|slot| state.record(slot));
    let attempts = records.flat_map(|record| record.attempts());
    attempts.flat_map(|one| awaited(one).flat_map(|probe| pass(one, probe))).collect()
}

/// The probes that are asked and do not pass; one that ends the attempt is no more to be asked.
fn awaited(record: &NodeRecord) -> impl Iterator<Item = (ProbeKind, &Arc<Probe>)> {
    let lacks = |kind: ProbeKind| record.verdict(kind) != ProbeVerdict::Passing;
    let asked = record.probes().filter(move |(kind, ..)| lacks(*kind));
    let asked = asked.filter(|_| record.gives_up().is_none() && record.hold.is_none());
    asked.map(|(kind, probe, _)| (kind, probe))
}

/// As many passes as count.
fn pass<'a>(
    record: &'a NodeRecord,
    (kind, probe): (ProbeKind, &'a Arc<Probe>),
) -> impl Iterator<Item = Fact> + 'a {
    let had = record.trial(kind).map_or(0, |trial| trial.passes);
    let session = record.stage.session();
    session.into_iter().flat_map(move |session| {
        (had..probe.successes).map(move |_| Fact::Probed {
            slot: record.slot.clone(),
            attempt: record.attempt,
            session,
            kind,
            probe: Arc::clone(probe),
            answer: ProbeAnswer::Passed,
        })
    })
}
