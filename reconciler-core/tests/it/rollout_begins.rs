//! When an update begins and when it is over, whom it waits for meanwhile, and what a stalled one keeps away (R163, R175,
//! D10).

use reconciler_core::{
    desired::{ClusterShape, Policy, ProbeKind},
    effect::CommandKind,
    fold::{Fact, Transition, Verdict},
    hold::HoldCode,
    observed::{ClusterState, NodeRecord, Prior, ProbeAnswer, Rollout, StageName},
    reconcile::{Parked, Parking, RolloutChange, Rung, reconcile},
    redact::Redacted,
    time::Millis,
};

use crate::{
    fleet::{T0, at, group, in_stage, node_spec, pending, powered, slot, stage, state, with},
    probes::{answer, failed, probed},
    rollout::{beside, policy, rung, web},
};

const PATIENCE: Millis = Millis::from_secs(60);

fn node(shape: &ClusterShape, n: u32, name: StageName) -> NodeRecord {
    in_stage(shape, &format!("web-{n}"), stage(name))
}

/// An update from `v1` to `v2` under way.
fn known(target: &ClusterShape) -> Rollout {
    let of = |shape: &ClusterShape| shape.group(&group("web")).expect("the group").revision;
    let prior =
        Prior { revision: of(&web(1, 1, "v1", &policy(1, 0))), spec: node_spec("v1").into() };
    Rollout {
        target: of(target),
        prior: Some(prior),
        reverts: false,
        since: T0,
        done: 0,
        patience: PATIENCE,
        deadline: None,
        paused: false,
        hooked: None,
        failing: None,
    }
}

fn stalled(mut state: ClusterState, target: &ClusterShape) -> ClusterState {
    let target = target.group(&group("web")).expect("the group").revision;
    let (code, text) = (HoldCode::UpdateStalled, Redacted::new("no progress"));
    let begin = RolloutChange::Begin { target, prior: None, reverts: false, patience: PATIENCE };
    for change in [begin, RolloutChange::Fail { code, text }] {
        let fact = Fact::Rollout { group: group("web"), change };
        assert_eq!(state.fold(fact, T0), Verdict::Applied);
    }
    state
}

/// A group goes back where it wants what served before; where nothing of the update is left, there is nothing to go
/// back from, and what never was an update begins none.
#[test]
fn an_update_that_left_nothing_is_over() {
    let (old, new) = (web(3, 1, "v1", &policy(1, 0)), web(2, 1, "v2", &policy(1, 0)));
    let alone = || node(&old, 0, StageName::Dormant);
    let with_candidate = || beside(alone(), &new, 2, stage(StageName::HandedOff));
    let begins = |state: &ClusterState| {
        let plan = reconcile(state, &old, T0);
        plan.rollouts.into_iter().map(|(_, change)| change).collect::<Vec<_>>()
    };
    let updating = |record| state([record]).with_rollouts([(group("web"), known(&new))], T0);
    assert_eq!(begins(&state([alone()])), []);
    assert_eq!(begins(&state([with_candidate()])), []);
    assert_eq!(begins(&updating(alone())), [RolloutChange::End]);
    let back = begins(&updating(with_candidate()));
    assert!(matches!(back.as_slice(), [RolloutChange::Begin { reverts: true, .. }]), "{back:?}");
}

/// What comes back while its update is paused is made as it was, in its revision and in all that it is.
#[test]
fn what_comes_back_in_a_pause_is_as_it_was() {
    let (old, new) = (web(1, 1, "v1", &policy(0, 1)), web(2, 1, "v2", &policy(0, 1)));
    let gone = node(&old, 0, StageName::Destroyed);
    let paused = Rollout { paused: true, ..known(&new) };
    let state = state([gone.clone()]).with_rollouts([(group("web"), paused)], T0);
    let plan = reconcile(&state, &new, T0);
    let [(_, Transition::Restart(next))] = plan.transitions.as_slice() else { panic!("{plan:?}") };
    assert_eq!((next.revision, &next.spec), (gone.revision, &gone.spec));
    assert_ne!(next.attempt, gone.attempt);
}

