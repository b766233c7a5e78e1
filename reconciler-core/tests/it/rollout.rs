//! Updates row by row: who gives way, who waits and why, and what a promotion needs (R169 to R173, D10, C10).
//!
//! How whole updates go, and how they end, stands in `rollout_ends`.

use reconciler_core::{
    desired::{Amount, ClusterShape, Policy, UpdateMode, UpdatePolicy},
    effect::{Look, WorkloadState},
    fold::{Fact, Transition, Verdict},
    id::{AttemptId, AttemptOrdinal},
    observed::{
        Backoff, ClusterState, DeleteReason, Handle, NodeRecord, NodeStage, Second, Side, StageName,
    },
    reconcile::{ReconcilePlan, Rung, reconcile, standing},
    time::Millis,
};

use crate::fleet::{T0, at, group, in_stage, lease, shape_with, slot, stage, state};

pub(crate) fn policy(surge: u32, unavailable: u32) -> Policy {
    let update = UpdatePolicy {
        max_surge: Amount::Nodes(surge),
        max_unavailable: Amount::Nodes(unavailable),
        ..UpdatePolicy::default()
    };
    Policy { update, ..Policy::default() }
}

pub(crate) fn with(change: impl FnOnce(&mut UpdatePolicy)) -> Policy {
    let mut policy = policy(0, 1);
    change(&mut policy.update);
    policy
}

pub(crate) fn web(generation: u64, count: u32, image: &str, policy: &Policy) -> ClusterShape {
    shape_with(generation, &[("web", count, image)], policy)
}

/// The slots that something happens to, with what it is.
fn moves(plan: &ReconcilePlan) -> Vec<(String, String)> {
    let word = |transition: &Transition| match transition {
        Transition::BeginDelete(reason) => format!("goes: {}", reason.as_str()),
        Transition::Candidate(spec) => format!("candidate {}", spec.attempt.ordinal),
        Transition::Restart(spec) => format!("restarts as {}", spec.attempt.ordinal),
        other @ (Transition::Insert(_)
        | Transition::MarkDestroyed
        | Transition::Settle
        | Transition::Rest
        | Transition::Expire
        | Transition::TimeOut
        | Transition::GiveUp(_)
        | Transition::Retune(_)
        | Transition::Hold(_)
        | Transition::Reap
        | Transition::Promote
        | Transition::Beside(_)) => format!("{other:?}"),
    };
    plan.transitions.iter().map(|(slot, t)| (slot.to_string(), word(t))).collect()
}

pub(crate) fn rung(plan: &ReconcilePlan, text: &str) -> Rung {
    let found = plan.reasons.iter().find(|(at, _)| *at == slot(text));
    found.map_or(Rung::Steady, |(_, reason)| reason.rung.clone())
}

/// Nodes of `image` in these stages, in the order of their indices.
pub(crate) fn nodes(stages: &[StageName], image: &str, policy: &Policy) -> Vec<NodeRecord> {
    let count = u32::try_from(stages.len()).expect("few");
    let shape = web(1, count, image, policy);
    let one = |(index, name): (usize, &StageName)| {
        in_stage(&shape, &format!("web-{index}"), stage(*name))
    };
    stages.iter().enumerate().map(one).collect()
}

/// A record with a second attempt in `stage`, made for `shape`.
pub(crate) fn beside(
    mut record: NodeRecord,
    shape: &ClusterShape,
    ordinal: u64,
    in_stage: NodeStage,
) -> NodeRecord {
    let group = shape.group(&record.slot.group).expect("a group").clone();
    let spec = shape.stamp(&group, record.slot.clone(), record.born, AttemptOrdinal::new(ordinal));
    let mut second = NodeRecord::fresh(spec, Backoff::default(), T0);
    second.stage = in_stage;
    record.second = Some(Box::new(Second::new(second)));
    record
}

const READY: StageName = StageName::Dormant;

