//! What a plan says of each slot, whom it leaves where it is, and what it does to availability (R91, R170, P7).

use reconciler_core::{
    desired::{ClusterShape, GateCondition, GroupKind, Policy, Power, RunNodeGroupSpec},
    effect::CommandKind,
    fold::{Fact, Verdict},
    hold::{Hold, HoldCode},
    id::SessionId,
    observed::{ClusterState, DeleteReason, Deletion, NodeRecord, NodeStage, Second, StageName},
    plan::{ChangeKind, LifecyclePlan, Scope},
    reconcile::RolloutChange,
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::{
    fleet::{
        Gated, T0, ambiguity, command_of, gated, group, in_stage, lease, member, node_spec,
        powered, slot, stage, state, with,
    },
    plan_steps::plan_of,
    probes::probed,
    rollout::{beside, policy, web, with as update},
};

const SERVICE: GroupKind = GroupKind::Service;

fn plan(observed: &ClusterState, target: &ClusterShape) -> LifecyclePlan {
    plan_of(observed, target, Scope::All, T0)
}

/// What a plan from `record` alone says of its slot.
fn said(record: NodeRecord, target: &ClusterShape) -> Option<(ChangeKind, &'static str)> {
    let plan = plan(&state([record]), target);
    plan.changes.first().map(|change| (change.kind, change.why))
}

fn steps(plan: &LifecyclePlan) -> Vec<(String, CommandKind)> {
    plan.steps.iter().map(|step| (step.slot.to_string(), command_of(step.action))).collect()
}

fn blocked(plan: &LifecyclePlan) -> Vec<String> {
    plan.blocked.iter().map(|(slot, _)| slot.to_string()).collect()
}

fn hold(code: HoldCode) -> Hold {
    Hold { code, text: Redacted::new("a reason"), since: T0 }
}

fn rests(next_session: u64) -> NodeRecord {
    let record =
        in_stage(&web(1, 1, "v1", &policy(0, 1)), "web-0", stage(StageName::EndpointKnown));
    with(record, |record| record.next_session = SessionId::new(next_session))
}

/// R91: what a plan means for a service's node, by how it stands.
#[test]
fn a_plan_says_what_it_means_for_a_node() {
    use ChangeKind as C;
    let target = web(1, 1, "v1", &policy(0, 1));
    let node = |name| in_stage(&target, "web-0", stage(name));
    let going = Some(Deletion { reason: DeleteReason::Failed, since: T0 });
    let rows = [
        (node(StageName::Dormant), None),
        (node(StageName::New), Some((C::Repair, "it is not ready yet"))),
        (rests(1), Some((C::Repair, "it is not ready yet"))),
        (rests(2), Some((C::Start, "it rests, and is switched on"))),
        (
            with(rests(2), |record| record.hold = Some(hold(HoldCode::CrashLoop))),
            Some((C::Repair, "it is not ready yet")),
        ),
        (node(StageName::Failed), Some((C::Repair, "it is not there any more"))),
        (
            with(node(StageName::Dormant), |record| record.deletion = going),
            Some((C::Repair, "it is being deleted, and wanted again")),
        ),
    ];
    for (record, want) in rows {
        let what = format!("{record:?}");
        assert_eq!(said(record, &target), want, "{what}");
    }
    let created = plan(&state([]), &target).changes;
    assert_eq!((created[0].kind, created[0].why), (C::Create, "wanted, and not there"));
}

/// C10: what a plan means for a job's node: one that is done is left alone until it is to run again.
#[test]
fn a_plan_says_what_it_means_for_a_job() {
    use ChangeKind as C;
    let job = gated(1, "v1", &[("web", 1, GroupKind::Job, &[])]).expect("a shape");
    let (again, off) =
        (powered(&job, "web", Power::anew), powered(&job, "web", |power| power.switched(true)));
    let ended = |completed: Option<Timestamp>| {
        let (lease, endpoint) = (lease("l-1"), reconciler_core::observed::Endpoint::default());
        let stage = NodeStage::Dormant { lease, endpoint, member: member(), completed };
        in_stage(&job, "web-0", stage)
    };
    let (done, runs) = (|| ended(Some(T0)), || ended(None));
    let rows = [
        (done(), &job, None),
        (runs(), &job, Some((C::Repair, "its job runs, and is not completed yet"))),
        (done(), &again, Some((C::Restart, "its job is to run again"))),
        (runs(), &again, Some((C::Restart, "it is to begin anew"))),
        (done(), &off, None),
        (runs(), &off, Some((C::Stop, "it is switched off"))),
    ];
    for (n, (record, target, want)) in rows.into_iter().enumerate() {
        assert_eq!(said(record, target), want, "row {n}");
    }
}

/// D10: a candidate of what is not wanted ends, and the plan says so; one that goes already, or is wanted, is no change.
#[test]
fn a_plan_says_that_a_candidate_ends() {
    let (old, new) = (web(1, 1, "v1", &policy(1, 0)), web(2, 1, "v2", &policy(1, 0)));
    let node = in_stage(&old, "web-0", stage(StageName::Dormant));
    let candidate = |shape: &ClusterShape, going: bool| {
        let mut record = beside(node.clone(), shape, 2, stage(StageName::HandedOff));
        let deletion = Some(Deletion { reason: DeleteReason::Replaced, since: T0 });
        let second: &mut Second = record.second.as_mut().expect("a candidate");
        second.record.deletion = deletion.filter(|_| going);
        record
    };
    let ends = Some((ChangeKind::Repair, "it stays, and the candidate beside it is ended"));
    assert_eq!(said(candidate(&new, false), &old), ends);
    assert_eq!(said(candidate(&new, true), &old), None);
    assert_eq!(said(candidate(&old, false), &old), None);
}

/// A database that `code` holds, and a node that waits for it.
fn waiting() -> (ClusterShape, ClusterState) {
    let groups: [Gated<'_>; 2] =
        [("db", 1, SERVICE, &[]), ("web", 1, SERVICE, &[("db", GateCondition::Ready)])];
    let shape = gated(1, "v1", &groups).expect("a shape");
    let held = with(in_stage(&shape, "db-0", stage(StageName::Destroyed)), |record| {
        record.hold = Some(hold(HoldCode::CrashLoop));
    });
    let state = state([held, in_stage(&shape, "web-0", stage(StageName::LeaseCreated))]);
    (shape, state)
}

/// P7: who takes steps and then waits for what does not come is named, also while an update of its group is paused.
#[test]
fn who_comes_half_the_way_is_named() {
    let (shape, state) = waiting();
    let target = shape.group(&group("web")).expect("the group").revision;
    let patience = Millis::from_secs(60);
    let begin = RolloutChange::Begin { target, prior: None, reverts: false, patience };
    let mut paused = state.clone();
    for fact in
        [Fact::Rollout { group: group("web"), change: begin }, Fact::Paused(group("web"), true)]
    {
        assert_eq!(paused.fold(fact, T0), Verdict::Applied);
    }
    for state in [state, paused] {
        let plan = plan(&state, &shape);
        assert_eq!(steps(&plan), [("web-0".to_owned(), CommandKind::LookupEndpoint)]);
        assert_eq!(blocked(&plan), ["db-0", "web-0"]);
        assert!(!plan.is_empty());
    }
}

/// D2: of what is held nothing is predicted: neither that its probes pass, nor that its job ends well.
#[test]
fn nothing_good_is_predicted_of_what_is_held() {
    let waits =
        |condition| Policy { after: [(group("db"), condition)].into(), ..Policy::default() };
    let job = Policy { kind: GroupKind::Job, ..Policy::default() };
    let serves = probed(&[reconciler_core::desired::ProbeKind::Readiness]);
    for (of_db, condition) in [(job, GateCondition::Completed), (serves, GateCondition::Ready)] {
        let groups = [("db", of_db), ("web", waits(condition))];
        let groups = groups
            .map(|(name, policy)| RunNodeGroupSpec::new(group(name), 1, node_spec("v1"), policy));
        let shape = ClusterShape::new(
            "demo".parse().expect("a run name"),
            crate::fleet::RUN,
            reconciler_core::id::Generation::new(1),
            groups,
        );
        let shape = shape.expect("a shape");
        for held in [false, true] {
            let mut record = in_stage(&shape, "db-0", stage(StageName::HandedOff));
            record.hold = held.then(|| hold(HoldCode::Refused));
            let plan = plan(&state([record]), &shape);
            assert_eq!(plan.steps.is_empty(), held, "{condition:?}: {:?}", steps(&plan));
            assert_eq!(blocked(&plan).contains(&"web-0".to_owned()), held, "{condition:?}");
        }
    }
}

/// R168: who goes for good goes after those that need it; who only gives way to another revision waits for nobody.
#[test]
fn who_is_needed_goes_last_where_all_go() {
    let groups: [Gated<'_>; 2] =
        [("api", 1, SERVICE, &[("db", GateCondition::Ready)]), ("db", 1, SERVICE, &[])];
    let shape = gated(1, "v1", &groups).expect("a shape");
    let state =
        state(["api-0", "db-0"].map(|text| in_stage(&shape, text, stage(StageName::Dormant))));
    let newer = gated(2, "v2", &groups).expect("a shape");
    for (target, waits) in [(shape.emptied(), true), (newer, false)] {
        let plan = plan(&state, &target);
        let stop = plan
            .steps
            .iter()
            .find(|step| step.slot == slot("db-0") && step.action == CommandKind::CancelBootstrap);
        let after = stop.expect("it is stopped").after.iter();
        let after: Vec<_> = after.map(ToString::to_string).collect();
        let want: &[&str] = if waits { &["api-0.1.CancelBootstrap"] } else { &[] };
        assert_eq!(after, want);
    }
}

/// R170: how many give way in the end, how many serve at least meanwhile, and whether none does for a time.
#[test]
fn an_impact_is_what_is_seen_on_the_way() {
    let recreate = update(|update| update.mode = reconciler_core::desired::UpdateMode::Recreate);
    let rolling = policy(0, 1);
    let node = |n: u32, image: &str, name| {
        in_stage(&web(1, 9, image, &rolling), &format!("web-{n}"), stage(name))
    };
    let all = |name| (0..3).map(|n| node(n, "v1", name)).collect::<Vec<_>>();
    let ready = || all(StageName::Dormant);
    let mut in_doubt = ready();
    in_doubt[2].ambiguity = Some(ambiguity(CommandKind::CancelBootstrap, T0));
    let mut last_is_new = ready();
    last_is_new[2] = node(2, "v2", StageName::Dormant);
    let rows = [
        ("one by one", ready(), 3, &rolling, (3, 2, false)),
        ("all at once", ready(), 3, &recreate, (3, 0, true)),
        ("what never served", all(StageName::EndpointKnown), 3, &recreate, (3, 0, false)),
        ("and fewer", ready(), 2, &rolling, (2, 1, false)),
        ("fewer of both", last_is_new, 2, &rolling, (2, 1, false)),
        ("with one in doubt", in_doubt, 3, &rolling, (2, 2, false)),
    ];
    for (what, records, count, policy, want) in rows {
        let plan = plan(&state(records), &web(2, count, "v2", policy));
        let [impact] = plan.impacts.as_slice() else { panic!("{what}: {:?}", plan.impacts) };
        let found = (impact.replaced, impact.minimum_available, impact.downtime);
        assert_eq!(found, want, "{what}");
    }
}
