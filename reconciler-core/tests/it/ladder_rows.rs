//! The ladder's named rows, each with its exact answer: R23 to R33 and R35 to R46.
//!
//! What holds in every combination stands in `ladder_table`.

use reconciler_core::{
    desired::{ClusterShape, Policy},
    effect::{CommandKind, FailureClass},
    fold::Transition,
    hold::{Hold, HoldCode},
    id::AttemptOrdinal,
    observed::{
        Backoff, ClusterState, DeleteReason, Deletion, Endpoint, NodeRecord, NodeStage, Remains,
        StageName,
    },
    reconcile::{Reason, ReconcilePlan, Rung, reconcile, reconcile_node},
    redact::Redacted,
    time::Timestamp,
};

use crate::fleet::{
    RUN, ambiguity, at, command, decide, failure, in_stage, kinds, lease, pending, shape,
    shape_with, slot, stage, state,
};

fn one() -> ClusterShape {
    shape(&[("web", 1)])
}

fn in_named(name: StageName) -> NodeRecord {
    in_stage(&one(), "web-0", stage(name))
}

fn deleting(name: StageName) -> NodeRecord {
    let mut record = in_named(name);
    record.deletion = Some(Deletion { reason: DeleteReason::Undesired, since: at(0) });
    record
}

fn transition(plan: &ReconcilePlan) -> Option<&Transition> {
    plan.transitions.first().map(|(_, transition)| transition)
}

fn waits(plan: &ReconcilePlan, rung: &Rung, until: Option<Timestamp>) {
    assert!(plan.is_empty(), "{plan:?}");
    let want = Reason { rung: rung.clone(), until };
    assert_eq!(plan.reasons.first().map(|(_, reason)| reason), Some(&want));
}

fn asks(record: &NodeRecord, now: Timestamp, kind: CommandKind) {
    let plan = decide(record, &one(), now);
    assert_eq!(command(&plan), Some(kind));
    let spec = one().expand().remove(0);
    let alone = reconcile_node(record, &spec, RUN, now);
    assert_eq!(alone.map(|step| step.kind()), Some(kind.into()), "alone it says the same (R13)");
}

/// R23: a wanted slot without a record gets one, and its lease is asked for in the next pass.
#[test]
fn a_wanted_slot_begins_with_a_record() {
    let plan = reconcile(&state([]), &one(), at(0));
    assert_eq!(plan.to_start.len(), 1);
    assert!(plan.per_node.is_empty() && plan.transitions.is_empty());
    asks(&in_named(StageName::New), at(0), CommandKind::CreateLease);
}

/// R35 to R37, R39, R40: the step of each stage.
#[test]
fn each_stage_asks_for_its_step() {
    asks(&in_named(StageName::New), at(0), CommandKind::CreateLease);
    asks(&in_named(StageName::LeaseCreated), at(0), CommandKind::LookupEndpoint);
    let endpoint = Some(Endpoint::default());
    let known = NodeStage::LeaseCreated { lease: lease("l-1"), endpoint, probe_at: None };
    asks(&in_stage(&one(), "web-0", known), at(0), CommandKind::StartBootstrap);
    asks(&in_named(StageName::EndpointKnown), at(0), CommandKind::StartBootstrap);
    let joined = in_named(StageName::SwactorJoined);
    asks(&joined, at(0), CommandKind::BootstrapConvergenceObserved);
}

/// R38, R41: where there is nothing to do, forced passes stay empty.
#[test]
fn what_runs_is_left_alone() {
    let running = in_named(StageName::BootstrapRunning);
    waits(&decide(&running, &one(), at(249)), &Rung::Settling, Some(at(250)));
    let ready = in_named(StageName::HandedOff);
    waits(&decide(&ready, &one(), at(9_999)), &Rung::Stabilising, Some(at(10_000)));
    let plan = decide(&in_named(StageName::Dormant), &one(), at(999));
    assert_eq!(plan, ReconcilePlan::default(), "a dormant node is steady");
}

/// R4: settle and stable time are met at their exact moments.
#[test]
fn settle_and_stable_times_are_exact() {
    let running = in_named(StageName::BootstrapRunning);
    assert_eq!(transition(&decide(&running, &one(), at(250))), Some(&Transition::Settle));
    let ready = in_named(StageName::HandedOff);
    assert_eq!(transition(&decide(&ready, &one(), at(10_000))), Some(&Transition::Rest));
}

/// R45, R67: an effect on its way is waited for up to its deadline and not beyond.
#[test]
fn an_effect_is_waited_for_to_its_deadline() {
    let mut record = in_named(StageName::LeaseRequested);
    record.pending = Some(pending(CommandKind::CreateLease, 1, at(100)));
    let rung = Rung::EffectPending(CommandKind::CreateLease.into());
    waits(&decide(&record, &one(), at(99)), &rung, Some(at(100)));
    for now in [at(100), at(101)] {
        assert_eq!(transition(&decide(&record, &one(), now)), Some(&Transition::Expire));
    }
}

