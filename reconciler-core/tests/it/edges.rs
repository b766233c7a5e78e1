//! The very moment at which a rule begins or ends to hold, and the one case more of each two that a rule joins.

use reconciler_core::{
    desired::Power,
    drift::refusals,
    effect::{CommandKind, FailureClass, Listing},
    fold::{Fact, Transition, Verdict},
    hold::{Hold, HoldCode},
    id::{AttemptOrdinal, Fence, Uuid},
    observed::{
        ClusterState, DeleteReason, Deletion, NodeRecord, NodeStage, Remains, Retry, Second,
        StageName, next_due,
    },
    plan::Scope,
    reconcile::{explain, reconcile, reconcile_node, standing},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    FENCE, RUN, T0, at, command, decide, failure, fleet, group, in_stage, lease, of, owned,
    pending, powered, provider, record, shape, shape_with, slot, stage, state,
};
use crate::plan_steps::plan_of;
use crate::rollout::{policy, web};
use crate::world::GRACE;

/// R61, D5: what waits until a time waits until just that time, whichever way it is told to.
#[test]
fn a_wait_is_over_at_its_time() {
    let shape = shape(&[("web", 1)]);
    let until = at(5_000);
    let mut backing_off = record(&shape, "web-0");
    backing_off.backoff.not_before = Some(until);
    let mut trying_again = record(&shape, "web-0");
    trying_again.retry = Some(Retry { tries: 1, at: until, message: Redacted::new("no") });
    let mut gone = in_stage(&shape, "web-0", stage(StageName::Destroyed));
    gone.backoff.not_before = Some(until);
    for waiting in [&backing_off, &trying_again] {
        assert_eq!(command(&decide(waiting, &shape, at(4_999))), None);
        assert_eq!(command(&decide(waiting, &shape, until)), Some(CommandKind::CreateLease));
        assert_eq!(command(&decide(waiting, &shape, at(5_001))), Some(CommandKind::CreateLease));
    }
    assert!(decide(&gone, &shape, at(4_999)).is_empty());
    assert_eq!(decide(&gone, &shape, until).transitions.len(), 1, "it begins anew");
    let mut paused = state([record(&shape, "web-0")]);
    let limited = FailureClass::RateLimited { retry_after: Millis::from_secs(5) };
    let _sent = crate::fleet::dispatch(&mut paused, "web-0", CommandKind::CreateLease, 1, T0);
    let refused = Err(crate::fleet::definite(limited));
    let _refused = crate::fleet::reported(&mut paused, "web-0", 1, refused, T0);
    let least = |ms| paused.providers()[&provider()].paused_until.map(|p| p.after(Millis::new(ms)));
    let over = least(0).expect("a pause");
    let before = Timestamp::from_millis(over.as_millis() - 1);
    assert_eq!(command(&reconcile(&paused, &shape, before)), None);
    assert_eq!(command(&reconcile(&paused, &shape, over)), Some(CommandKind::CreateLease));
}

/// R46: a node by itself takes no step while it is of another revision or failed, unless it is on its way out.
#[test]
fn a_node_that_is_to_go_takes_only_the_steps_of_going() {
    let wanted = shape(&[("web", 1)]);
    let spec = wanted.expand().remove(0);
    let kind = |record: &NodeRecord| reconcile_node(record, &spec, RUN, T0).map(|a| a.kind());
    let create = Some(CommandKind::CreateLease.into());
    assert_eq!(kind(&record(&wanted, "web-0")), create);
    let other = shape_with(1, &[("web", 1, "v2")], &reconciler_core::desired::Policy::default());
    assert_eq!(kind(&record(&other, "web-0")), None);
    let mut failed = in_stage(&wanted, "web-0", stage(StageName::Failed));
    assert_eq!(kind(&failed), None);
    failed.deletion = Some(Deletion { reason: DeleteReason::Failed, since: T0 });
    assert!(kind(&failed).is_some());
}

