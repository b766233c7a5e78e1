//! Revision digests of another version: made anew from the stored spec, so that an upgrade replaces nothing (C13).

use reconciler_core::{
    desired::{BootSpec, ClusterShape, NodeSpec, SecretRef, SecretRefError, revision},
    fold::Transition,
    id::RevisionDigest,
    observed::{ClusterState, DeleteReason, NodeRecord, StageName},
    reconcile::{ReconcilePlan, reconcile},
};

use crate::fleet::{T0, group, in_stage, of, shape, shape_with, stage, state};

/// A ready node as a version before this one wrote it: with its digest, and another version number.
fn written_before(image: &str) -> serde_json::Value {
    let born = shape_with(1, &[("web", 1, image)], &reconciler_core::desired::Policy::default());
    let record = in_stage(&born, "web-0", stage(StageName::Dormant));
    let mut json = serde_json::to_value(&record).expect("a record is written");
    json["revision"] = RevisionDigest::of(b"as another version digests it").to_string().into();
    json["revision_version"] = 0.into();
    json
}

fn taken_back(json: serde_json::Value) -> ClusterState {
    let record: NodeRecord = serde_json::from_value(json).expect("a record is read");
    ClusterState::restore([record], [], T0)
}

/// The shape of one v1 node as a version before this one wrote it.
fn shape_before() -> ClusterShape {
    let mut json = serde_json::to_value(shape(&[("web", 1)])).expect("a shape is written");
    json["groups"]["web"]["revision"] = RevisionDigest::of(b"another version").to_string().into();
    serde_json::from_value(json).expect("a shape is read")
}

fn replaces(plan: &ReconcilePlan) -> bool {
    let begins = Transition::BeginDelete(DeleteReason::Replaced);
    plan.transitions.iter().any(|(_, transition)| *transition == begins)
}

/// C13: a record of another version whose spec is as wanted is not touched, and is kept in the new form once.
#[test]
fn an_upgrade_alone_replaces_nothing() {
    let mut state = taken_back(written_before("v1"));
    let plan = reconcile(&state, &shape_before().redigested(), T0);
    assert!(plan.is_empty() && plan.reasons.is_empty(), "{plan:?}");
    let record = of(&state, "web-0");
    assert_eq!(record.revision_version, revision::VERSION);
    assert_eq!(record.revision, record.spec.revision());
    assert_eq!(state.group(&group("web")).map(|g| g.at_revision(record.revision)), Some(1));
    assert_eq!(state.take_migrated().len(), 1, "it is journaled in its new form");
    assert_eq!(state.take_migrated().len(), 0, "once");
}

/// C13: a record of another version whose spec did change is replaced.
#[test]
fn a_changed_spec_is_replaced_across_versions_too() {
    let state = taken_back(written_before("v0"));
    assert!(replaces(&reconcile(&state, &shape_before().redigested(), T0)));
}

/// C13: without the way over, the same upgrade would replace: the test above tells something.
#[test]
fn a_digest_of_another_version_is_never_compared() {
    let state = taken_back(written_before("v1"));
    assert!(replaces(&reconcile(&state, &shape_before(), T0)));
}

/// A record that was written before versions were is of the first one; one of this version is left as it is.
#[test]
fn a_record_without_a_version_is_of_the_first() {
    let record = in_stage(&shape(&[("web", 1)]), "web-0", stage(StageName::Dormant));
    let json = serde_json::to_value(&record).expect("a record is written");
    let said = json.get("revision_version").is_some();
    assert_eq!(said, revision::VERSION != 1, "the first goes without saying");
    let read: NodeRecord = serde_json::from_value(json).expect("a record is read");
    assert_eq!(read.revision_version, 1);
    let mut later = record.clone();
    later.revision_version = 7;
    let json = serde_json::to_string(&later).expect("a record is written");
    let read: NodeRecord = serde_json::from_str(&json).expect("a record is read");
    assert_eq!(read.revision_version, 7, "any other is said");
    let mut state = state([record.clone()]);
    assert_eq!((state.take_migrated().len(), of(&state, "web-0").revision), (0, record.revision));
}