/// R42, R43: a failed attempt is cleaned up at once, and its successor waits for its exact time.
#[test]
fn a_failed_attempt_is_cleaned_up_at_once_and_replaced_when_due() {
    let mut failed = in_named(StageName::Failed);
    failed.backoff = Backoff { failures: 1, delays: 1, not_before: Some(at(500)) };
    let plan = decide(&failed, &one(), at(0));
    assert_eq!(transition(&plan), Some(&Transition::BeginDelete(DeleteReason::Failed)));
    failed.deletion = Some(Deletion { reason: DeleteReason::Failed, since: at(0) });
    assert_eq!(command(&decide(&failed, &one(), at(0))), Some(CommandKind::CancelBootstrap));

    let gone = NodeStage::Destroyed { at: at(0), failure: Some(failure(FailureClass::Workload)) };
    failed.stage = gone;
    failed.deletion = None;
    let rung = Rung::Backoff { failures: 1, attempts: 5 };
    waits(&decide(&failed, &one(), at(499)), &rung, Some(at(500)));
    let plan = decide(&failed, &one(), at(500));
    let Some(Transition::Restart(spec)) = transition(&plan) else { panic!("{plan:?}") };
    assert_eq!(spec.attempt.ordinal, AttemptOrdinal::new(2), "an attempt is never reused");
}

/// R44: cancel, destroy, mark; one in each pass and in that order.
#[test]
fn a_deletion_cancels_then_destroys_then_marks() {
    let running = [
        StageName::BootstrapRunning,
        StageName::SwactorJoined,
        StageName::HandedOff,
        StageName::Dormant,
        StageName::Failed,
    ];
    for name in running {
        asks(&deleting(name), at(0), CommandKind::CancelBootstrap);
    }
    for name in [StageName::LeaseCreated, StageName::EndpointKnown] {
        asks(&deleting(name), at(0), CommandKind::DestroyLease);
    }
    let mut leased = deleting(StageName::Failed);
    let failure = failure(FailureClass::Workload);
    leased.stage = NodeStage::Failed { failure, remains: Remains::Lease { lease: lease("l-1") } };
    asks(&leased, at(0), CommandKind::DestroyLease);
    let plan = decide(&deleting(StageName::New), &one(), at(0));
    assert_eq!(transition(&plan), Some(&Transition::MarkDestroyed));
}

/// R24, R33: what is destroyed is reaped if unwanted, and begun anew if wanted.
#[test]
fn what_is_destroyed_is_reaped_or_restarted() {
    let gone = in_named(StageName::Destroyed);
    let none = shape(&[("web", 0)]);
    assert_eq!(transition(&decide(&gone, &none, at(0))), Some(&Transition::Reap));
    let plan = decide(&gone, &one(), at(0));
    assert!(matches!(transition(&plan), Some(Transition::Restart(_))), "{plan:?}");
}

/// R26, R27: scaling adds and takes the highest indices.
#[test]
fn scaling_touches_the_highest_indices() {
    let two = shape(&[("web", 2)]);
    let settled = |text| in_stage(&two, text, stage(StageName::Dormant));
    let both = state([settled("web-0"), settled("web-1")]);
    let up = reconcile(&both, &shape(&[("web", 4)]), at(0));
    let started: Vec<_> = up.to_start.iter().map(|spec| spec.slot.clone()).collect();
    assert_eq!(started, [slot("web-2"), slot("web-3")]);
    let down = reconcile(&both, &one(), at(0));
    assert_eq!(down.to_destroy, [slot("web-1")]);
}

/// D9, C11: a failed low index is retried, not swapped for a high one.
#[test]
fn a_failed_low_index_is_kept_when_scaling_down() {
    let five = shape(&[("web", 5)]);
    let mut records: Vec<_> =
        (1..5).map(|n| in_stage(&five, &format!("web-{n}"), stage(StageName::HandedOff))).collect();
    records.push(in_stage(&five, "web-0", stage(StageName::Failed)));
    let plan = reconcile(&state(records), &shape(&[("web", 3)]), at(0));
    assert_eq!(plan.to_destroy, [slot("web-3"), slot("web-4")]);
    let failed = (slot("web-0"), Transition::BeginDelete(DeleteReason::Failed));
    assert_eq!(plan.transitions, [failed]);
}

/// R29, R31: another revision destroys first; a deletion goes on whatever is wanted now.
#[test]
fn another_revision_is_a_destroy_and_then_a_fresh_attempt() {
    let other = shape_with(2, &[("web", 1, "v2")], &Policy::default());
    let plan = decide(&in_named(StageName::Dormant), &other, at(0));
    assert_eq!(transition(&plan), Some(&Transition::BeginDelete(DeleteReason::Replaced)));
    let wanted_again = decide(&deleting(StageName::Dormant), &one(), at(0));
    assert_eq!(command(&wanted_again), Some(CommandKind::CancelBootstrap));
    let plan = decide(&in_named(StageName::Destroyed), &other, at(0));
    let Some(Transition::Restart(spec)) = transition(&plan) else { panic!("{plan:?}") };
    assert_eq!(spec.revision, other.expand()[0].revision, "the latest revision");
}

