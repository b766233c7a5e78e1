//! The plan's hash: fixed for fixed inputs, and another for each input changed alone (R78, R82, P3).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use reconciler_core::{
    desired::{ClusterShape, Guardrail, Policy},
    effect::{CommandKind, Listing, OwnedLease},
    fold::Fact,
    hold::{Hold, HoldCode},
    id::{Fence, Generation, PlanHash, PlanSerial, ProviderName, Uuid},
    observed::{ClusterState, LeaseId, NodeRecord, NodeStage, StageName},
    plan::{LifecyclePlan, PlanInput, Scope, observation_text, project},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    FENCE, T0, ambiguity, at, group, in_stage, owned, provider, shape_with, stage, state,
};
use crate::laws_single::journaled;
use crate::trace::{apply, begin, input};
use crate::world::GRACE;

/// Everything that a plan is made from.
#[derive(Clone)]
struct Inputs {
    base: ClusterShape,
    target: ClusterShape,
    capabilities: BTreeMap<ProviderName, String>,
    fence: Fence,
    serial: PlanSerial,
    parallelism: u32,
    record: NodeRecord,
    now: Timestamp,
}

fn inputs() -> Inputs {
    let base = shape_with(1, &[("web", 1, "v1")], &Policy::default());
    Inputs {
        record: in_stage(&base, "web-0", stage(StageName::Dormant)),
        target: shape_with(2, &[("db", 1, "v1"), ("web", 1, "v2")], &Policy::default()),
        base,
        capabilities: BTreeMap::from([(provider(), "process 1".to_owned())]),
        fence: Fence::new(3),
        serial: PlanSerial::new(5),
        parallelism: 16,
        now: T0,
    }
}

fn planned(inputs: &Inputs, observed: &ClusterState) -> LifecyclePlan {
    let input = PlanInput {
        base: &inputs.base,
        target: &inputs.target,
        capabilities: &inputs.capabilities,
        fence: inputs.fence,
        serial: inputs.serial,
        parallelism: inputs.parallelism,
    };
    project(observed, &input, Scope::All, inputs.now).expect("a plan that settles")
}

fn hash(inputs: &Inputs) -> PlanHash {
    planned(inputs, &state([inputs.record.clone()])).hash
}

/// R82: the hash of fixed inputs, as every machine and process computes it.
const GOLDEN: &str = include_str!("plan_hash.golden");

/// R82: fixed inputs have a fixed hash.
#[test]
fn fixed_inputs_have_a_fixed_hash() {
    assert_eq!(hash(&inputs()).to_string(), GOLDEN.trim());
    assert_eq!(hash(&inputs()), hash(&inputs()));
}