/// R170: one at a time, the lowest first; the others say which budget they wait for.
#[test]
fn without_surge_as_many_go_as_may_be_missing() {
    let policy = policy(0, 2);
    let plan = reconcile(&state(nodes(&[READY; 4], "v1", &policy)), &web(2, 4, "v2", &policy), T0);
    let goes = |text: &str| (text.to_owned(), "goes: another revision is wanted".to_owned());
    assert_eq!(moves(&plan), [goes("web-0"), goes("web-1")]);
    let waits = Rung::AwaitTurn { unavailable: 0, unavailable_max: 2, surge: 0, surge_max: 0 };
    assert_eq!((rung(&plan, "web-2"), rung(&plan, "web-3")), (waits.clone(), waits.clone()));
    assert!(waits.to_string().contains("0 of 2 may be missing"), "{waits}");
}

/// C10: what does not serve is replaced at once and never waited for, whatever the budget.
#[test]
fn a_node_that_does_not_serve_gives_way_first() {
    let policy = policy(0, 1);
    let stages = [READY, READY, StageName::BootstrapRunning];
    let plan = reconcile(&state(nodes(&stages, "v1", &policy)), &web(2, 3, "v2", &policy), T0);
    assert_eq!(moves(&plan), [("web-2".to_owned(), "goes: another revision is wanted".to_owned())]);
    let failed = [READY, READY, StageName::Failed];
    let plan = reconcile(&state(nodes(&failed, "v1", &policy)), &web(2, 3, "v2", &policy), T0);
    assert_eq!(moves(&plan), [("web-2".to_owned(), "goes: it failed".to_owned())]);
    let none = [StageName::BootstrapRunning; 3];
    let plan = reconcile(&state(nodes(&none, "v1", &policy)), &web(2, 3, "v2", &policy), T0);
    assert_eq!(moves(&plan).len(), 3, "an update of what does not serve cannot be stuck");
}

/// C10: low availability is not made worse: a group that grows waits until it is whole.
#[test]
fn a_group_that_is_short_of_nodes_replaces_none_that_serves() {
    let policy = policy(0, 1);
    let two = state(nodes(&[READY; 2], "v1", &policy));
    let plan = reconcile(&two, &web(2, 4, "v2", &policy), T0);
    assert_eq!((moves(&plan).len(), plan.to_start.len()), (0, 2));
    // What is beyond the count does not help the others.
    let three = state(nodes(&[READY, StageName::New, READY], "v1", &policy));
    let plan = reconcile(&three, &web(2, 2, "v2", &policy), T0);
    assert_eq!(moves(&plan), [("web-1".to_owned(), "goes: another revision is wanted".to_owned())]);
    assert_eq!(plan.to_destroy, [slot("web-2")]);
}

/// R169: with surge a candidate comes first, and what serves goes on serving.
#[test]
fn with_surge_a_candidate_begins_beside() {
    let policy = policy(1, 0);
    let two = web(2, 3, "v2", &policy);
    let plan = reconcile(&state(nodes(&[READY; 3], "v1", &policy)), &two, T0);
    assert_eq!(moves(&plan), [("web-0".to_owned(), "candidate 2".to_owned())]);
    assert!(matches!(rung(&plan, "web-1"), Rung::AwaitTurn { surge: 0, surge_max: 1, .. }));
    let mut records = nodes(&[READY; 3], "v1", &policy);
    records[0] = beside(records[0].clone(), &two, 2, NodeStage::New);
    let plan = reconcile(&state(records), &two, T0);
    assert_eq!(moves(&plan), []);
    assert_eq!(plan.per_second.len(), 1);
    assert_eq!(rung(&plan, "web-0"), Rung::AwaitCandidate(AttemptOrdinal::new(2)));
    assert!(matches!(rung(&plan, "web-1"), Rung::AwaitTurn { surge: 1, surge_max: 1, .. }));
}

/// R170: where all old nodes go first, none comes before the last of them is gone.
#[test]
fn recreate_takes_all_down_before_it_makes_one() {
    let policy = with(|update| update.mode = UpdateMode::Recreate);
    let two = web(2, 3, "v2", &policy);
    let plan = reconcile(&state(nodes(&[READY; 3], "v1", &policy)), &two, T0);
    assert_eq!(moves(&plan).len(), 3);
    let half = [StageName::Destroyed, READY, StageName::Destroyed];
    let plan = reconcile(&state(nodes(&half, "v1", &policy)), &two, T0);
    assert_eq!(moves(&plan), [("web-1".to_owned(), "goes: another revision is wanted".to_owned())]);
    assert_eq!(rung(&plan, "web-0"), Rung::AwaitOthersGone { left: 1 });
    let plan = reconcile(&state(nodes(&[StageName::Destroyed; 3], "v1", &policy)), &two, T0);
    assert!(moves(&plan).iter().all(|(_, what)| what == "restarts as 2"), "{plan:?}");
}

