//! Whose turn it is in an update: nobody else is asked for it (R170, D10, SC3).

use std::collections::BTreeSet;

use reconciler_core::{
    desired::{ClusterShape, Policy, UpdateMode},
    hold::{Hold, HoldCode},
    observed::{ClusterState, NodeRecord, Rollout, StageName},
    reconcile::reconcile_some,
    redact::Redacted,
    time::Millis,
};

use crate::{
    fleet::{T0, group, in_stage, slot, stage, state},
    rollout::{policy, web, with},
};

/// Three nodes of `v1`, which stand as these stages say.
fn nodes(policy: &Policy, stages: [StageName; 3]) -> Vec<NodeRecord> {
    let shape = web(1, 3, "v1", policy);
    let nodes = (0..).zip(stages);
    nodes.map(|(n, name)| in_stage(&shape, &format!("web-{n}"), stage(name))).collect()
}

fn paused(state: ClusterState, shape: &ClusterShape) -> ClusterState {
    let target = shape.group(&group("web")).expect("the group").revision;
    let rollout = Rollout {
        target,
        prior: None,
        reverts: false,
        since: T0,
        done: 0,
        patience: Millis::from_secs(60),
        deadline: None,
        paused: true,
        hooked: None,
        failing: None,
    };
    state.with_rollouts([(group("web"), rollout)], T0)
}

/// Who is told of, where `web-2` alone is asked.
fn told(state: &ClusterState, shape: &ClusterShape) -> Vec<String> {
    let plan = reconcile_some(state, shape, T0, &BTreeSet::from([slot("web-2")]));
    plan.reasons.iter().map(|(slot, _)| slot.to_string()).collect()
}

/// While an update moves nothing, by a pause or a hold of its group, nobody has a turn.
#[test]
fn nobody_has_a_turn_while_an_update_moves_nothing() {
    let policy = policy(0, 2);
    let shape = web(2, 3, "v2", &policy);
    let nodes = || nodes(&policy, [StageName::Dormant; 3]);
    assert_eq!(told(&state(nodes()), &shape), ["web-0", "web-1", "web-2"]);
    assert_eq!(told(&paused(state(nodes()), &shape), &shape), ["web-2"]);
    let text = Redacted::new("a reason");
    let hold = Hold { code: HoldCode::Implausible, text, since: T0 };
    let braked = ClusterState::restore(nodes(), [(group("web"), hold)], T0);
    assert_eq!(told(&braked, &shape), ["web-2"]);
}

/// Where all go first, successors have their turn once nothing of the others is left.
#[test]
fn successors_have_their_turn_together() {
    use StageName::{Destroyed, EndpointKnown};
    let policy = with(|update| update.mode = UpdateMode::Recreate);
    let shape = web(2, 3, "v2", &policy);
    let rows: [([StageName; 3], &[&str]); 2] = [
        ([Destroyed, EndpointKnown, Destroyed], &["web-2"]),
        ([Destroyed; 3], &["web-0", "web-1", "web-2"]),
    ];
    for (stages, want) in rows {
        assert_eq!(told(&state(nodes(&policy, stages)), &shape), want, "{stages:?}");
    }
}

/// Who is beyond the count goes anyway, and has no turn.
#[test]
fn nobody_beyond_the_count_has_a_turn() {
    let recreate = with(|update| update.mode = UpdateMode::Recreate);
    for (policy, name) in [(policy(1, 1), StageName::Dormant), (recreate, StageName::Destroyed)] {
        let shape = web(2, 1, "v2", &policy);
        let state = state(nodes(&policy, [name; 3]));
        assert_eq!(told(&state, &shape), ["web-0", "web-2"], "{name:?}");
    }
}
