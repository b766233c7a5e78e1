//! Drift: every case, with its kind, severity, expectation, finding and reason, in one order (R151 to R165).

use reconciler_core::{
    desired::{ClusterShape, NodeSpec, Policy, RunNodeGroupSpec},
    drift::{Drift, DriftKind, Repair, Severity, classify, refusals},
    effect::{CommandKind, FailureClass, Listing, OwnedLease},
    fold::Fact,
    hold::{Hold, HoldCode},
    id::{Fence, Generation, Uuid},
    observed::{ClusterState, Endpoint, NodeRecord, NodeStage, Remains, StageName},
    redact::Redacted,
    time::Timestamp,
};

use crate::fleet::{
    FENCE, RUN, T0, ambiguity, at, failure, group, in_stage, lease, member, node_spec, of, owned,
    powered, provider, shape, shape_with, stage, state,
};
use crate::world::GRACE;

/// What is told of one drift, without its subject.
type Told<'a> = (DriftKind, &'a str, &'a str);

/// A state whose provider was listed in full and showed what the records have.
fn seen(records: impl IntoIterator<Item = NodeRecord>) -> ClusterState {
    let mut state = state(records);
    let leases = state.groups().flat_map(|(_, group)| group.records()).filter_map(|record| {
        let id = record.stage.lease()?.id.to_string();
        Some(owned(&record.slot.to_string(), record.attempt, &id))
    });
    let listing = Listing::Complete(leases.collect());
    list(&mut state, listing, T0);
    state
}

fn list(state: &mut ClusterState, listing: Listing, now: Timestamp) {
    let (provider, grace) = (provider(), GRACE);
    let fact = Fact::Listed { provider, listing, asked_at: now, grace, fence: FENCE };
    let _told_once = state.fold(fact, now);
}

fn one_node(stage: NodeStage) -> (ClusterShape, NodeRecord) {
    let shape = shape(&[("web", 1)]);
    let record = in_stage(&shape, "web-0", stage);
    (shape, record)
}

/// The drifts of web-0 alone.
fn of_slot(drifts: &[Drift]) -> Vec<Told<'_>> {
    let own = drifts.iter().filter(|drift| drift.subject.to_string() == "web-0");
    own.map(|drift| (drift.kind, drift.expected.as_str(), drift.found.as_str())).collect()
}

fn kinds(drifts: &[Drift]) -> Vec<DriftKind> {
    drifts.iter().map(|drift| drift.kind).collect()
}

/// R90: what is as it should be and was looked at has no drift.
#[test]
fn a_run_as_it_should_be_has_no_drift() {
    let (shape, record) = one_node(stage(StageName::Dormant));
    assert_eq!(classify(&seen([record]), &shape, Some(FENCE)), []);
}

/// R151, R163: a wanted slot without a record, and the group that lacks it.
#[test]
fn a_missing_node_is_told_with_its_group() {
    let shape = shape(&[("web", 1)]);
    let drifts = classify(&seen([]), &shape, None);
    assert_eq!(kinds(&drifts), [DriftKind::Replicas, DriftKind::Missing]);
    assert_eq!(of_slot(&drifts), [(DriftKind::Missing, "a node", "no record")]);
    assert!(drifts.iter().all(|drift| drift.repair == Repair::Driver));
}