/// Shares: surge rounds up, unavailability down, and both nothing is one (C10).
#[test]
fn shares_are_rounded_to_the_safe_side() {
    let share = |surge, unavailable| {
        let policy = with(|update| {
            update.max_surge = Amount::Percent(surge);
            update.max_unavailable = Amount::Percent(unavailable);
        });
        move |count| (policy.update.surge(count), policy.update.unavailable(count))
    };
    assert_eq!([1, 3, 4, 5].map(share(25, 25)), [(1, 0), (1, 0), (1, 1), (2, 1)]);
    assert_eq!([1, 3, 10].map(share(0, 25)), [(0, 1), (0, 1), (0, 2)]);
    assert_eq!(share(100, 100)(u32::MAX), (u32::MAX, u32::MAX));
}

/// R172, R173: ready, observed for long enough, seen to run just now; nothing less promotes.
#[test]
fn a_candidate_takes_over_after_every_gate() {
    let policy = {
        let mut policy = policy(1, 0);
        policy.update.observation = Millis::from_secs(5);
        policy
    };
    let two = web(2, 1, "v2", &policy);
    let old = || nodes(&[READY], "v1", &policy).remove(0);
    let candidate = |name| beside(old(), &two, 2, stage(name));
    let why = |record: &NodeRecord, now| {
        let plan = reconcile(&state([record.clone()]), &two, now);
        (plan.second_reasons.first().map(|(_, r)| r.rung.clone()), plan.second_looks.len())
    };
    assert_eq!(why(&candidate(StageName::BootstrapRunning), at(0)).0, Some(Rung::Settling));
    let ready = candidate(StageName::HandedOff);
    assert_eq!(why(&ready, at(4_999)), (Some(Rung::Observing), 0));
    assert_eq!(why(&ready, at(5_000)), (Some(Rung::Verifying), 1));
    let seen = |at| {
        let mut record = ready.clone();
        if let Some(second) = &mut record.second {
            second.seen = Some(at);
        }
        record
    };
    let promotes = |record: &NodeRecord, now| {
        let seen = ClusterState::restore([record.clone()], [], now);
        let plan = reconcile(&seen, &two, now);
        matches!(plan.transitions.as_slice(), [(_, Transition::Promote)])
    };
    assert!(!promotes(&seen(at(4_999)), at(5_000)), "a look from before the gate proves nothing");
    assert!(promotes(&seen(at(5_000)), at(5_001)));
    assert!(!promotes(&seen(at(5_000)), at(60_000)), "an old look proves nothing");
}

/// R173: a look that does not show a running workload is no proof; one that shows its end is a failure.
#[test]
fn an_unclear_look_promotes_nobody() {
    let policy = policy(1, 0);
    let two = web(2, 1, "v2", &policy);
    let old = nodes(&[READY], "v1", &policy).remove(0);
    let mut state = state([beside(old, &two, 2, stage(StageName::HandedOff))]);
    let attempt = second(&state).attempt;
    let mut look = |workload| {
        let hook = reconciler_core::effect::HookSight::Untold;
        let look = Look::Present { lease: lease("l-1"), endpoint: None, workload, hook };
        let (slot, visibility) = (slot("web-0"), Millis::ZERO);
        let _verdict = state.fold(Fact::Looked { slot, attempt, look, visibility }, at(10));
        let plan = reconcile(&state, &two, at(10));
        plan.transitions.iter().any(|(_, t)| matches!(t, Transition::Promote))
    };
    assert!(!look(WorkloadState::Unknown));
    assert!(look(WorkloadState::Running { workload: Handle::default() }));
    assert!(!look(WorkloadState::Absent));
}

fn second(state: &ClusterState) -> NodeRecord {
    let record = state.record(&slot("web-0")).expect("a record");
    record.side(Side::Second).expect("a second attempt").clone()
}

