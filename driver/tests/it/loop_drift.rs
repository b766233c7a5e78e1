//! Laws of drift, brakes and upgrades in the real loop.

use std::sync::Arc;

use checkpoint::{
    owner::OwnerClaim,
    record::{RecordWrite, ShapeRow},
    store::{Commit, Journal, Store as _},
};
use driver::{
    Begin,
    view::{DriftView, Edit, RefusalKind, RunState, RunView},
};
use reconciler_core::{
    desired::{ClusterShape, revision},
    drift::{DriftKind, Repair},
    hold::HoldCode,
    id::RevisionDigest,
    observed::NodeRecord,
    time::Timestamp,
};

use crate::{
    stand::{Run, Stand, counts, eventually, uuid},
    world::Sight,
};

fn drift(view: &RunView, kind: DriftKind) -> Option<DriftView> {
    view.drift.iter().find(|drift| drift.kind == kind).cloned()
}

fn effects(stand: &Stand) -> usize {
    stand.world.with(|land| land.calls.len())
}

/// Waits until two more listings came in and nothing is left to do with them.
fn after_listings(stand: &Stand, run: &Run) {
    let before = stand.world.with(|land| land.listings);
    stand.world.until("more listings", |land| land.listings >= before + 3);
    run.until("quiet", |view| view.due.is_none());
}

/// R160: a second lease of one attempt is told, refuses plans of its group alone, and ends with its cause.
#[test]
fn one_identity_in_two_places_is_refused_until_it_ends() {
    let stand = Stand::new(5);
    let run = stand.up(&[("db", 1), ("web", 2)]);
    let calls = effects(&stand);
    stand.world.with(|land| {
        let lease = land.leases.values().find(|l| l.slot.to_string() == "web-0").cloned().unwrap();
        land.leases.insert("a-second-one".to_owned(), lease);
    });
    run.until("it is held", |view| !view.holds.is_empty());
    let view = run.view();
    assert_eq!(
        (view.holds[0].subject.as_str(), view.holds[0].code),
        ("web-0", HoldCode::DuplicateIdentity)
    );
    let told = drift(&view, DriftKind::DuplicateIdentity).unwrap();
    assert_eq!((told.subject.as_str(), told.repair), ("web-0", Repair::Refused));
    assert!(told.found.contains("a-second-one"), "{}", told.found);

    let refusal = run.plan(&counts(&[("web", 3)])).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Forbidden);
    assert!(refusal.message.contains("web-0: duplicate-identity"), "{}", refusal.message);
    assert_eq!(refusal.hint.as_deref(), Some("levelhead explain web-0"));
    run.plan(&counts(&[("db", 2)])).unwrap();
    assert_eq!(effects(&stand), calls, "nothing is chosen, nothing is ended");

    stand.world.with(|land| land.leases.remove("a-second-one"));
    run.until("the hold ends", |view| view.holds.is_empty() && view.drift.is_empty());
    run.edit(&counts(&[("web", 3)]));
    run.converged();
    run.stop();
}

/// R162: a provider that cannot be listed is told, in plans as well, and the run does not count as converged.
#[test]
fn nothing_is_claimed_of_a_provider_that_cannot_be_seen() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 2)]);
    assert_eq!(run.view().drift, []);
    stand.world.with(|land| land.sight = Sight::Blind);
    run.until("it is told", |view| drift(view, DriftKind::Unobserved).is_some());
    assert_eq!(run.view().state, RunState::Converging);
    let plan = run.plan(&Edit::None).unwrap();
    assert_eq!(plan.drift.len(), 1);
    assert!(plan.drift[0].line().contains("nothing can be seen"), "{}", plan.drift[0].line());
    stand.world.with(|land| land.sight = Sight::True);
    run.converged();
    run.stop();
    stand.world.lawful();
}