/// C10, R184: what is off has come to rest when nothing of it runs, goes, failed or is gone: of a group, and of a slot
/// beside one that serves.
#[test]
fn what_is_off_rests_or_is_not_done() {
    let shape = shape(&[("web", 2)]);
    let (lease, failure) = (lease("l-1"), failure(FailureClass::Workload));
    let mut cases: Vec<(NodeRecord, bool)> = StageName::ALL
        .map(|name| {
            let rests = [StageName::New, StageName::LeaseCreated, StageName::EndpointKnown];
            let mut record = in_stage(&shape, "web-0", stage(name));
            let asks = name == StageName::LeaseRequested;
            record.pending = asks.then(|| pending(CommandKind::CreateLease, 1, at(1_000)));
            (record, rests.contains(&name))
        })
        .into();
    // What failed before it ran and has a lease left: nothing of it runs, and it is no rest either.
    let failed = NodeStage::Failed { failure, remains: Remains::Lease { lease } };
    cases.push((in_stage(&shape, "web-0", failed), false));
    let mut going = in_stage(&shape, "web-0", stage(StageName::EndpointKnown));
    going.deletion = Some(Deletion { reason: DeleteReason::Undesired, since: T0 });
    cases.push((going, false));
    let one_off = powered(&shape, "web", |power: &Power| power.switched_slot(0, true, 2));
    let all_off = powered(&shape, "web", |power: &Power| power.switched(true));
    for (record, rests) in cases {
        for (shape, other) in [(&one_off, StageName::Dormant), (&all_off, StageName::EndpointKnown)]
        {
            let other = in_stage(shape, "web-1", stage(other));
            let seen = standing(&state([record.clone(), other]), shape).converged;
            assert_eq!(seen, rests, "{:?} {:?}", record.stage, record.deletion);
        }
        let other = in_stage(&one_off, "web-1", stage(StageName::BootstrapRunning));
        assert!(!standing(&state([record, other]), &one_off).converged, "the other is not ready");
    }
}

/// C3: a listing that was asked for before a record was reaped says nothing of its slot; a later one does.
#[test]
fn a_listing_from_before_a_reaping_makes_no_orphan() {
    for (asked, strays) in [(50, 0), (100, 0), (101, 1)] {
        let wanted = shape(&[("web", 2)]);
        let gone = in_stage(&wanted, "web-1", stage(StageName::Destroyed));
        let mut state = state([in_stage(&wanted, "web-0", stage(StageName::Dormant)), gone]);
        let left = owned("web-1", of(&state, "web-1").attempt, "l-2");
        let kept = owned("web-0", of(&state, "web-0").attempt, "l-1");
        let reap = Fact::Decided { slot: slot("web-1"), transition: Transition::Reap };
        assert_eq!(state.fold(reap, at(100)), Verdict::Applied);
        let (provider, listing) = (provider(), Listing::Complete(vec![kept, left]));
        let (asked_at, grace) = (at(asked), GRACE);
        let listed = Fact::Listed { provider, listing, asked_at, grace, fence: FENCE };
        let _listed = state.fold(listed, at(200));
        let group = state.group(&group("web")).expect("the group");
        assert_eq!(group.orphans().count(), strays, "asked at {asked}");
    }
}

/// D10: what begins beside an attempt begins beside the present one, once, and under a later ordinal.
#[test]
fn a_candidate_stands_beside_the_present_attempt_alone() {
    let wanted = web(2, 1, "v2", &policy(1, 0));
    let mut state =
        state([in_stage(&web(1, 1, "v1", &policy(1, 0)), "web-0", stage(StageName::Dormant))]);
    let spec = |ordinal| {
        let group = wanted.group(&group("web")).expect("the group");
        let ordinal = AttemptOrdinal::new(ordinal);
        Box::new(wanted.stamp(group, slot("web-0"), wanted.generation, ordinal))
    };
    let mut fold =
        |transition| state.fold(Fact::Decided { slot: slot("web-0"), transition }, at(1));
    let beside = |transition| Transition::Beside(Box::new(transition));
    assert_eq!(fold(Transition::Candidate(spec(1))), Verdict::Illegal, "its ordinal is used");
    assert_eq!(fold(Transition::Candidate(spec(2))), Verdict::Applied);
    assert_eq!(fold(Transition::Candidate(spec(3))), Verdict::Illegal, "there is one");
    assert_eq!(fold(beside(Transition::Candidate(spec(3)))), Verdict::Illegal);
    assert_eq!(fold(beside(Transition::Insert(spec(3)))), Verdict::Illegal);
    assert_eq!(fold(beside(Transition::Promote)), Verdict::Illegal);
    assert_eq!(fold(beside(Transition::Restart(spec(3)))), Verdict::Illegal, "it is not gone");
    let gone = beside(Transition::BeginDelete(DeleteReason::Failed));
    assert_eq!(fold(gone), Verdict::Applied);
    assert_eq!(fold(beside(Transition::MarkDestroyed)), Verdict::Applied);
    assert_eq!(fold(beside(Transition::Restart(spec(2)))), Verdict::Illegal, "it had that one");
    assert_eq!(fold(beside(Transition::Restart(spec(3)))), Verdict::Applied);
}

