//! The model and the decider on thrown fleets, and in every combination of what one record may be.

use proptest::prelude::*;
use reconciler_core::{
    desired::{ClusterShape, Power},
    observed::ClusterState,
    reconcile::{Reason, reconcile},
    time::Timestamp,
};
use std::collections::BTreeSet;

use super::{
    agrees,
    dice::{Dice, NOW},
};
use crate::{
    fleet::{at, powered, state},
    ladder_table::rows,
};

fn reasons(state: &ClusterState, shape: &ClusterShape, now: Timestamp) -> Vec<Reason> {
    let plan = reconcile(state, shape, now);
    agrees(state, shape, now, &plan);
    let all = plan.reasons.into_iter().chain(plan.second_reasons);
    all.map(|(_, reason)| reason).collect()
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, max_shrink_iters: 0, ..Default::default() })]

    /// R1 to R7, R46, D10: a plain second writing of the rules decides any fleet in the same way, reason by reason.
    #[test]
    fn a_plain_writing_of_the_rules_decides_the_same(seed: u64) {
        let mut dice = Dice::new(seed);
        for _ in 0..8 {
            let shape = dice.shape();
            let state = dice.state(&shape);
            reasons(&state, &shape, at(NOW));
        }
    }
}

/// Thrown fleets come by every rung, so that none of them is compared in vain.
#[test]
fn thrown_fleets_come_by_every_rung() {
    let mut seen = BTreeSet::new();
    for seed in 0..2_000 {
        let mut dice = Dice::new(seed);
        let shape = dice.shape();
        let state = dice.state(&shape);
        seen.extend(reasons(&state, &shape, at(NOW)).iter().map(|reason| reason.rung.name()));
    }
    let missing: Vec<_> = RUNGS.iter().filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(seen.len(), RUNGS.len(), "{seen:?}");
}

/// Every rung of a decision on a record alone. A pause of a provider is not thrown; traces come by it.
const RUNGS: [&str; 38] = [
    "ambiguous",
    "await-agent",
    "await-candidate",
    "await-endpoint",
    "await-others-gone",
    "await-probe",
    "await-second-gone",
    "await-turn",
    "backoff",
    "begin-delete",
    "candidate",
    "dependents",
    "effect-pending",
    "expire",
    "gate",
    "give-up",
    "group-held",
    "held",
    "insert",
    "mark-destroyed",
    "observing",
    "off",
    "overshoot",
    "promote",
    "reap",
    "rest",
    "restart",
    "retry",
    "retune",
    "settle",
    "settling",
    "stabilising",
    "step",
    "time-out",
    "turn",
    "update-paused",
    "verifying",
    "working",
];

/// R36 to R46: stage × desired × open × due × retry × hold × deletion × power, each as the model says.
#[test]
fn every_combination_is_decided_as_the_model_says() {
    let mut n_rows = 0;
    for row in rows() {
        let (record, shape, now) = (row.record(), row.shape(), row.now());
        let plain = |power: &Power| power.clone();
        let asked: [&dyn Fn(&Power) -> Power; 3] = [&plain, &|p| p.switched(true), &|p| p.anew()];
        for asked in asked {
            let shape = powered(&shape, "web", asked);
            reasons(&state([record.clone()]), &shape, now);
            n_rows += 1;
        }
    }
    assert_eq!(n_rows, 10 * 3 * 5 * 3 * 8 * 3);
}
