//! The plan as a graph of complete steps, its order and waves, and its text as it is kept (R79 to R82, R91).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use reconciler_core::{
    desired::{ClusterShape, HookPoint, NodeSpec, Policy, RunNodeGroupSpec},
    effect::CommandKind,
    id::{Fence, Generation, PlanHash, PlanSerial},
    observed::{ClusterState, StageName},
    plan::{
        Condition, GraphError, LifecyclePlan, PlanInput, PlanStep, Scope, StepKey, StoredPlan,
        StoredPlanError, project,
    },
    time::Millis,
};

use crate::fleet::{RUN, T0, command_of, group, node_spec, shape, shape_with, state};
use crate::world::World;

fn plan_to(observed: &ClusterState, target: &ClusterShape, parallelism: u32) -> LifecyclePlan {
    let input = PlanInput {
        base: target,
        target,
        capabilities: &BTreeMap::new(),
        fence: Fence::new(3),
        serial: PlanSerial::new(0),
        parallelism,
    };
    project(observed, &input, Scope::All, T0).expect("a plan that settles")
}

/// A plan with everything in it: two nodes replaced, two made, one destroyed.
fn rich() -> LifecyclePlan {
    let mut world = World::new(shape(&[("web", 3)]), T0);
    assert!(world.settle().is_some());
    let target = shape_with(2, &[("db", 2, "v1"), ("web", 2, "v2")], &Policy::default());
    plan_to(&world.state, &target, 3)
}

fn keys(plan: &LifecyclePlan) -> Vec<String> {
    plan.steps.iter().map(|step| step.key().to_string()).collect()
}

/// The text under its own hash, as if whoever edited it had made a new hash as well.
fn read_anew(text: &str) -> Result<StoredPlan, StoredPlanError> {
    StoredPlan::read(text, PlanHash::of(text.as_bytes()))
}

/// R81: every step has its conditions, its time, its key, and what undoes it or an explicit nothing.
#[test]
fn every_step_is_complete() {
    let plan = rich();
    let mut requests = BTreeSet::new();
    for step in &plan.steps {
        assert!(step.timeout > Millis::ZERO);
        assert!(requests.insert(step.idempotency_key()), "one request, one key");
        assert_ne!((step.requires, step.brings.stage), (step.brings, step.requires.stage));
        assert!(plan.specs.contains_key(&step.revision), "what it is made to be is shown");
        let undone = !matches!(
            command_of(step.action),
            CommandKind::LookupEndpoint | CommandKind::BootstrapConvergenceObserved
        );
        assert_eq!(step.inverse.is_some(), undone);
        for before in &step.after {
            let before = plan.steps.iter().find(|known| known.key() == *before).expect("a step");
            let left = (before.brings.lease, before.brings.workload);
            let same = before.attempt == step.attempt;
            assert!(!same || left == (step.requires.lease, step.requires.workload));
        }
    }
    let text = plan.canonical();
    let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let members = [
        "after",
        "attempt",
        "brings",
        "inverse",
        "key",
        "requires",
        "session",
        "spec",
        "timeout-ms",
    ];
    for step in read["steps"].as_array().expect("steps") {
        let names: Vec<_> = step.as_object().expect("a step").keys().collect();
        assert_eq!(names, members, "an explicit none is a null, not a gap");
    }
}

/// R79: Kahn's order with ties by key: what is free comes in the order of slots, and slots order by number.
#[test]
fn the_order_is_fixed() {
    let plan = plan_to(&state([]), &shape(&[("a", 11), ("b", 1)]), 2);
    let creates: Vec<_> = keys(&plan).into_iter().filter(|k| k.ends_with("CreateLease")).collect();
    assert_eq!(creates.first().map(String::as_str), Some("a-0.1.CreateLease"));
    assert_eq!(creates.last().map(String::as_str), Some("b-0.1.CreateLease"));
    assert!(creates[8..10] == ["a-8.1.CreateLease", "a-9.1.CreateLease"], "10 follows 9");
    assert_eq!(
        keys(&rich()).join("\n"),
        include_str!("plan_order.golden").trim_end(),
        "the golden order"
    );
}

/// R98: a wave has at most `parallelism` steps, and what a step comes after lies in earlier waves.
#[test]
fn waves_are_bounded_and_in_order() {
    let plan = rich();
    let waves = plan.waves().expect("a graph");
    let of: BTreeMap<StepKey, u32> =
        plan.steps.iter().map(PlanStep::key).zip(waves.iter().copied()).collect();
    for step in &plan.steps {
        assert!(step.after.iter().all(|before| of[before] < of[&step.key()]));
    }
    let most = waves.iter().max().copied().expect("waves");
    for wave in 0..=most {
        let n = waves.iter().filter(|at| **at == wave).count();
        assert!((1..=3).contains(&n), "wave {wave} has {n} steps");
    }
}

/// R80: what is kept reads back as it was made.
#[test]
fn a_kept_plan_reads_back() {
    let plan = rich();
    let read = StoredPlan::read(&plan.canonical(), plan.hash).expect("a plan");
    assert_eq!(read.canonical(), plan.canonical());
    assert_eq!((read.header, read.specs, read.steps), (plan.header, plan.specs, plan.steps));
}

/// R81: how an attempt stands, before and after a step, reads back from its words, whatever it is.
#[test]
fn a_condition_reads_back() {
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    for (stage, (lease, workload)) in
        StageName::ALL.into_iter().flat_map(|stage| flags.map(|flags| (stage, flags)))
    {
        for hook in HookPoint::ALL.map(Some).into_iter().chain([None]) {
            let condition = Condition { stage, lease, workload, hook };
            assert_eq!(condition.to_string().parse(), Ok(condition), "{condition}");
        }
    }
    for text in ["", "new", "new, lease", "old, lease, workload", "new, lease, workload, more"] {
        assert!(text.parse::<Condition>().is_err(), "{text}");
    }
}