/// P4: who waits for a turn to begin anew waits for those that are to serve: not for who is off, beyond the count or of
/// another group, nor for what an update that stalled keeps away.
#[test]
fn a_turn_waits_for_those_that_are_to_serve() {
    let policy = policy(0, 1);
    let (old, new) = (web(1, 9, "v1", &policy), web(2, 3, "v2", &policy));
    let anew = powered(&new, "web", |power| power.anew_slot(1).switched_slot(2, true, 3));
    let second = node(&old, 1, StageName::Dormant);
    let sent = Some(pending(CommandKind::BootstrapConvergenceObserved, 1, at(9_000)));
    let first = with(node(&new, 0, StageName::SwactorJoined), |record| record.pending = sent);
    let off = node(&new, 2, StageName::EndpointKnown);
    let beyond = node(&web(2, 9, "v2", &policy), 3, StageName::BootstrapRunning);
    let state = stalled(state([first, second, off, beyond]), &new);
    let plan = reconcile(&state, &anew, at(1));
    assert_eq!(rung(&plan, "web-1"), Rung::Turn { ready: 1, want: 1 });
}

/// Who is parked for its turn stays so while nobody has one.
#[test]
fn nobody_is_taken_out_of_turn() {
    let shape = web(1, 2, "v1", &policy(0, 1));
    let anew = powered(&shape, "web", reconciler_core::desired::Power::anew);
    let sent = Some(pending(CommandKind::CancelBootstrap, 1, at(9_000)));
    let first = |busy: bool| {
        let sent = sent.clone().filter(|_| busy);
        with(node(&shape, 0, StageName::Dormant), |record| record.pending = sent)
    };
    for busy in [true, false] {
        let state = state([first(busy), node(&shape, 1, StageName::Dormant)]);
        let mut parked = Parked::default();
        parked.park(&mut vec![(slot("web-1"), Parking::Turn)]);
        let mut slots = std::collections::BTreeSet::new();
        parked.release(&state, &anew, &mut slots);
        assert_eq!(slots.contains(&slot("web-1")), !busy);
    }
}

/// C9: where an update has stalled, a failing liveness probe that would be one sign too many waits for that hold; what
/// proves more, or was believed, ends its attempt all the same.
#[test]
fn a_sign_too_many_waits_for_the_hold_of_its_update() {
    let policy = Policy {
        update: policy(0, 1).update,
        ..probed(&[ProbeKind::Startup, ProbeKind::Liveness])
    };
    let (old, new) = (web(1, 2, "v1", &policy), web(2, 2, "v2", &policy));
    let fails = |state: &mut ClusterState, text: &str, kind| {
        for _ in 0..3 {
            let _counted = answer(state, text, kind, failed(), T0);
        }
    };
    let serves = |state: &mut ClusterState, text: &str| {
        for _ in 0..2 {
            let _passed = answer(state, text, ProbeKind::Startup, ProbeAnswer::Passed, T0);
        }
    };
    let rows = [
        (false, ProbeKind::Liveness, false, true),
        (true, ProbeKind::Liveness, false, false),
        (true, ProbeKind::Liveness, true, true),
        (true, ProbeKind::Startup, false, true),
    ];
    for (signs, kind, believed, ends) in rows {
        let name = if kind == ProbeKind::Startup {
            StageName::BootstrapRunning
        } else {
            StageName::Dormant
        };
        let mut record = node(&old, 0, name);
        record.revived.extend(believed.then_some(T0));
        let mut state = state([record, node(&old, 1, StageName::Dormant)]);
        if signs {
            // One of two is believed.
            serves(&mut state, "web-1");
            fails(&mut state, "web-1", ProbeKind::Liveness);
            let transition = Transition::GiveUp(ProbeKind::Liveness);
            let fact = Fact::Decided { slot: slot("web-1"), transition };
            assert_eq!(state.fold(fact, T0), Verdict::Applied);
        }
        if kind == ProbeKind::Liveness {
            serves(&mut state, "web-0");
        }
        fails(&mut state, "web-0", kind);
        let state = stalled(state, &new);
        let plan = reconcile(&state, &new, T0);
        let wants = (slot("web-0"), Transition::GiveUp(kind));
        assert_eq!(plan.transitions.contains(&wants), ends, "{kind:?} {signs} {believed}");
        let stands = rung(&plan, "web-0") == Rung::GroupHeld(HoldCode::UpdateStalled);
        assert_eq!(stands, !ends, "{kind:?} {signs} {believed}");
    }
}
