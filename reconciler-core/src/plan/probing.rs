//! Probes and agents on a predicted state: whatever is asked passes and whoever is awaited joins, as everything else
//! succeeds.

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use crate::{
    desired::{ClusterShape, JoinMode, Probe, ProbeKind, RunNodeGroupSpec},
    fold::Fact,
    id::{AgentSeal, LogicalNodeId},
    observed::{AgentNews, ClusterState, NodeRecord, ProbeAnswer, ProbeVerdict, SessionStage},
};

/// True if any node of `slots`, as it is or as `target` wants it, may wait for a word of an agent or a probe.
pub(super) fn any_awaits(
    state: &ClusterState,
    target: &ClusterShape,
    slots: &BTreeSet<LogicalNodeId>,
) -> bool {
    let by_agent = |join: JoinMode| join == JoinMode::Agent;
    let wanted =
        |group: &RunNodeGroupSpec| by_agent(group.spec.join) || !group.policy.probes.is_empty();
    // A node is treated as its group says before it comes on, so that only its group's probes are asked.
    let known = |one: &NodeRecord| by_agent(one.spec.join);
    target.groups().any(|group| wanted(group))
        || slots
            .iter()
            .filter_map(|slot| state.record(slot))
            .any(|record| record.attempts().any(known))
}

/// True if an attempt of the slot waits for its agent, or has a probe that is asked and does not pass.
pub(super) fn awaits_word(state: &ClusterState, slot: &LogicalNodeId) -> bool {
    let attempts = state.record(slot).into_iter().flat_map(|record| record.attempts());
    let asked = |one: &NodeRecord| !one.policy.probes.is_empty() && awaited(one).next().is_some();
    attempts.into_iter().any(|one| one.awaits_agent() || asked(one))
}

/// What is heard of agents that are awaited, and the answers after which the probes that are asked now pass.
pub(super) fn words(state: &ClusterState, slots: &BTreeSet<LogicalNodeId>) -> Vec<Fact> {
    let records = slots.iter().filter_map(|slot| state.record(slot));
    let attempts = records.flat_map(|record| record.attempts());
    attempts
        .flat_map(|one| {
            joins(one).into_iter().chain(awaited(one).flat_map(|probe| pass(one, probe)))
        })
        .collect()
}

/// An agent that is awaited joins, and says that its workload runs.
fn joins(record: &NodeRecord) -> Vec<Fact> {
    let Some(session) = record.stage.session().filter(|_| record.awaits_agent()) else {
        return Vec::new();
    };
    let (slot, attempt) = (record.slot.clone(), record.attempt);
    let news = AgentNews::Joined(AgentSeal::from_bytes([0; 32]));
    let known = record.agent.as_ref().is_some_and(|agent| agent.session == session);
    let joined = Fact::Agent { slot: slot.clone(), attempt, session, news };
    let (seq, stage) = (u64::MAX, SessionStage::Converged);
    let runs = Fact::Session { slot, attempt, session, seq, stage };
    (!known).then_some(joined).into_iter().chain([runs]).collect()
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