/// D10: beside a slot without a record there is nothing to stand beside.
#[test]
fn nothing_begins_beside_nobody() {
    let wanted = shape(&[("web", 1)]);
    let spec = || Box::new(wanted.expand().remove(0));
    let mut state = state([]);
    let mut fold =
        |transition| state.fold(Fact::Decided { slot: slot("web-0"), transition }, at(1));
    let beside = |transition| Transition::Beside(Box::new(transition));
    assert_eq!(fold(beside(Transition::Insert(spec()))), Verdict::Illegal);
    assert_eq!(fold(beside(Transition::Restart(spec()))), Verdict::Stale);
    assert_eq!(fold(Transition::Candidate(spec())), Verdict::Stale);
    assert_eq!(fold(Transition::Insert(spec())), Verdict::Applied);
}

/// R163: an own fence is no newer one; the next is.
#[test]
fn only_a_later_fence_is_a_newer_controllers() {
    let shape = shape(&[("web", 1)]);
    let mut state = state([in_stage(&shape, "web-0", NodeStage::New)]);
    let mut stray = owned("web-0", of(&state, "web-0").attempt, "l-9");
    stray.attempt = Uuid::from_bytes([9; 16]);
    let (provider, listing) = (provider(), Listing::Complete(vec![stray]));
    let (now, grace) = (at(600_000), GRACE);
    let _listed =
        state.fold(Fact::Listed { provider, listing, asked_at: now, grace, fence: FENCE }, now);
    assert_eq!(refusals(&state, Some(FENCE)).len(), 0);
    assert_eq!(refusals(&state, None).len(), 0);
    assert_eq!(refusals(&state, Some(Fence::new(FENCE.get() - 1))).len(), 1);
}

/// P7: why a node goes: its group is no longer declared, wants none, or fewer.
#[test]
fn a_plan_says_why_a_node_goes() {
    let observed = |shape| {
        state(["web-0", "web-1"].map(|text| in_stage(shape, text, stage(StageName::Dormant))))
    };
    let two = shape(&[("db", 0), ("web", 2)]);
    let cases = [
        (shape(&[("db", 0)]), "its group is no longer declared"),
        (shape(&[("db", 0), ("web", 0)]), "its group wants no nodes"),
        (shape(&[("db", 0), ("web", 1)]), "its index is beyond the count"),
    ];
    for (target, why) in cases {
        let plan = plan_of(&observed(&two), &target, Scope::All, T0);
        let last = plan.changes.iter().find(|change| change.slot == slot("web-1"));
        assert_eq!(last.map(|change| change.why), Some(why));
    }
}

/// P7: a hold that stands is told with its time; one that begins with the decision has none yet.
#[test]
fn a_hold_is_told_as_it_stands() {
    let shape = shape(&[("web", 1)]);
    let told = |record: NodeRecord| {
        let state = state([record]);
        let plan = reconcile(&state, &shape, T0);
        let reason = plan.reasons.first().map(|(_, reason)| reason);
        let facts = explain(&slot("web-0"), reason, &state, &shape, T0).facts;
        facts.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let mut held = in_stage(&shape, "web-0", stage(StageName::Destroyed));
    let text = Redacted::new("five times");
    held.hold = Some(Hold { code: HoldCode::CrashLoop, text, since: T0 });
    let broken = in_stage(&shape, "web-0", NodeStage::LeaseRequested);
    assert!(told(held).iter().any(|name| name.contains("since") && *name != "since"));
    let names = told(broken);
    assert!(names.contains(&"hold") && names.contains(&"because"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("since") && *name != "since"), "{names:?}");
}

/// Rounds: a group is behind if one of its slots is, by its own round or the group's.
#[test]
fn a_group_is_behind_with_its_first_slot() {
    let shape = shape(&[("web", 2)]);
    let state = state(["web-0", "web-1"].map(|t| in_stage(&shape, t, stage(StageName::Dormant))));
    let behind =
        |power: &Power| state.group(&group("web")).is_some_and(|group| group.is_behind(power));
    assert!(!behind(&Power::default()));
    assert!(behind(&Power::default().anew()));
    assert!(behind(&Power::default().anew_slot(1)));
    assert!(!behind(&Power::default().anew_slot(7)), "there is no such slot");
}

/// D12: what fell due by a clock that went back falls due again, and what was noted ahead of it counts from now.
#[test]
fn a_clock_that_went_back_brings_due_times_back() {
    let mut state = fleet("web-0 #1 v1 handed-off since=+0 lease=l-1 member=1 stable=+10000");
    assert_eq!(state.next_due(), Some(at(10_000)));
    state.mark_due(at(10_000));
    assert_eq!(state.next_due(), None);
    state.mark_due(at(1));
    assert_eq!(state.next_due(), Some(at(10_000)));
    assert!(state.take_dirty().contains(&slot("web-0")));
}

/// D12, C3: a record was reaped at 100 s; the clock goes to `now` and a listing is asked for at `asked`. Whether what
/// it shows of the slot is one that no record accounts for.
#[test]
fn a_reaping_ahead_of_the_clock_counts_as_now() {
    for (now, asked, strays) in
        [(50, 50, 0), (50, 51, 1), (100, 100, 0), (100, 101, 1), (150, 100, 0)]
    {
        let wanted = shape(&[("web", 1)]);
        let mut state = state([in_stage(&wanted, "web-0", stage(StageName::Destroyed))]);
        let left = owned("web-0", of(&state, "web-0").attempt, "l-2");
        let reap = Fact::Decided { slot: slot("web-0"), transition: Transition::Reap };
        state.mark_due(at(100_000));
        assert_eq!(state.fold(reap, at(100_000)), Verdict::Applied);
        state.mark_due(at(now * 1_000));
        let (provider, listing) = (provider(), Listing::Complete(vec![left]));
        let (asked_at, grace) = (at(asked * 1_000), GRACE);
        let _listed =
            state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, asked_at);
        let seen = state.group(&group("web")).expect("the group").orphans().count();
        assert_eq!(seen, strays, "the clock at {now} s, asked at {asked} s");
    }
}