/// R80: one changed byte anywhere is refused, with the hash that it has now.
#[test]
fn a_changed_byte_is_refused() {
    let plan = rich();
    let text = plan.canonical();
    for at in (0..text.len()).step_by(7) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else { continue };
        let refused = StoredPlan::read(&changed, plan.hash).expect_err("it was changed");
        let found = PlanHash::of(changed.as_bytes());
        assert_eq!(refused, StoredPlanError::Edited { expected: plan.hash, found });
        assert!(refused.to_string().contains("changed after it was made"));
    }
}

/// R79: a duplicate, a missing dependency and a circle are told apart, each with the steps that make it.
#[test]
fn bad_graphs_are_named() {
    let text = plan_to(&state([]), &shape(&[("web", 1)]), 2).canonical();
    let key = |text: &str| text.parse::<StepKey>().expect("a key");
    let (create, lookup) = (key("web-0.1.CreateLease"), key("web-0.1.LookupEndpoint"));
    let twice =
        text.replace("\"key\":\"web-0.1.LookupEndpoint\"", "\"key\":\"web-0.1.CreateLease\"");
    let duplicate = StoredPlanError::Graph(GraphError::Duplicate(create.clone()));
    assert_eq!(read_anew(&twice), Err(duplicate));
    let gone =
        text.replace("\"after\":[\"web-0.1.CreateLease\"]", "\"after\":[\"web-7.1.CreateLease\"]");
    let needs = key("web-7.1.CreateLease");
    let missing = StoredPlanError::Graph(GraphError::Missing { step: lookup.clone(), needs });
    assert_eq!(read_anew(&gone), Err(missing));
    let round = text.replacen("\"after\":[]", "\"after\":[\"web-0.1.StartBootstrap\"]", 1);
    let Err(StoredPlanError::Graph(GraphError::Cycle(circle))) = read_anew(&round) else {
        panic!("a circle is refused");
    };
    assert_eq!(circle, [create, key("web-0.1.StartBootstrap"), lookup]);
    let told = GraphError::Cycle(circle).to_string();
    let way = "web-0.1.CreateLease -> web-0.1.StartBootstrap -> web-0.1.LookupEndpoint";
    let want = format!("steps wait for each other in a circle: {way} -> web-0.1.CreateLease");
    assert_eq!(told, want);
    // Who stands beside a circle is no part of it.
    let text = plan_to(&state([]), &shape(&[("api", 1), ("web", 1)]), 2).canonical();
    let (before, after) = text.rsplit_once("\"after\":[]").expect("a step that waits for none");
    let round = format!("{before}\"after\":[\"web-0.1.StartBootstrap\"]{after}");
    let Err(StoredPlanError::Graph(GraphError::Cycle(circle))) = read_anew(&round) else {
        panic!("a circle is refused");
    };
    assert!(circle.iter().all(|key| key.slot.group == group("web")), "{circle:?}");
}

/// R80: steps in another order, another form of plan, and what is no plan at all are refused as what they are.
#[test]
fn what_is_no_plan_is_refused() {
    let plan = plan_to(&state([]), &shape(&[("web", 2)]), 2);
    let text = plan.canonical();
    let swapped = text.replace("web-0", "web-9");
    assert_eq!(read_anew(&swapped), Err(StoredPlanError::Order));
    let newer = text.replace("\"schema\":\"2\"", "\"schema\":\"9\"");
    assert_eq!(read_anew(&newer), Err(StoredPlanError::Schema("9".to_owned())));
    let spaced = text.replacen(':', ": ", 1);
    assert!(matches!(read_anew(&spaced), Err(StoredPlanError::Text(_))));
    for junk in ["", "{}", "[]", "{\"header\":null}", "null"] {
        assert!(read_anew(junk).is_err(), "{junk}");
    }
}

/// R91: a plan shows what nodes are made to be without anything that is secret by its name.
#[test]
fn a_plan_holds_no_secret() {
    let mut spec: NodeSpec = node_spec("v1");
    spec.boot.command = ["serve", "--token", "hunter2", "--port", "80"].map(str::to_owned).into();
    spec.boot.env.insert("DB_PASSWORD".to_owned(), "hunter2".to_owned());
    spec.boot.env.insert("URL".to_owned(), "http://me:hunter2@db/".to_owned());
    let web = RunNodeGroupSpec::new(group("web"), 1, spec, Policy::default());
    let name = "demo".parse().expect("a run name");
    let target = ClusterShape::new(name, RUN, Generation::new(1), [web]).expect("a shape");
    let text = plan_to(&state([]), &target, 2).canonical();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("\"--port\",\"80\"") && text.contains("DB_PASSWORD"));
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 32, failure_persistence: None, ..Default::default()
    })]

    /// What follows from a plan follows from its text as well, whatever the shapes and the width.
    #[test]
    fn every_plan_reads_back(
        counts in (0_u32..5, 0_u32..5),
        parallelism in 1_u32..6,
    ) {
        let plan = plan_to(&state([]), &shape(&[("db", counts.0), ("web", counts.1)]), parallelism);
        let read = StoredPlan::read(&plan.canonical(), plan.hash).expect("a plan");
        prop_assert_eq!(read.steps, plan.steps);
    }
}
