//! What attempts own: written before the first effect, given back in order, and forgotten only when its absence was seen.

use std::sync::Arc;

use checkpoint::{
    reader::Reader,
    record::RecordWrite,
    store::{Commit, Journal, Shortfall, Store, StoreError},
};
use reconciler_core::{
    effect::{CommandKind, Intent, NodeManagerCommand, idempotency_key},
    id::Fence,
    observed::{
        DeleteReason, Deletion, Endpoint, Handle, LeaseFacts, LeaseId, MemberFacts, NodeRecord,
        NodeStage,
    },
    ownership::{
        Admission, Capacity, Demand, Finalizer, FinalizerState, Ledger, OwnershipError, Resource,
    },
    time::Timestamp,
};

use crate::world::{first_commit, home, intent, keep, open, opened, record, slot};

fn lease() -> LeaseFacts {
    LeaseFacts { id: LeaseId::new("l"), fence: Fence::new(1), handle: Handle::default() }
}

fn serving() -> NodeRecord {
    let member = MemberFacts {
        session: reconciler_core::id::SessionId::new(1),
        workload: Handle::default(),
        joined_at: Timestamp::from_millis(1),
        ready_at: Timestamp::from_millis(1),
    };
    let (lease, endpoint) = (lease(), Endpoint::default());
    let mut record = record(0, 1);
    record.stage = NodeStage::Dormant { lease, endpoint, member, completed: None };
    record
}

fn deleting(stage: NodeStage) -> NodeRecord {
    let since = Timestamp::from_millis(7);
    let deletion = Some(Deletion { reason: DeleteReason::Undesired, since });
    let mut record = record(0, 1);
    (record.stage, record.deletion) = (stage, deletion);
    record
}

fn idle() -> NodeRecord {
    deleting(NodeStage::EndpointKnown { lease: lease(), endpoint: Endpoint::default() })
}

fn gone() -> NodeRecord {
    deleting(NodeStage::Destroyed { at: Timestamp::from_millis(9), failure: None })
}

fn put(record: NodeRecord) -> Commit {
    Commit { records: vec![RecordWrite::Put(Arc::new(record))], ..Commit::default() }
}

fn destroys(step: u64, fence: Fence) -> Intent {
    let create = intent(step, 1, 0, fence);
    let key = idempotency_key(create.attempt.uuid, CommandKind::DestroyLease, "");
    Intent { action: NodeManagerCommand::DestroyLease(lease()).into(), key, ..create }
}

fn creates(step: u64, index: u32, fence: Fence) -> Commit {
    Commit { intents: vec![intent(step, 1, index, fence)], ..Commit::default() }
}

fn begun(dir: &std::path::Path) -> (Journal, Fence) {
    let (mut journal, recovered) = open(dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, creates(1, 0, recovered.fence)).unwrap();
    (journal, recovered.fence)
}

fn states(dir: &std::path::Path) -> Vec<[FinalizerState; 2]> {
    let rows = Reader::open(dir).unwrap().ownership().unwrap();
    rows.iter().map(|row| Finalizer::ALL.map(|one| row.tenure.finalizers.of(one))).collect()
}

/// R96, R140: the row is there before the effect, bound to operation, controller, fence, slot, attempt and provider.
#[test]
fn an_attempt_is_owned_before_its_lease_is_asked_for() {
    let home = home();
    let dir = home.path().join("run");
    let (_journal, fence) = begun(&dir);
    let rows = Reader::open(&dir).unwrap().ownership().unwrap();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.tenure.operation.get(), row.tenure.fence, row.tenure.handoffs), (1, fence, 0));
    assert_eq!(row.tenure.controller.as_str(), "4711@here");
    assert_eq!((&row.identity.slot, row.identity.provider.as_str()), (&slot(0), "process"));
    assert_eq!(row.proof(), row.identity.proof(fence));
    assert_ne!(row.proof(), row.identity.proof(fence.next()));
}

/// R146 to R148: the deletion is intended first, then nothing depends on the lease, then it is seen gone.
#[test]
fn finalizers_are_released_in_their_order() {
    use FinalizerState::{Active, Released, Releasing};
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, fence) = begun(&dir);
    keep(&mut journal, put(serving())).unwrap();
    assert_eq!(states(&dir), [[Active, Active]]);
    // A workload runs: the lease cannot be given back.
    keep(&mut journal, put(deleting(serving().stage))).unwrap();
    assert_eq!(states(&dir), [[Releasing, Releasing]]);
    let early = Commit { intents: vec![destroys(2, fence)], ..Commit::default() };
    let refused = keep(&mut journal, early.clone()).unwrap_err();
    let StoreError::Ownership(error) = refused else { panic!("{refused:?}") };
    let OwnershipError::NotFinal { finalizer, state, .. } = *error else { panic!("{error:?}") };
    assert_eq!((finalizer, state), (Finalizer::DependentResources, Releasing));
    // Nor may the slot be forgotten (R147).
    let forget = Commit { records: vec![RecordWrite::Remove(slot(0))], ..Commit::default() };
    let refused = keep(&mut journal, forget.clone()).unwrap_err();
    let StoreError::Ownership(error) = refused else { panic!("{refused:?}") };
    assert!(matches!(*error, OwnershipError::StillOwned { .. }));
    assert_eq!(states(&dir), [[Releasing, Releasing]]);
    keep(&mut journal, Commit { intents: vec![destroys(2, fence)], ..put(idle()) }).unwrap();
    assert_eq!(states(&dir), [[Released, Releasing]]);
    // A provider that says yes and means no: without the absence seen, the row stays.
    keep(&mut journal, put(idle())).unwrap();
    keep(&mut journal, forget.clone()).unwrap_err();
    keep(&mut journal, put(gone())).unwrap();
    assert_eq!(states(&dir), Vec::<[FinalizerState; 2]>::new());
    keep(&mut journal, forget).unwrap();
}