/// R151 to R155: the stages that are no running node, each as what it is.
#[test]
fn stages_are_told_as_what_they_are() {
    let waiting = |name| one_node(stage(name));
    let failed = |class| {
        let remains = Remains::Lease { lease: lease("l-1") };
        one_node(NodeStage::Failed { failure: failure(class), remains })
    };
    let table: [((ClusterShape, NodeRecord), &[Told<'_>]); 8] = [
        (waiting(StageName::New), &[(DriftKind::Missing, "a node", "stage new, no lease")]),
        (
            waiting(StageName::LeaseRequested),
            &[(DriftKind::Missing, "a node", "stage lease-requested, no lease")],
        ),
        (
            waiting(StageName::LeaseCreated),
            &[(DriftKind::Created, "a running workload", "lease l-1 without one")],
        ),
        (
            waiting(StageName::EndpointKnown),
            &[(DriftKind::Created, "a running workload", "lease l-1 without one")],
        ),
        (waiting(StageName::BootstrapRunning), &[]),
        (waiting(StageName::Destroyed), &[(DriftKind::Missing, "a node", "nothing")]),
        (failed(FailureClass::Workload), &[(DriftKind::Exited, "a running node", "it broke")]),
        (failed(FailureClass::TimedOut), &[(DriftKind::Failed, "a running node", "it broke")]),
    ];
    for ((shape, record), want) in table {
        let drifts = classify(&seen([record]), &shape, None);
        assert_eq!(of_slot(&drifts), want);
    }
    assert_eq!(DriftKind::Failed.severity(), Severity::Error, "R154");
    assert_eq!(DriftKind::Exited.severity(), Severity::Warning, "R153");
}

/// R154: what a hold stops is left to a person, and says how to go on.
#[test]
fn a_held_failure_is_left_to_a_person() {
    let (shape, mut record) =
        one_node(NodeStage::Destroyed { at: T0, failure: Some(failure(FailureClass::Workload)) });
    let text = Redacted::new("5 failures in a row");
    record.hold = Some(Hold { code: HoldCode::CrashLoop, text, since: T0 });
    let drifts = classify(&seen([record]), &shape, None);
    let drift = drifts.iter().find(|d| d.kind == DriftKind::Missing).expect("a drift");
    assert_eq!((drift.severity, drift.repair), (Severity::Error, Repair::Person));
    assert_eq!(drift.way_out().as_deref(), Some("levelhead release web-0"));
    assert_eq!(drift.found, "nothing, after: it broke");
}

/// P6: a hold is told even where nothing else is amiss, and once where something is.
#[test]
fn a_hold_is_told_once() {
    let hold =
        || Some(Hold { code: HoldCode::CrashLoop, text: Redacted::new("5 failures"), since: T0 });
    let (shape, mut serving) = one_node(stage(StageName::Dormant));
    serving.hold = hold();
    let drifts = classify(&seen([serving]), &shape, None);
    let want = (DriftKind::Failed, "a node that may move", "hold restart.crash-loop");
    assert_eq!(of_slot(&drifts), [want]);
    assert_eq!(drifts[0].repair, Repair::Person);
    let (shape, mut created) = one_node(stage(StageName::EndpointKnown));
    created.hold = hold();
    let drifts = classify(&seen([created]), &shape, None);
    assert_eq!(kinds(&drifts), [DriftKind::Created]);
}

/// R155: a listing that lacks a node is told, and the driver looks for proof.
#[test]
fn a_reported_missing_node_is_told() {
    let (shape, record) = one_node(stage(StageName::Dormant));
    let mut state = seen([record]);
    list(&mut state, Listing::Complete(Vec::new()), at(GRACE.get()));
    let drifts = classify(&state, &shape, None);
    let want = (DriftKind::ReportedMissing, "lease l-1", "a complete listing without it");
    assert_eq!(of_slot(&drifts), [want]);
}

/// A group of one node of `spec`.
fn wanted(spec: NodeSpec) -> ClusterShape {
    let group = RunNodeGroupSpec::new(group("web"), 1, spec, Policy::default());
    let name = "demo".parse().expect("a run name");
    ClusterShape::new(name, RUN, Generation::new(2), [group]).expect("a shape")
}

/// R156, R157, R163: what of the spec differs, with both sides; ports as the difference of the sets.
#[test]
fn another_revision_says_what_differs() {
    let mut present = node_spec("v1");
    present.boot.ports = vec!["admin".to_owned(), "http".to_owned()];
    present.boot.env.insert("PASSPHRASE".to_owned(), "hunter2".to_owned());
    let born = wanted(present.clone());
    let mut next = present;
    next.shape.image = Some("v2".to_owned());
    next.boot.ports = vec!["http".to_owned(), "metrics".to_owned()];
    next.boot.env.insert("PASSPHRASE".to_owned(), "hunter3".to_owned());
    next.shape.gpus = Some(1);
    let ports = ["admin", "http", "metrics"].map(|name| (name.to_owned(), 80));
    let endpoint = Endpoint { host: "h".into(), ports: std::sync::Arc::new(ports.into()) };
    let record = in_stage(
        &born,
        "web-0",
        NodeStage::Dormant { lease: lease("l-1"), endpoint, member: member(), completed: None },
    );
    let drifts = classify(&seen([record]), &wanted(next), None);
    let want = [
        (DriftKind::Image, "v2", "v1"),
        (DriftKind::Ports, "metrics", "admin"),
        (DriftKind::Revision, "the declared spec", "other gpus, env"),
    ];
    assert_eq!(of_slot(&drifts), want);
    let text = format!("{drifts:?}");
    assert!(!text.contains("hunter"), "no value of a variable is shown (R91): {text}");
}

/// R157: a declared port that the provider did not give.
#[test]
fn a_port_that_was_not_given_is_told() {
    let mut spec = node_spec("v1");
    spec.boot.ports = vec!["http".to_owned()];
    let shape = wanted(spec);
    let record = in_stage(&shape, "web-0", stage(StageName::Dormant));
    let drifts = classify(&seen([record]), &shape, None);
    assert_eq!(of_slot(&drifts), [(DriftKind::Ports, "http", "nothing more")]);
}

/// R163: how a node is treated is no difference of what it is.
#[test]
fn a_policy_of_before_is_only_worth_knowing() {
    let (_, record) = one_node(stage(StageName::Dormant));
    let other = Policy { max_lost_per_pass: Some(7), ..Policy::default() };
    let drifts = classify(&seen([record]), &shape_with(2, &[("web", 1, "v1")], &other), None);
    assert_eq!(kinds(&drifts), [DriftKind::Policy]);
    assert_eq!(drifts[0].severity, Severity::Info);
}

/// R24, R163: a node beyond the count, and one whose effect has no answer.
#[test]
fn what_is_unwanted_or_open_is_told() {
    let (shape, mut record) = one_node(stage(StageName::Dormant));
    record.ambiguity = Some(ambiguity(CommandKind::StartBootstrap, T0));
    let drifts = classify(&seen([record]), &shape.emptied(), None);
    let want = [
        (DriftKind::Unwanted, "no node", "a record in stage dormant"),
        (DriftKind::OutcomeUnknown, "a known outcome", "StartBootstrap without an answer"),
    ];
    assert_eq!(of_slot(&drifts), want);
}

/// R162: what could not be looked at is told, and nothing is claimed; a part is a part.
#[test]
fn a_provider_that_was_not_looked_at_is_told() {
    let (shape, record) = one_node(stage(StageName::Dormant));
    let never = classify(&state([record.clone()]), &shape, None);
    assert_eq!(kinds(&never), [DriftKind::Unobserved]);
    let converged =
        |state: &ClusterState| reconciler_core::reconcile::standing(state, &shape).converged;
    let mut state = seen([record]);
    assert!(converged(&state));
    list(&mut state, Listing::Unknown(Redacted::new("status 503")), at(1));
    let blind = classify(&state, &shape, None);
    assert_eq!(kinds(&blind), [DriftKind::Unobserved]);
    assert_eq!((blind[0].found.as_str(), blind[0].repair), ("status 503", Repair::Person));
    assert!(!converged(&state), "no claim about what cannot be seen");
    list(&mut state, Listing::Partial(Vec::new(), Redacted::new("page 2 of 3")), at(2));
    assert_eq!(kinds(&classify(&state, &shape, None)), [DriftKind::PartlyObserved]);
    assert!(converged(&state));
}

/// The web group of one node and one more lease.
fn with_orphan(orphan: impl FnOnce(&NodeRecord) -> OwnedLease) -> (ClusterShape, ClusterState) {
    let (shape, record) = one_node(stage(StageName::Dormant));
    let mut state = seen([record]);
    let record = of(&state, "web-0");
    let leases = vec![owned("web-0", record.attempt, "l-1"), orphan(&record)];
    list(&mut state, Listing::Complete(leases), at(1));
    (shape, state)
}

/// R152, R163: a resource that no record accounts for is flagged, counted and left alone.
#[test]
fn an_unmanaged_resource_is_only_flagged() {
    let other = |record: &NodeRecord| OwnedLease {
        attempt: Uuid::from_bytes([9; 16]),
        ..owned("web-0", record.attempt, "l-9")
    };
    let (shape, state) = with_orphan(other);
    let drifts = classify(&state, &shape, Some(FENCE));
    assert_eq!(kinds(&drifts), [DriftKind::Replicas, DriftKind::Unmanaged]);
    assert_eq!(drifts[1].repair, Repair::Person);
    assert_eq!(refusals(&state, Some(FENCE)), []);
}

/// R160, R161, R164: what must not be guessed at refuses, and says what leads on.
#[test]
fn what_must_not_be_guessed_at_refuses() {
    let twin = |record: &NodeRecord| owned("web-0", record.attempt, "l-2");
    let (shape, state) = with_orphan(twin);
    let mut drifts = classify(&state, &shape, Some(FENCE));
    drifts.retain(|drift| drift.repair == Repair::Refused);
    assert_eq!(kinds(&drifts), [DriftKind::DuplicateIdentity]);
    assert!(drifts[0].found.contains("l-1 and l-2"), "{}", drifts[0].found);
    assert_eq!(drifts[0].way_out().as_deref(), Some("levelhead explain web-0"));
    let newer = |record: &NodeRecord| OwnedLease {
        attempt: Uuid::from_bytes([9; 16]),
        fence: Fence::new(FENCE.get() + 1),
        ..owned("web-0", record.attempt, "l-9")
    };
    let (_, state) = with_orphan(newer);
    let (at_group, fence) = refusals(&state, Some(FENCE)).remove(0);
    assert_eq!((at_group, fence.kind), (group("web"), DriftKind::Fence));
    assert_eq!(fence.way_out().as_deref(), Some("levelhead status"), "no hold stands behind it");
    assert_eq!(fence.detail(), "desired=fence 3 at most;observed=fake holds l-9, fence 4");
    for (code, kind) in [
        (HoldCode::Unrecognised, DriftKind::UnknownState),
        (HoldCode::NewerFence, DriftKind::Fence),
        (HoldCode::DuplicateIdentity, DriftKind::DuplicateIdentity),
    ] {
        let (shape, mut record) = one_node(stage(StageName::Failed));
        record.hold = Some(Hold { code, text: Redacted::new("held"), since: T0 });
        let state = crate::fleet::state([record]);
        let drifts = classify(&state, &shape, None);
        assert_eq!(of_slot(&drifts).len(), 1, "nothing else that it says is relied on");
        assert_eq!(drifts.last().map(|drift| drift.kind), Some(kind));
        let way_out = drifts.last().and_then(Drift::way_out).expect("a command");
        assert!(["levelhead release web-0", "levelhead explain web-0"].contains(&way_out.as_str()));
        assert_eq!(refusals(&state, None).len(), 1);
    }
}

/// R160: two leases of one attempt that no record knows are one identity in two places as well; one that is listed
/// twice is one.
#[test]
fn orphans_may_be_twins_of_each_other() {
    let shape = shape(&[("web", 1)]);
    let of = |id: &str| OwnedLease {
        attempt: Uuid::from_bytes([9; 16]),
        ..owned("web-0", in_stage(&shape, "web-0", NodeStage::New).attempt, id)
    };
    for (leases, want) in [
        (vec![of("a"), of("a")], vec![DriftKind::Unmanaged]),
        (vec![of("a"), of("b")], vec![DriftKind::DuplicateIdentity; 2]),
    ] {
        let mut state = state([]);
        list(&mut state, Listing::Complete(leases), at(1));
        let drifts = classify(&state, &shape, Some(FENCE));
        let found = drifts.iter().map(|drift| drift.kind);
        let found: Vec<_> = found.filter(|kind| want.contains(kind)).collect();
        assert_eq!(found, want);
    }
}

/// R165: whatever order the facts came in, the drifts stand in one, each once and each with a reason.
#[test]
fn drifts_stand_in_a_stable_order() {
    let shape = shape(&[("db", 2), ("web", 12)]);
    let record = |text: &str, name| in_stage(&shape, text, stage(name));
    let mut records = vec![
        record("web-10", StageName::Failed),
        record("web-2", StageName::New),
        record("db-0", StageName::EndpointKnown),
    ];
    let straight = classify(&state(records.clone()), &shape, None);
    records.reverse();
    assert_eq!(classify(&state(records), &shape, None), straight);
    assert!(straight.is_sorted_by(|a, b| a.subject <= b.subject));
    let slots: Vec<String> = straight.iter().map(|drift| drift.subject.to_string()).collect();
    let place = |slot: &str| slots.iter().position(|s| s == slot);
    assert!(place("web-2") < place("web-10"), "slots are ordered as numbers");
    for drift in &straight {
        assert!(!drift.reason.is_empty() && !drift.expected.is_empty() && !drift.found.is_empty());
        assert!(drift.to_string().contains(drift.kind.as_str()));
    }
}

/// Every kind has a text of its own, and what takes a person is never as light as a remark.
#[test]
fn every_kind_has_its_own_text() {
    let mut texts: Vec<&str> = DriftKind::ALL.iter().map(|kind| kind.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), DriftKind::ALL.len());
    assert!(DriftKind::ALL.is_sorted());
    for severity in [Severity::Info, Severity::Warning, Severity::Error, Severity::Blocker] {
        let json = serde_json::to_string(&severity).expect("a severity is written");
        assert_eq!(json, format!("\"{}\"", severity.as_str()));
    }
    for kind in DriftKind::ALL {
        assert!(kind.repair() == Repair::Driver || kind.severity() > Severity::Info, "{kind:?}");
        let json = serde_json::to_string(&kind).expect("a kind is written");
        assert_eq!(json, format!("\"{}\"", kind.as_str()), "one text everywhere");
    }
}

/// R153, D14: what rests because it is off has no drift, with a lease or without; what runs all the same has one.
#[test]
fn what_rests_as_asked_has_no_drift() {
    let shape = shape(&[("web", 2)]);
    let off = powered(&shape, "web", |power| power.switched(true));
    let rests = [StageName::EndpointKnown, StageName::New];
    let rests = ["web-0", "web-1"].iter().zip(rests);
    let rests = seen(rests.map(|(slot, name)| in_stage(&off, slot, stage(name))));
    assert_eq!(kinds(&classify(&rests, &off, Some(FENCE))), []);
    let runs = seen(["web-0", "web-1"].map(|s| in_stage(&off, s, stage(StageName::Dormant))));
    let drifts = classify(&runs, &off, Some(FENCE));
    assert_eq!(of_slot(&drifts), [(DriftKind::Policy, "no workload", "a running workload")]);
    let anew = powered(&shape, "web", reconciler_core::desired::Power::anew);
    let drifts = classify(&runs, &anew, Some(FENCE));
    let asked = (DriftKind::Policy, "a workload begun anew", "a running workload");
    assert_eq!(of_slot(&drifts), [asked]);
}
