//! Guardrails: what no plan may do, what must be said before one is confirmed, and that neither is lowered by the plan
//! that runs against it.

use std::collections::{BTreeMap, BTreeSet};

use reconciler_core::{
    desired::{ClusterShape, Deed, Demand, Guardrail},
    id::PlanSerial,
    observed::{ClusterState, StageName},
    plan::{Demanded, LifecyclePlan, PlanInput, Scope, judge, project},
};

use crate::fleet::{FENCE, T0, in_stage, shape, stage, state};

fn rail(group: Option<&str>) -> Guardrail {
    Guardrail {
        group: group.map(|name| name.parse().expect("a name")),
        deny: BTreeSet::new(),
        confirm: None,
        max_destroy: None,
        reason: "because I say so".to_owned(),
    }
}

/// One ready db node and three ready web nodes.
fn run() -> (ClusterShape, ClusterState) {
    let shape = shape(&[("db", 1), ("web", 3)]);
    let records = ["db-0", "web-0", "web-1", "web-2"];
    let state = state(records.map(|text| in_stage(&shape, text, stage(StageName::Dormant))));
    (shape, state)
}

fn plan(observed: &ClusterState, base: &ClusterShape, target: &ClusterShape) -> LifecyclePlan {
    let capabilities = BTreeMap::new();
    let serial = PlanSerial::new(1);
    let (fence, parallelism) = (FENCE, 16);
    let input = PlanInput { base, target, capabilities: &capabilities, fence, serial, parallelism };
    project(observed, &input, Scope::All, T0).expect("a plan that settles")
}

/// What is said of a plan that leads to these counts, where these guardrails stand.
fn judged(rails: Vec<Guardrail>, counts: &[(&str, u32)]) -> Result<Option<Demanded>, String> {
    let (base, observed) = run();
    let base = base.guarded(rails);
    let counts = counts.iter().map(|(name, n)| (name.parse().expect("a name"), *n)).collect();
    let target = base.with_counts(&counts).expect("a shape");
    let plan = plan(&observed, &base, &target);
    judge(&plan, &base, &target).map_err(|breach| breach.to_string())
}

#[test]
fn a_denied_deed_is_refused_with_its_reason() {
    let deny = Guardrail { deny: BTreeSet::from([Deed::Destroy]), ..rail(Some("db")) };
    let told = judged(vec![deny.clone()], &[("db", 0)]).unwrap_err();
    assert_eq!(
        told,
        "a guardrail of group `db` denies to destroy a node, and this plan would do it to db-0: \
         because I say so"
    );
    // What it is not about, and what it does not deny, goes its way.
    assert_eq!(judged(vec![deny.clone()], &[("web", 0)]), Ok(None));
    assert_eq!(judged(vec![deny], &[("db", 4)]), Ok(None));
    let all = Guardrail { deny: BTreeSet::from([Deed::Create]), ..rail(None) };
    assert!(judged(vec![all], &[("web", 4)]).unwrap_err().contains("of the run"));
}

#[test]
fn no_plan_destroys_more_than_it_may() {
    let few = Guardrail { max_destroy: Some(1), ..rail(Some("web")) };
    assert_eq!(judged(vec![few.clone()], &[("web", 2)]), Ok(None));
    let told = judged(vec![few.clone()], &[("web", 1)]).unwrap_err();
    assert!(told.contains("destroy 1 nodes at most, and this one destroys 2"), "{told}");
    assert_eq!(judged(vec![few], &[("db", 0)]), Ok(None), "another group's nodes do not count");
    let none = Guardrail { max_destroy: Some(0), ..rail(None) };
    assert!(judged(vec![none], &[("db", 0)]).is_err());
}

fn is_met(demanded: &Demanded, typed: Option<&str>) -> bool {
    demanded.demand.is_met(&demanded.name, typed)
}

#[test]
fn what_must_be_said_is_the_most_that_is_asked_for() {
    let yes = Guardrail { confirm: Some(Demand::Yes), reason: "look".to_owned(), ..rail(None) };
    let name = Guardrail { confirm: Some(Demand::Name), ..rail(Some("db")) };
    assert_eq!(
        judged(vec![yes.clone(), name.clone()], &[("web", 9)]),
        Ok(None),
        "it takes nothing"
    );
    let one = judged(vec![yes.clone(), name.clone()], &[("web", 1)]).unwrap().unwrap();
    assert_eq!((one.demand, one.name.as_str()), (Demand::Yes, "demo"));
    assert!(is_met(&one, Some("yes")) && is_met(&one, Some("demo")));
    assert!(!is_met(&one, None) && !is_met(&one, Some("")) && !is_met(&one, Some("web")));
    let both = judged(vec![yes, name.clone()], &[("web", 1), ("db", 0)]).unwrap().unwrap();
    assert_eq!((both.demand, both.name.as_str()), (Demand::Name, "db"));
    assert_eq!(both.reasons.len(), 2, "every reason is told");
    assert!(is_met(&both, Some("db")) && !is_met(&both, Some("yes")));
    // Where two groups want their names, that of the run stands for both.
    let web = Guardrail { confirm: Some(Demand::Name), ..rail(Some("web")) };
    let several = judged(vec![name, web], &[("web", 1), ("db", 0)]).unwrap().unwrap();
    assert_eq!(several.name, "demo");
}

/// The rail stands until a plan that does nothing else has taken it away.
#[test]
fn a_plan_does_not_lower_the_guardrail_that_it_runs_against() {
    let (base, observed) = run();
    let deny = Guardrail { deny: BTreeSet::from([Deed::Destroy]), ..rail(None) };
    let guarded = base.clone().guarded(vec![deny.clone()]);
    let fewer = |shape: &ClusterShape| {
        shape.with_counts(&BTreeMap::from([("db".parse().expect("a name"), 0)])).expect("a shape")
    };
    let lowered = fewer(&guarded).guarded(Vec::new());
    assert!(judge(&plan(&observed, &guarded, &lowered), &guarded, &lowered).is_err());
    // One that brings the rail runs against it as well.
    let raised = fewer(&base).guarded(vec![deny]);
    assert!(judge(&plan(&observed, &base, &raised), &base, &raised).is_err());
    // Taking it away alone is a change like any other.
    let freed = guarded.at_generation(guarded.generation.next()).guarded(Vec::new());
    assert_eq!(judge(&plan(&observed, &guarded, &freed), &guarded, &freed), Ok(None));
    assert!(!guarded.same_content(&freed), "it is another generation");
}

/// Live edits keep what the file declared beside the groups.
#[test]
fn every_edit_of_a_shape_keeps_its_guardrails() {
    let (base, _) = run();
    let base = base.guarded(vec![rail(None)]);
    let db = base.group(&"db".parse().expect("a name")).expect("a group");
    let edited = [
        base.with_counts(&BTreeMap::new()).expect("a shape"),
        base.with_group((**db).clone()).expect("a shape"),
        base.without(&BTreeSet::from([db.group.clone()])).expect("a shape"),
        base.with_power(BTreeMap::new()),
        base.with_specs([]),
        base.emptied(),
        base.redigested(),
    ];
    for shape in edited {
        assert_eq!(shape.guardrails(), base.guardrails());
    }
}