/// C13: how a node is treated never replaces it; the record takes the change over.
#[test]
fn another_policy_is_taken_over_in_place() {
    let policy = Policy { stop_grace: reconciler_core::time::Millis::new(1), ..Policy::default() };
    let other = shape_with(2, &[("web", 1, "v1")], &policy);
    let plan = decide(&in_named(StageName::Dormant), &other, at(0));
    assert!(matches!(transition(&plan), Some(Transition::Retune(_))), "{plan:?}");
}

/// D10: a lease is asked for only while there is room; who waits for room says so.
#[test]
fn a_create_waits_for_room() {
    let three = shape(&[("web", 3)]);
    let two = shape(&[("web", 2)]);
    let going = || {
        let mut record = in_stage(&three, "web-2", stage(StageName::Dormant));
        record.deletion = Some(Deletion { reason: DeleteReason::Undesired, since: at(0) });
        record
    };
    let new = |text| in_stage(&three, text, NodeStage::New);
    let plan = reconcile(&state([new("web-0"), new("web-1"), going()]), &two, at(0));
    let want = [
        ("web-0".to_owned(), CommandKind::CreateLease),
        ("web-2".to_owned(), CommandKind::CancelBootstrap),
    ];
    assert_eq!(kinds(&plan.per_node), want);
    assert_eq!(plan.waiting, [slot("web-1")]);
    let rung = Rung::Overshoot { owning: 1, orphans: 0, count: 2 };
    assert_eq!(plan.reasons[1].1.rung, rung);
}

/// R98: what is not admitted waits for a place, and says so.
#[test]
fn what_is_not_admitted_waits_for_a_place() {
    let three = shape(&[("web", 3)]);
    let new = |text| in_stage(&three, text, NodeStage::New);
    let fleet = state([new("web-0"), new("web-1"), new("web-2")]);
    let mut plan = reconcile(&fleet, &three, at(0));
    plan.admit(1);
    assert_eq!(kinds(&plan.per_node), [("web-0".to_owned(), CommandKind::CreateLease)]);
    assert_eq!(plan.waiting, [slot("web-1"), slot("web-2")]);
    assert!(plan.reasons[1..].iter().all(|(_, reason)| reason.rung == Rung::Parallelism));
}

/// C17: one record that makes no sense is held, and the others go on.
#[test]
fn one_bad_record_holds_itself_alone() {
    let many = shape(&[("web", 100)]);
    let records = (0..100).map(|n| {
        let name = if n == 40 { StageName::LeaseRequested } else { StageName::New };
        in_stage(&many, &format!("web-{n}"), stage(name))
    });
    let plan = reconcile(&state(records), &many, at(0));
    assert_eq!(plan.per_node.len(), 99);
    let [(bad, Transition::Hold(hold))] = &plan.transitions[..] else { panic!("{plan:?}") };
    assert_eq!((bad, hold.code), (&slot("web-40"), HoldCode::Unrecognised));
}

/// P6: a crash-looping slot waits for its release; another revision is a fresh start.
#[test]
fn a_held_slot_waits_for_release_or_another_revision() {
    let mut gone = in_named(StageName::Destroyed);
    let text = Redacted::new("five failures");
    gone.hold = Some(Hold { code: HoldCode::CrashLoop, text: text.clone(), since: at(0) });
    let rung = Rung::Held(HoldCode::CrashLoop, text);
    waits(&decide(&gone, &one(), at(0)), &rung, None);
    let other = shape_with(2, &[("web", 1, "v2")], &Policy::default());
    let plan = decide(&gone, &other, at(0));
    assert!(matches!(transition(&plan), Some(Transition::Restart(_))), "{plan:?}");
}

/// P6: a held group takes no step; what is on its way is still followed, and what is unknown looked for.
#[test]
fn a_held_group_only_waits_and_looks() {
    let text = Redacted::new("nothing to be seen");
    let hold = Hold { code: HoldCode::Implausible, text, since: at(0) };
    let decided = |record: NodeRecord| {
        let holds = [(record.slot.group.clone(), hold.clone())];
        reconcile(&ClusterState::restore([record], holds, at(0)), &one(), at(20_000))
    };
    for name in StageName::ALL.into_iter().filter(|name| *name != StageName::LeaseRequested) {
        assert!(decided(in_named(name)).is_empty(), "{name:?}");
    }
    let rung = Rung::GroupHeld(HoldCode::Implausible);
    waits(&decided(in_named(StageName::HandedOff)), &rung, None);
    let mut record = in_named(StageName::LeaseRequested);
    record.pending = Some(pending(CommandKind::CreateLease, 1, at(100)));
    assert_eq!(transition(&decided(record.clone())), Some(&Transition::Expire));
    record.pending = None;
    record.ambiguity = Some(ambiguity(CommandKind::CreateLease, at(100)));
    assert_eq!(decided(record).looks, [slot("web-0")]);
}