/// R166: what a node comes after is told in order, whether its own step stands before, between or after those of the
/// groups that it waits for.
#[test]
fn what_a_step_comes_after_is_in_order() {
    use reconciler_core::desired::{GateCondition, GroupKind};
    let (a, z) = (("a", GateCondition::Ready), ("z", GateCondition::Ready));
    let waits = [
        (vec![a], vec!["a-0", "m-0"]),
        (vec![z], vec!["m-0", "z-0"]),
        (vec![a, z], vec!["a-0", "m-0", "z-0"]),
    ];
    for (after, wanted) in waits {
        let shape = |generation, image| {
            let kind = GroupKind::Service;
            let groups: [crate::fleet::Gated<'_>; 3] =
                [("a", 1, kind, &[]), ("m", 1, kind, &after), ("z", 1, kind, &[])];
            crate::fleet::gated(generation, image, &groups).expect("a shape")
        };
        let base = shape(1, "v1");
        let observed = state(
            ["a-0", "m-0", "z-0"].map(|text| in_stage(&base, text, stage(StageName::Dormant))),
        );
        let plan = plan_of(&observed, &shape(2, "v2"), Scope::All, T0);
        let told = plan
            .steps
            .iter()
            .map(|step| step.after.iter().map(|key| key.slot.to_string()).collect::<Vec<_>>());
        let told: Vec<_> = told.collect();
        assert!(told.iter().any(|slots| *slots == wanted), "{told:#?}");
        assert!(plan.steps.iter().all(|step| step.after.windows(2).all(|two| two[0] < two[1])));
    }
}

/// C17, D6: a doubt about the nodes of a group ends with the last of them.
#[test]
fn a_doubt_ends_with_the_last_of_its_nodes() {
    let wanted = shape(&[("web", 2)]);
    let gone = ["web-0", "web-1"].map(|text| in_stage(&wanted, text, stage(StageName::Destroyed)));
    let text = Redacted::new("nine of ten are said to be gone");
    let hold = Hold { code: HoldCode::Implausible, text, since: T0 };
    let mut state = ClusterState::restore(gone, [(group("web"), hold)], T0);
    for (text, held) in [("web-0", true), ("web-1", false)] {
        let reap = Fact::Decided { slot: slot(text), transition: Transition::Reap };
        assert_eq!(state.fold(reap, at(1)), Verdict::Applied);
        let group = state.group(&group("web")).expect("the group");
        assert_eq!(group.hold().is_some(), held, "after {text}");
    }
}

/// D8, D12: a cleanup waits for none of its stage's times; who stands beside is looked at in its own time.
#[test]
fn what_waits_for_nothing_falls_due_by_nothing() {
    let wanted = shape(&[("web", 1)]);
    for name in StageName::ALL {
        let mut record = in_stage(&wanted, "web-0", stage(name));
        record.deletion = Some(Deletion { reason: DeleteReason::Undesired, since: T0 });
        assert_eq!(next_due(&record, T0), None, "{name:?}");
    }
    let mut record = in_stage(&wanted, "web-0", stage(StageName::Dormant));
    let candidate = in_stage(&wanted, "web-0", stage(StageName::Dormant));
    let look_at = Some(at(5_000));
    record.second = Some(Box::new(Second { look_at, ..Second::new(candidate) }));
    let mut state = state([record]);
    for (now, due) in [(4_999, Some(at(5_000))), (5_000, None), (5_001, None)] {
        state.mark_due(at(now));
        assert_eq!(state.next_due(), due, "{now}");
    }
}
