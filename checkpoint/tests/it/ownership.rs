//! What attempts own: written before the first effect, given back in order, and forgotten only when its absence was seen.

use std::sync::Arc;

use checkpoint::{
    care::{finding::Integrity, verify},
    reader::Reader,
    record::RecordWrite,
    step::StepWrite,
    store::{Commit, Journal, Shortfall, Store, StoreError},
    unreadable::RowKind,
};
use reconciler_core::{
    checkpoint::{RecoveryLane, StepMark},
    effect::{CommandKind, Intent, NodeManagerCommand, idempotency_key},
    id::{Fence, OperationId, StepId},
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
    let rows = Reader::open(dir).unwrap().ownership().unwrap().rows;
    rows.iter().map(|row| Finalizer::ALL.map(|one| row.tenure.finalizers.of(one))).collect()
}

/// R96, R140: the row is there before the effect, bound to operation, controller, fence, slot, attempt and provider.
#[test]
fn an_attempt_is_owned_before_its_lease_is_asked_for() {
    let home = home();
    let dir = home.path().join("run");
    let (_journal, fence) = begun(&dir);
    let rows = Reader::open(&dir).unwrap().ownership().unwrap().rows;
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
    let row = Reader::open(&dir).unwrap().ownership().unwrap().rows.remove(0);
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
    assert_eq!(Reader::open(&dir).unwrap().ownership().unwrap().rows.len(), 2);
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

/// P4, C17: a row that nobody can read hides no other, is named, and is made anew from its record by the next driver.
#[test]
fn a_row_that_cannot_be_read_is_named_and_made_anew() {
    let home = home();
    let dir = home.path().join("run");
    for spoil in [
        "UPDATE ownership SET sum = sum + 1 WHERE slot = 'web-0'",
        "UPDATE ownership SET dependents = 'lost' WHERE slot = 'web-0'",
        "UPDATE ownership SET slot = 'no slot' WHERE slot = 'web-0'",
        "UPDATE ownership SET attempt = x'00' WHERE slot = 'web-0'",
    ] {
        if dir.exists() {
            std::fs::remove_dir_all(&dir).unwrap();
        }
        let (mut journal, fence) = begun(&dir);
        keep(&mut journal, put(serving())).unwrap();
        keep(&mut journal, creates(2, 1, fence)).unwrap();
        drop(journal);
        let db = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
        assert_eq!(db.execute(spoil, []).unwrap(), 1, "{spoil}");
        drop(db);
        let owned = Reader::open(&dir).unwrap().ownership().unwrap();
        let [row] = owned.rows.as_slice() else { panic!("{spoil}: {owned:?}") };
        assert_eq!(row.identity.slot, slot(1), "{spoil}");
        let [bad] = owned.unreadable.as_slice() else { panic!("{spoil}: {owned:?}") };
        let named = if spoil.contains("no slot") { "no slot" } else { "web-0" };
        assert_eq!((bad.kind, bad.key.as_str()), (RowKind::Ownership, named), "{spoil}");
        assert_eq!(verify::journal(&dir).unwrap().integrity, Integrity::Degraded, "{spoil}");
        let (mut journal, recovered) = open(&dir);
        assert_eq!(recovered.unreadable.as_slice(), std::slice::from_ref(bad), "{spoil}");
        let owned = Reader::open(&dir).unwrap().ownership().unwrap();
        assert!(owned.unreadable.is_empty(), "{spoil}: {owned:?}");
        assert_eq!(owned.rows[0].identity.slot, slot(0), "{spoil}");
        assert_eq!(owned.rows[0].tenure.fence, journal.fence(), "{spoil}");
        // What is owned is not forgotten before its absence was seen, as ever (R147).
        let forget = Commit { records: vec![RecordWrite::Remove(slot(0))], ..Commit::default() };
        keep(&mut journal, forget).unwrap_err();
        drop(journal);
        assert_eq!(verify::journal(&dir).unwrap().integrity, Integrity::Healthy, "{spoil}");
    }
}

/// Where the record cannot be read either, there is nothing to make a row from: it stays, as the slot stays held.
#[test]
fn a_row_without_a_readable_record_stays() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, _fence) = begun(&dir);
    keep(&mut journal, put(serving())).unwrap();
    drop(journal);
    let db = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
    db.execute_batch("UPDATE ownership SET sum = sum + 1; UPDATE record SET record = x'7b7d'")
        .unwrap();
    drop(db);
    drop(open(&dir));
    let owned = Reader::open(&dir).unwrap().ownership().unwrap();
    assert_eq!((owned.rows.len(), owned.unreadable.len()), (0, 1));
}

/// R118, R125, R146: while a lease is given back its operation stands at the finalizer; a try that failed and one that
/// was seen done have their names, and the lanes say what a restart does with each.
#[test]
fn giving_a_lease_back_is_the_finalizer_of_its_operation() {
    let home = home();
    let dir = home.path().join("run");
    let (mut journal, fence) = begun(&dir);
    let settled = |step, mark| StepWrite {
        step: StepId::new(step),
        mark,
        failure: None,
        result: "said".into(),
        finished_at: Some(Timestamp::from_millis(9)),
    };
    let made = Commit { steps: vec![settled(1, StepMark::Verified)], ..put(idle()) };
    keep(&mut journal, made).unwrap();
    let stands = || {
        let row = Reader::open(&dir).unwrap().operation(OperationId::new(1)).unwrap().unwrap().row;
        let checkpoint = row.checkpoint.unwrap();
        (checkpoint.to_string(), checkpoint.row().lane)
    };
    assert_eq!(stands(), ("web-0:verified".to_owned(), RecoveryLane::Complete));
    let gives_back = |step| Commit { intents: vec![destroys(step, fence)], ..Commit::default() };
    keep(&mut journal, gives_back(2)).unwrap();
    assert_eq!(stands(), ("finalizer:started".to_owned(), RecoveryLane::Reobserve));
    let fails = vec![settled(2, StepMark::CancelledNoEffect)];
    keep(&mut journal, Commit { steps: fails, ..Commit::default() }).unwrap();
    assert_eq!(stands(), ("finalizer:failed".to_owned(), RecoveryLane::Reobserve));
    keep(&mut journal, gives_back(3)).unwrap();
    // A lease of another slot that is asked for meanwhile does not hide it.
    keep(&mut journal, creates(4, 1, fence)).unwrap();
    assert_eq!(stands(), ("finalizer:started".to_owned(), RecoveryLane::Reobserve));
    // As after a crash between the effect and its row: the absence is looked for, and the row goes with it.
    drop(journal);
    let (mut journal, recovered) = open(&dir);
    assert_eq!(stands().0, "finalizer:started");
    assert_eq!(recovered.open_operations[0].steps.len(), 4);
    let doubt = StepWrite { finished_at: None, ..settled(3, StepMark::AmbiguousAfterResume) };
    keep(&mut journal, Commit { steps: vec![doubt], ..Commit::default() }).unwrap();
    assert_eq!(stands(), ("web-0:ambiguous-after-resume".to_owned(), RecoveryLane::SafeHold));
    let seen = vec![settled(3, StepMark::Verified), settled(4, StepMark::Verified)];
    keep(&mut journal, Commit { steps: seen, ..put(gone()) }).unwrap();
    assert_eq!(states(&dir).len(), 1, "only the other slot owns something");
    let (text, lane) = stands();
    assert_eq!((text.as_str(), lane), ("web-1:verified", RecoveryLane::Complete));
}