/// One input, changed alone.
type Change = (&'static str, fn(&mut Inputs));

/// R78, C14: each input changed alone gives another hash.
#[test]
fn each_input_changes_the_hash() {
    let patient = || Policy { stable: Millis::from_secs(99), ..Policy::default() };
    let changes: [Change; 16] = [
        ("base generation", |i| i.base = i.base.at_generation(Generation::new(9))),
        ("target generation", |i| i.target = i.target.at_generation(Generation::new(9))),
        ("count", |i| {
            i.target = shape_with(2, &[("db", 2, "v1"), ("web", 1, "v2")], &Policy::default());
        }),
        ("spec", |i| {
            i.target = shape_with(2, &[("db", 1, "v3"), ("web", 1, "v2")], &Policy::default());
        }),
        ("guardrail", |i| {
            let rail = Guardrail {
                group: None,
                deny: BTreeSet::new(),
                confirm: None,
                max_destroy: Some(1),
                reason: "few".to_owned(),
            };
            i.target = i.target.clone().guarded(vec![rail]);
        }),
        ("fence", |i| i.fence = i.fence.next()),
        ("serial", |i| i.serial = i.serial.next()),
        ("parallelism", |i| i.parallelism += 1),
        ("capability", |i| {
            i.capabilities.insert(provider(), "process 2".to_owned());
        }),
        ("another provider", |i| {
            i.capabilities.insert("other".parse().expect("a name"), String::new());
        }),
        ("stage", |i| i.record.stage = stage(StageName::EndpointKnown)),
        ("attempt", |i| i.record.attempt.ordinal = i.record.attempt.ordinal.next()),
        ("lease", |i| {
            if let NodeStage::Dormant { lease, .. } = &mut i.record.stage {
                lease.id = LeaseId::new("l-2");
            }
        }),
        ("certainty", |i| i.record.missing_since = Some(T0)),
        ("revision", |i| i.record.revision = i.target.expand()[1].revision),
        ("ambiguity", |i| {
            i.record.ambiguity = Some(ambiguity(CommandKind::StartBootstrap, T0));
        }),
    ];
    let mut seen = BTreeMap::from([(hash(&inputs()), "nothing")]);
    for (what, change) in changes {
        let mut other = inputs();
        change(&mut other);
        let twin = seen.insert(hash(&other), what);
        assert_eq!(twin, None, "{what} changes the hash");
    }
    let mut treated = inputs();
    treated.target = shape_with(2, &[("db", 1, "v1"), ("web", 1, "v2")], &patient());
    assert_ne!(hash(&treated), hash(&inputs()), "how nodes are treated is shown as well");
}

/// C14: a plan is stale once any node of it moved: each stage has a hash of its own, but that ready is ready.
#[test]
fn a_node_that_moved_makes_a_plan_stale() {
    let mut hashes: BTreeMap<PlanHash, Vec<StageName>> = BTreeMap::new();
    for name in StageName::ALL {
        let mut inputs = inputs();
        inputs.record.stage = stage(name);
        if name == StageName::LeaseRequested {
            inputs.record.ambiguity = Some(ambiguity(CommandKind::CreateLease, T0));
        }
        hashes.entry(hash(&inputs)).or_default().push(name);
    }
    let mut same: Vec<_> = hashes.into_values().filter(|names| names.len() > 1).collect();
    assert_eq!(same.pop(), Some(vec![StageName::HandedOff, StageName::Dormant]));
    assert!(same.is_empty(), "{same:?}");
}

/// D2: times, ages, sequences and what is steady anyway are no part of the hash.
#[test]
fn what_says_nothing_changes_nothing() {
    let changes: [Change; 4] = [
        ("the moment", |i| i.now = at(1_000_000)),
        ("since", |i| i.record.since = at(5)),
        ("backoff", |i| i.record.backoff.failures = 2),
        ("stable or not yet", |i| i.record.stage = stage(StageName::HandedOff)),
    ];
    for (what, change) in changes {
        let mut other = inputs();
        change(&mut other);
        assert_eq!(hash(&other), hash(&inputs()), "{what}");
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 48, failure_persistence: None, ..Default::default()
    })]

    /// R82, R84: after any history, a plan settles, and another process makes the same from the journal.
    #[test]
    fn any_history_has_one_plan(trace in prop::collection::vec(input(), 0..50)) {
        let mut world = begin();
        for input in &trace {
            apply(&mut world, input);
        }
        let mut inputs = inputs();
        inputs.base = world.shape.clone();
        inputs.target = world.shape.clone();
        inputs.now = world.seen;
        let plan = planned(&inputs, &world.state);
        prop_assert_eq!(&planned(&inputs, &world.state), &plan);
        let orphans = world.state.groups().any(|(_, group)| group.orphans().next().is_some());
        if !orphans {
            let restored = journaled(&world.state, world.seen);
            prop_assert_eq!(planned(&inputs, &restored).hash, plan.hash);
        }
    }
}

/// P3, D6: a doubt about a group is part of what a plan is made from, be it a hold or what no record accounts for.
#[test]
fn a_doubt_about_a_group_is_part_of_what_is_observed() {
    let record = || inputs().record;
    let text = Redacted::new("nine of ten are said to be gone");
    let hold = Hold { code: HoldCode::Implausible, text, since: T0 };
    let braked = ClusterState::restore([record()], [(group("web"), hold)], T0);
    let mut strayed = state([record()]);
    let stray = OwnedLease {
        attempt: Uuid::from_bytes([9; 16]),
        ..owned("web-0", record().attempt, "l-9")
    };
    let kept = owned("web-0", record().attempt, "l-1");
    let (listing, asked_at) = (Listing::Complete(vec![kept, stray]), at(600_000));
    let fact = Fact::Listed { provider: provider(), listing, asked_at, grace: GRACE, fence: FENCE };
    let _listed = strayed.fold(fact, asked_at);
    let lines = |state: &ClusterState| observation_text(state).lines().skip(1).collect::<String>();
    assert_eq!(lines(&state([record()])), "");
    let said = r#"{"group":"web","hold":"observation.implausible","orphans":[]}"#;
    assert_eq!(lines(&braked), said);
    assert_eq!(lines(&strayed), r#"{"group":"web","hold":null,"orphans":["l-9"]}"#);
}