/// R140: a step of another slot, attempt or provider than the one that is owned goes nowhere; nor does an older fence.
#[test]
fn each_part_of_the_identity_counts() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, fence) = begun(&dir);
    keep(&mut journal, put(idle())).unwrap();
    let other = Intent { provider: "other".parse().unwrap(), ..destroys(2, fence) };
    let refused = keep(&mut journal, Commit { intents: vec![other], ..Commit::default() });
    let StoreError::Ownership(error) = refused.unwrap_err() else { panic!() };
    assert!(error.to_string().contains("provider"), "{error}");
    let row = Reader::open(&dir).unwrap().ownership().unwrap().remove(0);
    let owner = row.tenure.controller.clone();
    let refused = |intent: &Intent| row.clone().intended(intent, &owner).unwrap_err().to_string();
    let elsewhere = intent(3, 1, 1, fence);
    assert!(refused(&Intent { slot: slot(1), ..destroys(2, fence) }).contains("slot"));
    assert!(
        refused(&Intent { attempt: elsewhere.attempt, ..destroys(2, fence) }).contains("attempt")
    );
    assert!(refused(&destroys(2, Fence::new(0))).contains("older"));
    row.intended(&destroys(2, fence), &owner).unwrap();
}

fn admitted(mut intent: Intent, nodes: u64, until: u64) -> Intent {
    let provider = intent.provider.clone();
    let capacity = Capacity { nodes: Some(nodes), ..Capacity::default() };
    let mut ledger = Ledger::new([(provider.clone(), capacity)]);
    let demand = Demand { nodes: 1, ..Demand::default() };
    let given = ledger.admit(&provider, &slot(0).group, demand, Timestamp::ZERO).unwrap().unwrap();
    intent.admission = Some(Box::new(Admission { until: Timestamp::from_millis(until), ..given }));
    intent
}

/// R92: what is taken is what the rows say, whatever the driver believed; an admission that is over admits nothing.
#[test]
fn a_reservation_beyond_the_capacity_is_refused_whole() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, fence) = begun(&dir);
    let commit = |intent| Commit {
        at: Timestamp::from_millis(100),
        intents: vec![intent],
        ..Commit::default()
    };
    let refused = keep(&mut journal, commit(admitted(intent(2, 1, 1, fence), 1, 100))).unwrap_err();
    let StoreError::NoCapacity(short) = refused else { panic!("{refused:?}") };
    let Shortfall { resource, asked, used, capacity, .. } = *short;
    assert_eq!((resource, asked, used, capacity), (Resource::Nodes, 1, 1, 1));
    let refused = keep(&mut journal, commit(admitted(intent(2, 1, 1, fence), 2, 99))).unwrap_err();
    assert!(matches!(refused, StoreError::AdmissionOver(_)), "{refused:?}");
    keep(&mut journal, commit(admitted(intent(2, 1, 1, fence), 2, 100))).unwrap();
    // A repeat for the same attempt takes nothing twice.
    keep(&mut journal, commit(admitted(intent(3, 1, 1, fence), 2, 100))).unwrap();
    assert_eq!(Reader::open(&dir).unwrap().ownership().unwrap().len(), 2);
}

/// What an older program wrote has no rows: the first driver of this version writes them from the records.
#[test]
fn records_of_an_older_journal_are_owned_from_the_first_start_on() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _) = open(&dir);
    keep(&mut journal, first_commit()).unwrap();
    keep(&mut journal, put(serving())).unwrap();
    keep(&mut journal, Commit { operations: vec![opened(2)], ..Commit::default() }).unwrap();
    assert_eq!(states(&dir).len(), 0);
    drop(journal);
    let (mut journal, _) = open(&dir);
    assert_eq!(states(&dir), [[FinalizerState::Active; 2]]);
    let forget = Commit { records: vec![RecordWrite::Remove(slot(0))], ..Commit::default() };
    let ticket = journal.submit(forget);
    let answer = journal.wait().unwrap();
    assert_eq!(answer.ticket, ticket);
    assert!(matches!(answer.result.unwrap_err(), StoreError::Ownership(_)));
}