/// One fold makes the candidate the present attempt and lets the other go; no ordinal comes twice.
#[test]
fn a_promotion_is_one_swap() {
    let policy = policy(1, 0);
    let two = web(2, 1, "v2", &policy);
    let old = nodes(&[READY], "v1", &policy).remove(0);
    let mut state = state([beside(old, &two, 2, stage(StageName::HandedOff))]);
    let decided = |state: &mut ClusterState, transition| {
        state.fold(Fact::Decided { slot: slot("web-0"), transition }, at(10))
    };
    assert_eq!(decided(&mut state, Transition::Promote), Verdict::Applied);
    let record = state.record(&slot("web-0")).expect("a record").clone();
    assert_eq!((record.attempt.ordinal.get(), record.is_ready()), (2, true));
    let going = second(&state);
    assert_eq!(going.attempt.ordinal.get(), 1);
    assert_eq!(going.deletion.map(|deletion| deletion.reason), Some(DeleteReason::Replaced));
    let seen = state.group(&group("web")).expect("a group");
    assert_eq!((seen.ready(), seen.owning(), seen.seconds()), (1, 2, 1));
    assert_eq!(seen.outdated(record.revision), (0, 0));
    assert!(!standing(&state, &two).converged, "not before the old attempt is gone");
    assert_eq!(record.next_ordinal().get(), 3);
    assert_eq!(decided(&mut state, Transition::Promote), Verdict::Illegal, "once");
}

/// A candidate whose shape is no longer wanted goes; the node that it stood beside stays.
#[test]
fn a_candidate_follows_the_latest_shape() {
    let policy = policy(1, 0);
    let two = web(2, 1, "v2", &policy);
    let record = beside(nodes(&[READY], "v1", &policy).remove(0), &two, 2, stage(READY));
    let decide = |shape: &ClusterShape| moves(&reconcile(&state([record.clone()]), shape, T0));
    let goes = |why: &str| vec![("web-0".to_owned(), format!("Beside(BeginDelete({why}))"))];
    assert_eq!(decide(&web(3, 1, "v1", &policy)), goes("Undesired"));
    assert_eq!(decide(&web(3, 1, "v3", &policy)), goes("Replaced"));
    let none = reconcile(&state([record.clone()]), &web(3, 0, "v2", &policy), T0);
    assert_eq!(none.to_destroy, [slot("web-0")]);
    assert_eq!(moves(&none), goes("Undesired"));
}

/// A node that is lost while its candidate comes up is followed by the candidate as it stands.
#[test]
fn a_candidate_takes_an_empty_slot_at_once() {
    let policy = policy(1, 0);
    let two = web(2, 1, "v2", &policy);
    let gone = nodes(&[StageName::Destroyed], "v1", &policy).remove(0);
    let record = beside(gone, &two, 2, stage(StageName::BootstrapRunning));
    let plan = reconcile(&state([record]), &two, T0);
    assert!(matches!(plan.transitions.as_slice(), [(_, Transition::Promote)]), "{plan:?}");
}

/// Facts find their attempt: what happens to a candidate says nothing of what serves (R59).
#[test]
fn a_fact_is_about_its_attempt_alone() {
    let policy = policy(1, 0);
    let two = web(2, 1, "v2", &policy);
    let old = nodes(&[READY], "v1", &policy).remove(0);
    let mut state = state([beside(old, &two, 2, stage(StageName::HandedOff))]);
    let exited = |state: &mut ClusterState, attempt: AttemptId| {
        let status = reconciler_core::effect::ExitStatus::Code(1);
        let tail = reconciler_core::redact::Redacted::default();
        let (slot, workload) = (slot("web-0"), Handle::default());
        state.fold(Fact::Exited { slot, attempt, workload, status, tail }, at(5))
    };
    let candidate = second(&state).attempt;
    assert_eq!(exited(&mut state, candidate), Verdict::Applied);
    assert_eq!(second(&state).stage.name(), StageName::Failed);
    let record = state.record(&slot("web-0")).expect("a record").clone();
    assert!(record.is_ready());
    let other = AttemptId { ordinal: AttemptOrdinal::new(9), ..candidate };
    assert_eq!(exited(&mut state, other), Verdict::Stale);
}