/// C13: each record gets the digest of its own spec, whatever stands beside it.
#[test]
fn each_record_gets_the_digest_of_its_own_spec() {
    let records = ["v1", "v2", "v2", "v1"].into_iter().enumerate().map(|(n, image)| {
        let mut json = written_before(image);
        json["slot"] = format!("web-{n}").into();
        serde_json::from_value::<NodeRecord>(json).expect("a record is read")
    });
    let state = ClusterState::restore(records, [], T0);
    for record in state.groups().flat_map(|(_, group)| group.records()) {
        assert_eq!(record.revision, record.spec.revision(), "{}", record.slot);
    }
}

/// C13: a digest of another version is no change of content, so the journal takes the shape under its generation.
#[test]
fn a_digest_is_no_content() {
    let (before, present) = (shape_before(), shape(&[("web", 1)]));
    assert_ne!(before, present);
    assert!(before.same_content(&present));
    assert_eq!(before.may_become(&before.redigested()), Ok(()));
    let others = [shape(&[("web", 2)]), shape(&[("db", 1)]), shape(&[("db", 1), ("web", 1)])];
    assert!(others.iter().all(|other| !before.same_content(other)));
}

/// A shape of this version keeps what it shares.
#[test]
fn a_shape_of_this_version_is_the_same() {
    let present = shape(&[("db", 2), ("web", 1)]);
    let again = present.redigested();
    assert_eq!(again, present);
    let shared = |s: &ClusterShape| s.group(&group("web")).map(std::sync::Arc::as_ptr);
    assert_eq!(shared(&again), shared(&present));
}

fn with_secret(reference: Option<&str>) -> NodeSpec {
    let spec = shape(&[("web", 1)]).group(&group("web")).map(|web| (*web.spec).clone());
    let spec = spec.expect("the group is declared");
    let secret = reference.map(|text| ("API_TOKEN".into(), text.parse().expect("a reference")));
    NodeSpec { boot: BootSpec { secret_env: secret.into_iter().collect(), ..spec.boot }, ..spec }
}

/// C13: secrets changed nothing of what a spec without them is, in its digest and as it is stored.
#[test]
fn a_spec_without_secrets_is_as_it_was_before_there_were_any() {
    let plain = with_secret(None);
    assert!(!plain.canon().write().contains("secret"));
    let stored = serde_json::to_value(&plain).expect("a spec is written");
    assert!(stored["boot"].get("secret_env").is_none());
    assert_eq!(serde_json::from_value::<NodeSpec>(stored).ok(), Some(plain));
}

/// P8: another reference is another revision; what is stored and hashed is the reference.
#[test]
fn a_reference_is_part_of_what_a_node_is() {
    let [none, env, file] = [None, Some("env:API_TOKEN"), Some("file:keys/api")].map(with_secret);
    assert!(none.revision() != env.revision() && env.revision() != file.revision());
    assert!(file.canon().write().contains(r#""secret-env":{"API_TOKEN":"file:keys/api"}"#));
    assert!(!file.canon().redacted().write().contains("keys/api"), "shown without the place");
    let stored = serde_json::to_string(&env).expect("a spec is written");
    assert_eq!(serde_json::from_str::<NodeSpec>(&stored).ok(), Some(env));
}

/// What is no reference may be the secret itself, and is not repeated.
#[test]
fn a_text_that_is_no_reference_is_refused_without_being_quoted() {
    let rows = [
        ("hunter2-hunter2", SecretRefError::NoScheme),
        ("env:", SecretRefError::BadName),
        ("env:2FA", SecretRefError::BadName),
        ("env:A B", SecretRefError::BadName),
        ("file:", SecretRefError::BadPath),
        ("file:a\nb", SecretRefError::BadPath),
    ];
    for (text, why) in rows {
        assert_eq!(text.parse::<SecretRef>(), Err(why), "{text}");
        assert!(!why.to_string().contains("hunter2"));
    }
    for text in ["env:_A1", "file:/run/secrets/db", "file:a b"] {
        assert_eq!(text.parse::<SecretRef>().map(|r| r.to_string()).as_deref(), Ok(text));
    }
}
