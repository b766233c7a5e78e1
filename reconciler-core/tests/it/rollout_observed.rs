//! A new node is observed before the next one gives way: who is not proven yet counts as missing, once (R172, D10).

use reconciler_core::{
    desired::{ClusterShape, Policy},
    observed::{DeleteReason, Deletion, NodeRecord, StageName},
    reconcile::{Rung, reconcile},
    time::{Millis, Timestamp},
};

use crate::fleet::{T0, at, in_stage, stage, state};
use crate::rollout::{rung, web, with};

/// How long a node is observed here.
const OBSERVED: u64 = 30_000;

fn observing(unavailable: u32) -> Policy {
    with(|update| {
        update.observation = Millis::new(OBSERVED);
        update.max_unavailable = reconciler_core::desired::Amount::Nodes(unavailable);
    })
}

/// A node of `image` that has been ready since `T0`.
fn node(text: &str, image: &str, policy: &Policy) -> NodeRecord {
    in_stage(&web(1, 9, image, policy), text, stage(StageName::Dormant))
}

/// Who gives way.
fn go(records: Vec<NodeRecord>, shape: &ClusterShape, now: Timestamp) -> Vec<String> {
    let plan = reconcile(&state(records), shape, now);
    plan.transitions.iter().map(|(slot, _)| slot.to_string()).collect()
}

/// Until the first new node was ready for the whole time, it is as good as missing; from then on the next one goes.
#[test]
fn the_next_node_goes_when_the_last_is_proven() {
    let policy = observing(1);
    let shape = web(2, 3, "v2", &policy);
    let records = || {
        [("web-0", "v2"), ("web-1", "v1"), ("web-2", "v1")].map(|(at, of)| node(at, of, &policy))
    };
    assert_eq!(go(records().to_vec(), &shape, at(0)), [""; 0]);
    assert_eq!(go(records().to_vec(), &shape, at(OBSERVED - 1)), [""; 0]);
    assert_eq!(go(records().to_vec(), &shape, at(OBSERVED)), ["web-1"]);
    let plan = reconcile(&state(records()), &shape, at(OBSERVED - 1));
    assert!(matches!(rung(&plan, "web-1"), Rung::AwaitTurn { unavailable: 0, .. }));
}

/// What is of another revision has nothing to prove, however lately it became ready.
#[test]
fn old_nodes_are_not_observed() {
    let policy = observing(1);
    let records = ["web-0", "web-1"].map(|text| node(text, "v1", &policy)).to_vec();
    assert_eq!(go(records, &web(2, 2, "v2", &policy), T0), ["web-0"]);
}

/// A new node that does not serve is missing already, and is not counted a second time for being young.
#[test]
fn who_is_missing_is_not_young_as_well() {
    let policy = observing(2);
    let mut going = node("web-0", "v2", &policy);
    going.deletion = Some(Deletion { reason: DeleteReason::Failed, since: T0 });
    let old = |text: &str| node(text, "v1", &policy);
    let records = vec![going, old("web-1"), old("web-2")];
    assert_eq!(go(records, &web(2, 3, "v2", &policy), T0), ["web-1"]);
}

/// A young node beyond the count is on its way out, and holds up nobody.
#[test]
fn who_is_beyond_the_count_is_not_waited_for() {
    let policy = observing(1);
    let records =
        [("web-0", "v1"), ("web-1", "v1"), ("web-2", "v2")].map(|(at, of)| node(at, of, &policy));
    let shape = web(2, 2, "v2", &policy);
    assert_eq!(go(records.to_vec(), &shape, T0), ["web-0"]);
}

/// Without an observation time nobody is observed: as soon as a node serves the next one goes.
#[test]
fn without_a_time_nobody_is_observed() {
    let policy = with(|_| {});
    let records = [("web-0", "v2"), ("web-1", "v1")].map(|(at, of)| node(at, of, &policy));
    assert_eq!(go(records.to_vec(), &web(2, 2, "v2", &policy), T0), ["web-1"]);
}