/// C9: a listing that claims that every workload has ended replaces nothing: the looks say otherwise.
#[test]
fn a_lying_listing_replaces_nothing() {
    let stand = Stand::new(10);
    let run = stand.up(&[("web", 10)]);
    let calls = effects(&stand);
    stand.world.with(|land| land.sight = Sight::Ended);
    after_listings(&stand, &run);
    stand.world.with(|land| land.sight = Sight::True);
    run.converged();
    assert_eq!(effects(&stand), calls);
    assert!(run.view().nodes.iter().all(|node| node.attempt == 1));
    let held = |view: &RunView| view.events.iter().any(|e| e.text.contains("held, health.mass"));
    assert!(held(&run.view()), "{:#?}", run.view().events);
    run.stop();
    stand.world.lawful();
}

/// D6: a mass of workloads that really ended, and of which only listings tell, is replaced once looks prove it.
#[test]
fn a_mass_that_looks_prove_is_replaced() {
    let stand = Stand::new(10);
    stand.world.with(|land| land.watched = false);
    let run = stand.up(&[("web", 10)]);
    for n in 0..7 {
        stand.world.exit(&format!("web-{n}"), 1);
    }
    run.until("seven are replaced", |view| {
        let again = view.nodes.iter().filter(|node| node.attempt == 2 && node.ready).count();
        again == 7 && view.holds.is_empty()
    });
    run.converged();
    run.stop();
    stand.world.lawful();
}

/// Writes the journal as a version before this one would have: other digests, another version number.
fn write_before(stand: &Stand) {
    let claim = OwnerClaim {
        run: uuid(),
        name: "local".parse().unwrap(),
        pid: 1,
        started: Timestamp::ZERO,
        host: "here".to_owned(),
        machine: String::new(),
    };
    let (mut journal, found) = Journal::open(stand.paths().dir(), &claim, Box::new(|| {})).unwrap();
    let other = RevisionDigest::of(b"as another version digests it");
    let records = found.records.iter().map(|record| {
        let mut record = NodeRecord::clone(record);
        (record.revision, record.revision_version) = (other, 0);
        RecordWrite::Put(Arc::new(record))
    });
    let row = found.shape.clone().unwrap();
    let mut shape = serde_json::to_value(row.shape.as_ref()).unwrap();
    shape["groups"]["web"]["revision"] = other.to_string().into();
    let shape: ClusterShape = serde_json::from_value(shape).unwrap();
    let commit = Commit {
        at: Timestamp::ZERO,
        records: records.collect(),
        shape: Some(ShapeRow { shape: Arc::new(shape), ..row }),
        ..Commit::default()
    };
    let ticket = journal.submit(commit);
    loop {
        match journal.poll() {
            Some(done) if done.ticket == ticket => break drop(done.result.unwrap()),
            Some(_) | None => std::thread::yield_now(),
        }
    }
}

/// C13: a driver whose digests are of another version takes the run over and touches no node; what it brought up
/// is journaled in its own form, and a spec that did change is replaced as ever.
#[test]
fn an_upgrade_alone_touches_no_node() {
    let mut stand = Stand::new(3);
    let run = stand.up(&[("web", 2)]);
    run.stop();
    let calls = effects(&stand);
    write_before(&stand);

    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 2)]));
    run.converged();
    after_listings(&stand, &run);
    assert_eq!(effects(&stand), calls, "no node is touched");
    assert!(run.plan(&Edit::None).unwrap().empty);
    eventually("the records are of this version", || {
        let records = stand.journal().recovered().unwrap().records;
        records
            .iter()
            .all(|r| r.revision_version == revision::VERSION && r.revision == r.spec.revision())
    });
    run.stop();

    write_before(&stand);
    let run = stand.drive(Begin::Driving);
    stand.policy.max_lost_per_pass = Some(2);
    let Edit::File { shape, .. } = stand.declare(&[("web", 2)]) else { unreachable!() };
    let mut json = serde_json::to_value(&shape).unwrap();
    json["groups"]["web"]["spec"]["boot"]["command"] = serde_json::json!(["serve", "--new"]);
    let shape = serde_json::from_value(json).unwrap();
    // The client's digest is that of another version; the driver makes its own.
    run.edit(&Edit::File { shape: Box::new(shape), digest: "new".to_owned() });
    run.until("both are replaced", |view| view.nodes.iter().all(|n| n.attempt == 2 && n.ready));
    run.stop();
    stand.world.lawful();
}
