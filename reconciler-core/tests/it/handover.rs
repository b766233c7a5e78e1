//! What was handed over to be taken back: what is looked at first, and what is left to a person (R129, R138, R145).

use reconciler_core::{
    desired::{HookPoint, Policy},
    effect::CommandKind,
    fold::Fact,
    hold::{Hold, HoldCode},
    id::AttemptOrdinal,
    observed::{
        Backoff, ClusterState, Hooked, NoWayBack, NodeRecord, Prior, Rollout, Second, StageName,
    },
    reconcile::RolloutChange,
    redact::Redacted,
    saga::{LeftToPerson, doubtful, left_to_person},
    time::Millis,
};

use crate::fleet::{T0, ambiguity, at, group, in_stage, node_spec, shape, slot, stage, state};
use crate::rollout::web;

fn one(change: impl FnOnce(&mut NodeRecord)) -> ClusterState {
    let mut record = in_stage(&shape(&[("web", 1)]), "web-0", stage(StageName::Dormant));
    change(&mut record);
    state([record])
}

fn left(state: &ClusterState) -> Option<(HoldCode, String)> {
    let seen = state.group(&group("web")).map(AsRef::as_ref);
    let left = left_to_person(seen, state.rollout(&group("web")));
    left.map(|LeftToPerson { code, text }| (code, text))
}

fn begin() -> RolloutChange {
    let of = |image: &str| {
        let shape = web(1, 1, image, &Policy::default());
        shape.group(&group("web")).expect("a group").revision
    };
    let prior = Prior { revision: of("v1"), spec: node_spec("v1").into() };
    let patience = Millis::from_secs(60);
    RolloutChange::Begin {
        target: of("v2"),
        prior: Some(Box::new(prior)),
        reverts: false,
        patience,
    }
}

fn fold(state: &mut ClusterState, change: RolloutChange) {
    let _verdict = state.fold(Fact::Rollout { group: group("web"), change }, T0);
}

/// R145: of the holds of a slot those stop a driver that say that it is not known whose it is or what became of it.
#[test]
fn a_slot_in_doubt_is_left_to_a_person() {
    use HoldCode as H;
    let doubts =
        [H::Unrecognised, H::NewerFence, H::DuplicateIdentity, H::ExitUnknown, H::HookUnknown];
    for code in HoldCode::ALL {
        let text = Redacted::new("a reason");
        let held = one(|record| record.hold = Some(Hold { code, text, since: T0 }));
        let want = doubts
            .contains(&code)
            .then(|| (HoldCode::HandedOver, format!("web-0 is held: {}", code.as_str())));
        assert_eq!(left(&held), want, "{code:?}");
    }
    assert_eq!(left(&ClusterState::default()), None, "of nothing nothing is in doubt");
}

/// R145: the hold of the handover itself stands in nobody's way, another one of the group does.
#[test]
fn a_group_that_is_held_for_something_else_is_left_to_a_person() {
    for (code, stops) in [(HoldCode::HandedOver, false), (HoldCode::UpdateStalled, true)] {
        let mut state = one(|_| {});
        let text = Redacted::new("it came to nothing");
        fold(&mut state, begin());
        fold(&mut state, RolloutChange::Fail { code, text });
        let want = stops.then(|| (code, "it came to nothing".to_owned()));
        assert_eq!(left(&state), want, "{code:?}");
    }
}

/// R138: what a hook did is not taken back by a driver alone.
#[test]
fn a_completed_hook_is_left_to_a_person() {
    let mut state = one(|_| {});
    fold(&mut state, begin());
    assert_eq!(left(&state), None);
    let hooked = Hooked { slot: slot("web-0"), point: HookPoint::PostStart };
    let known = state.rollout(&group("web")).cloned().expect("an update");
    let rollout = Rollout { hooked: Some(hooked), ..known };
    let state = state.with_rollouts([(group("web"), rollout)], T0);
    let text = "the post-start hook of web-0 completed, and nothing takes back what it did";
    assert_eq!(left(&state), Some((HoldCode::IrreversibleHook, text.to_owned())));
}

/// R129: before anything is taken back, every attempt is looked at of which it is in doubt what is there.
#[test]
fn what_is_in_doubt_is_looked_at_first() {
    let looked = |state: &ClusterState| {
        let seen = state.group(&group("web")).map(AsRef::as_ref);
        doubtful(seen).map(|one| one.attempt.ordinal.get()).collect::<Vec<_>>()
    };
    let text = Redacted::new("a reason");
    let hold = Hold { code: HoldCode::CrashLoop, text, since: T0 };
    assert_eq!(looked(&one(|_| {})), [0; 0]);
    assert_eq!(looked(&ClusterState::default()), [0; 0]);
    let open = ambiguity(CommandKind::StartBootstrap, at(5));
    assert_eq!(looked(&one(|record| record.ambiguity = Some(open.clone()))), [1]);
    assert_eq!(looked(&one(|record| record.hold = Some(hold.clone()))), [1]);
    assert_eq!(looked(&one(|record| record.missing_since = Some(T0))), [1]);
    assert_eq!(looked(&one(|record| record.suspect_since = Some(T0))), [1]);
    let beside = |record: &mut NodeRecord| {
        let shape = web(2, 1, "v2", &Policy::default());
        let spec = shape.group(&group("web")).expect("a group").clone();
        let ordinal = AttemptOrdinal::new(2);
        let spec = shape.stamp(&spec, record.slot.clone(), record.born, ordinal);
        let mut second = NodeRecord::fresh(spec, Backoff::default(), T0);
        second.ambiguity = Some(open.clone());
        record.second = Some(Box::new(Second::new(second)));
    };
    assert_eq!(looked(&one(beside)), [2], "the one beside is looked at as well");
}

/// D10: an update that begins under an operation that goes back is itself the way back: it is not reverted. Another
/// one is, and no other change is touched by how its operation goes.
#[test]
fn an_update_on_the_way_back_is_not_reverted() {
    let way_back = |change: RolloutChange| {
        let mut state = one(|_| {});
        fold(&mut state, change);
        let rollout = state.rollout(&group("web")).expect("an update").clone();
        rollout.way_back(rollout.target).map(|prior| prior.revision)
    };
    assert_eq!(way_back(begin().under(true)), Err(NoWayBack::GoesBack));
    assert!(way_back(begin().under(false)).is_ok());
    let RolloutChange::Begin { target, prior, patience, .. } = begin() else { return };
    let back = RolloutChange::Begin { target, prior, patience, reverts: true };
    assert_eq!(way_back(back.under(false)), Err(NoWayBack::GoesBack), "it was one already");
    assert_eq!(RolloutChange::End.under(true), RolloutChange::End);
}
