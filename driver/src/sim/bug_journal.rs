//! The seeded bugs of the journal's seam, and of what a driver takes over from it.

use std::sync::Arc;

use checkpoint::{
    operation::OperationWrite,
    scan::Recovered,
    store::{Commit, Committed, MemoryStore, Store, Ticket},
};
use reconciler_core::{
    desired::{ClusterShape, Policy, RunNodeGroupSpec},
    effect::Intent,
    id::{Fence, PlanHash},
    observed::{NodeRecord, NodeStage, Remains},
};

use super::bug::Bug;

/// What a driver with `bug` takes over.
pub(crate) fn taken_over(bug: Option<Bug>, mut recovered: Recovered) -> Recovered {
    let Some(bug) = bug else { return recovered };
    for record in &mut recovered.records {
        forget(bug, record);
        if let Some(second) = &mut record.second {
            forget(bug, &mut second.record);
        }
    }
    if bug == Bug::HoldForgotten {
        recovered.group_holds.clear();
    }
    if bug == Bug::RolloutForgotten {
        recovered.rollouts.clear();
    }
    if let Some(row) = recovered.shape.as_mut().filter(|_| bug == Bug::GatesForgotten) {
        row.shape = Arc::new(without_gates(&row.shape));
    }
    recovered
}

fn forget(bug: Bug, record: &mut NodeRecord) {
    if bug == Bug::BackoffForgotten {
        record.backoff.not_before = None;
    }
    if bug == Bug::PendingForgotten {
        record.pending = None;
    }
    if bug == Bug::HoldForgotten {
        record.hold = None;
    }
    if bug == Bug::DeletionForgotten {
        record.deletion = None;
    }
    if let NodeStage::Failed { remains, .. } = &mut record.stage
        && bug == Bug::LeaseForgotten
    {
        *remains = Remains::Nothing;
    }
}

fn without_gates(shape: &ClusterShape) -> ClusterShape {
    let groups = shape.groups().map(|group| {
        let policy =
            Policy { after: std::collections::BTreeMap::new(), ..Policy::clone(&group.policy) };
        RunNodeGroupSpec { policy: Arc::new(policy), ..RunNodeGroupSpec::clone(group) }
    });
    let same = ClusterShape::new(shape.run.clone(), shape.uuid, shape.generation, groups);
    same.unwrap_or_else(|_| shape.clone())
}

/// True if a journal with `bug` says at once that `commit` is kept.
pub(crate) fn says_at_once(bug: Option<Bug>, commit: &Commit) -> bool {
    match bug {
        Some(Bug::EffectBeforeIntent) => !commit.intents.is_empty(),
        Some(Bug::PromiseBeforeSync) => commit.used_plan.is_some() && commit.intents.is_empty(),
        _ => false,
    }
}

/// The two halves of a commit that is torn, if `bug` tears it.
pub(crate) fn torn(bug: Option<Bug>, commit: &Commit) -> Option<(Commit, Commit)> {
    if bug != Some(Bug::TornCommit) || commit.intents.is_empty() {
        return None;
    }
    let records = commit.records.clone();
    let first = Commit { at: commit.at, records, ..Commit::default() };
    Some((first, Commit { records: Vec::new(), ..commit.clone() }))
}

/// The answer to `intents` of a journal that never wrote them.
pub(crate) fn sealed(ticket: Ticket, fence: Fence, intents: Vec<Intent>) -> Option<Committed> {
    let mut store = MemoryStore::new();
    while store.fence() < fence {
        store = store.restart().0;
    }
    let mut opened = std::collections::BTreeSet::new();
    let open = intents.iter().filter(|intent| opened.insert(intent.operation));
    let open = open.map(|intent| OperationWrite::Open {
        id: intent.operation,
        group: intent.slot.group.clone(),
        plan: PlanHash::of(b"never written"),
        goals: String::new(),
        compensation: None,
    });
    let operations = open.collect();
    store.submit(Commit { operations, intents, ..Commit::default() });
    store.poll().map(|done| Committed { ticket, ..done })
}
