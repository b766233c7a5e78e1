//! Reasons in full: whatever the combination of a record's axes, the explanation names every fact that its rung read
//! (P7). What each rung must name is written down here by itself, from the record and not from the explanation.

use std::collections::BTreeSet;

use reconciler_core::{
    desired::{ClusterShape, GateCondition, GroupKind, Power},
    effect::{ActionKind, CommandKind, FailureClass, Listing, OwnedLease},
    fold::Fact,
    hold::{Hold, HoldCode},
    id::Uuid,
    observed::{ClusterState, DeleteReason, NodeRecord, NodeStage, Retry, StageName},
    reconcile::{Explanation, Rung, explain, reconcile},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    FENCE, Gated, at, definite, dispatch, failure, gated, group, in_stage, of, owned, powered,
    provider, reported, shape, shape_with, slot, stage, state,
};
use crate::ladder_table::rows;
use crate::world::GRACE;

/// A time as an explanation writes it without a face.
fn ms(at: Timestamp) -> String {
    format!("{} ms", at.as_millis())
}

/// Everything that the rung read of a record: each must stand in the full text.
fn read(rung: &Rung, record: &NodeRecord) -> Vec<String> {
    let mut facts = vec![record.stage.name().as_str().to_owned(), ms(record.since)];
    facts.extend(record.deletion.map(|deletion| deletion.reason.as_str().to_owned()));
    let pending =
        record.pending.iter().flat_map(|p| [p.command.as_str().to_owned(), ms(p.deadline)]);
    let open = record.ambiguity.iter();
    let open = open.flat_map(|a| [a.command.as_str().to_owned(), ms(a.since), ms(a.look_at)]);
    let held = record.hold.iter();
    let held = held.flat_map(|h| [h.code.as_str().to_owned(), h.text.to_string(), ms(h.since)]);
    match rung {
        Rung::Expire | Rung::EffectPending(_) => facts.extend(pending),
        Rung::Ambiguous(_) => facts.extend(open),
        Rung::Held(HoldCode::Unrecognised, why) => facts.push(why.to_string()),
        Rung::Held(..) => facts.extend(held),
        Rung::Retry { tries, message } => {
            let retry = record.retry.as_ref().expect("a retry");
            facts.extend([tries.to_string(), message.to_string(), ms(retry.at)]);
        }
        Rung::Backoff { failures, attempts } => {
            let until = record.backoff.not_before.expect("a time");
            facts.extend([failures.to_string(), attempts.to_string(), ms(until)]);
        }
        Rung::BeginDelete(DeleteReason::Failed) => facts.push(failed(record)),
        Rung::BeginDelete(DeleteReason::Replaced) => facts.push(record.revision.short()),
        Rung::BeginDelete(DeleteReason::Undesired) => facts.push("count".to_owned()),
        Rung::Step(command) => facts.extend(of_step(*command, record)),
        Rung::Settle
        | Rung::Settling
        | Rung::Rest
        | Rung::Stabilising
        | Rung::AwaitEndpoint
        | Rung::AwaitAgent
        | Rung::TimeOut => facts.extend(times(record)),
        Rung::Restart => facts.push(record.backoff.failures.to_string()),
        Rung::MarkDestroyed | Rung::Reap | Rung::Retune | Rung::Steady => {}
        Rung::Insert
        | Rung::GroupHeld(_)
        | Rung::ProviderPaused
        | Rung::Parallelism
        | Rung::Overshoot { .. }
        | Rung::Gate(_)
        | Rung::Dependents(_)
        | Rung::Off
        | Rung::Turn { .. }
        | Rung::BeginDelete(DeleteReason::Rerun)
        | Rung::Working
        | Rung::Completed
        | Rung::AwaitTurn { .. }
        | Rung::UpdatePaused
        | Rung::AwaitOthersGone { .. }
        | Rung::AwaitCandidate(_)
        | Rung::AwaitSecondGone(_)
        | Rung::Candidate
        | Rung::Observing
        | Rung::Verifying
        | Rung::Promote
        | Rung::AwaitProbe(..)
        | Rung::GiveUp(_) => panic!("these need more than one record: {rung:?}"),
    }
    facts
}

fn failed(record: &NodeRecord) -> String {
    let NodeStage::Failed { failure, .. } = &record.stage else { panic!("it failed") };
    failure.message.to_string()
}

/// What a step names: itself, its lease, and for a lease the room that there is.
fn of_step(command: ActionKind, record: &NodeRecord) -> Vec<String> {
    let mut facts = vec![command.as_str().to_owned()];
    facts.extend(record.stage.lease().map(|lease| lease.id.to_string()));
    let room = ["count", "owned with a record", "owned without one"];
    let creates = command == CommandKind::CreateLease;
    facts.extend(room.iter().filter(|_| creates).map(ToString::to_string));
    facts
}

/// The times that the stage compares with.
fn times(record: &NodeRecord) -> Vec<String> {
    let timeouts = &record.policy.timeouts;
    match &record.stage {
        NodeStage::BootstrapRunning { settle_at, .. } => {
            vec![ms(*settle_at), ms(record.since.after(timeouts.bootstrap))]
        }
        NodeStage::HandedOff { stable_at, .. } => vec![ms(*stable_at)],
        NodeStage::LeaseCreated { .. } => vec![ms(record.since.after(timeouts.endpoint))],
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::EndpointKnown { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => panic!("nothing is waited for: {record:?}"),
    }
}

fn told(state: &ClusterState, shape: &ClusterShape, name: &str, now: Timestamp) -> Explanation {
    let plan = reconcile(state, shape, now);
    let reason = plan.reasons.iter().find(|(s, _)| *s == slot(name)).map(|(_, reason)| reason);
    explain(&slot(name), reason, state, shape, now)
}

fn names(explained: &Explanation, facts: &[String]) {
    let full = explained.to_string();
    for fact in facts {
        assert!(full.contains(fact), "`{fact}` is not named in:\n{full}");
    }
}

/// P7: over every combination of stage, wish, open effect, due time, retry, hold and deletion.
#[test]
fn every_slot_in_every_state_is_explained_in_full() {
    let mut rungs: BTreeSet<&str> = BTreeSet::new();
    for row in rows() {
        let (record, shape, now) = (row.record(), row.shape(), row.now());
        let state = state([record.clone()]);
        let plan = reconcile(&state, &shape, now);
        let reason = plan.reasons.first().map(|(_, reason)| reason);
        let explained = explain(&record.slot, reason, &state, &shape, now);
        let rung = reason.map_or(Rung::Steady, |reason| reason.rung.clone());
        rungs.insert(explained.rung);
        assert_eq!(explained.rung, rung.name());
        assert_eq!(explained.line, rung.to_string(), "the line is the reason's own");
        names(&explained, &read(&rung, &record));
        if let Some(until) = reason.and_then(|reason| reason.until) {
            assert_eq!(explained.due, Some(until));
            names(&explained, &[format!("due: {}", ms(until))]);
        }
        let held = matches!(rung, Rung::Held(..));
        let command =
            explained.blockers.iter().any(|b| b.to_string().contains("levelhead release web-0"));
        assert_eq!(held, command, "a hold names its way out (P6)");
    }
    let many = [
        "ambiguous",
        "begin-delete",
        "effect-pending",
        "expire",
        "held",
        "mark-destroyed",
        "reap",
        "rest",
        "restart",
        "retry",
        "settle",
        "settling",
        "stabilising",
        "steady",
        "step",
    ];
    for rung in many {
        assert!(rungs.contains(rung), "{rung} comes up: {rungs:?}");
    }
}

/// P7: a slot without a record says what is wanted.
#[test]
fn a_slot_without_a_record_is_explained() {
    let shape = shape(&[("web", 3)]);
    let explained = told(&state([]), &shape, "web-2", at(0));
    let facts = ["wanted: yes", "record: none", "count: 3"].map(str::to_owned);
    assert_eq!(explained.rung, "insert");
    names(&explained, &facts);
}

/// P7: backoff and waiting for an endpoint, with both of their ends.
#[test]
fn waiting_names_its_numbers_and_its_end() {
    let shape = shape(&[("web", 1)]);
    let mut record = in_stage(
        &shape,
        "web-0",
        NodeStage::Destroyed { at: at(0), failure: Some(failure(FailureClass::Workload)) },
    );
    (record.backoff.failures, record.backoff.not_before) = (2, Some(at(5_000)));
    let explained = told(&state([record.clone()]), &shape, "web-0", at(1));
    let mut facts = read(&Rung::Backoff { failures: 2, attempts: 5 }, &record);
    facts.push("it broke".to_owned());
    names(&explained, &facts);
    assert_eq!((explained.rung, explained.due), ("backoff", Some(at(5_000))));

    let mut record = in_stage(&shape, "web-0", stage(StageName::LeaseCreated));
    if let NodeStage::LeaseCreated { probe_at, .. } = &mut record.stage {
        *probe_at = Some(at(2_000));
    }
    let explained = told(&state([record.clone()]), &shape, "web-0", at(1));
    assert_eq!((explained.rung, explained.due), ("await-endpoint", Some(at(2_000))));
    let mut facts = read(&Rung::AwaitEndpoint, &record);
    facts.push(format!("next look: {}", ms(at(2_000))));
    names(&explained, &facts);

    let late = at(300_000);
    record.retry = Some(Retry { tries: 1, at: at(9), message: Redacted::new("no answer") });
    let explained = told(&state([record.clone()]), &shape, "web-0", late);
    assert_eq!(explained.rung, "time-out");
    names(&explained, &read(&Rung::TimeOut, &record));
}

/// P7: what a group, a provider and the width of a pass hold back names them.
#[test]
fn what_is_held_back_from_outside_names_it() {
    let shape = shape(&[("web", 2)]);
    let new = |text: &str| in_stage(&shape, text, stage(StageName::New));
    let hold = Hold {
        code: HoldCode::MassUnhealthy,
        text: Redacted::new("six of ten look broken"),
        since: at(7),
    };
    let braked = ClusterState::restore([new("web-0")], [(group("web"), hold)], at(9));
    let explained = told(&braked, &shape, "web-0", at(10));
    let facts = ["health.mass", "six of ten look broken", &ms(at(7)), "levelhead release web"];
    names(&explained, &facts.map(str::to_owned));
    assert_eq!(explained.rung, "group-held");

    let mut paused = state([new("web-0")]);
    let _sent = dispatch(&mut paused, "web-0", CommandKind::CreateLease, 1, at(0));
    let limited = FailureClass::RateLimited { retry_after: Millis::from_secs(30) };
    let _told = reported(&mut paused, "web-0", 1, Err(definite(limited)), at(0));
    let explained = told(&paused, &shape, "web-0", at(1));
    assert_eq!((explained.rung, explained.due), ("provider-paused", Some(at(30_000))));
    names(&explained, &["provider: fake".to_owned(), format!("paused until: {}", ms(at(30_000)))]);

    let wide = state([new("web-0"), new("web-1")]);
    let mut plan = reconcile(&wide, &shape, at(0));
    plan.admit(1);
    let reason = plan.reasons.iter().find(|(s, _)| *s == slot("web-1")).map(|(_, reason)| reason);
    let explained = explain(&slot("web-1"), reason, &wide, &shape, at(0));
    assert_eq!((explained.rung, explained.blockers.len()), ("parallelism", 1));
    names(&explained, &["provider: fake".to_owned()]);
}

/// P7, C4: one too many names who takes the place.
#[test]
fn an_overshoot_names_who_takes_the_place() {
    let shape = shape(&[("web", 1)]);
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::New))]);
    let other = OwnedLease {
        attempt: Uuid::from_bytes([9; 16]),
        ..owned("web-3", of(&state, "web-0").attempt, "stray")
    };
    let (provider, grace, asked_at) = (provider(), GRACE, at(1));
    let listing = Listing::Complete(vec![other]);
    let _told =
        state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, at(1));
    let explained = told(&state, &shape, "web-0", at(2));
    assert_eq!(explained.rung, "overshoot");
    let facts = ["count: 1", "owned with a record: 0", "owned without one: 1", "fake holds stray"];
    names(&explained, &facts.map(str::to_owned));
}

/// A retuned and a replaced node say what they are compared with.
#[test]
fn a_change_of_the_group_names_both_sides() {
    let born = shape(&[("web", 1)]);
    let record = in_stage(&born, "web-0", stage(StageName::Dormant));
    let policy = reconciler_core::desired::Policy::default();
    let other = shape_with(2, &[("web", 1, "v2")], &policy);
    let explained = told(&state([record.clone()]), &other, "web-0", at(0));
    let wanted = other.group(&group("web")).expect("the group").revision.short();
    names(&explained, &[record.revision.short(), format!("wanted revision: {wanted}")]);
    let patient = reconciler_core::desired::Policy { stable: Millis::from_secs(99), ..policy };
    let explained =
        told(&state([record]), &shape_with(2, &[("web", 1, "v1")], &patient), "web-0", at(0));
    assert_eq!(explained.rung, "retune");
}

/// P7: what a gate, an order of removal and power hold back names whom it waits for and what leads on.
#[test]
fn what_other_groups_hold_back_names_them() {
    let groups: [Gated<'_>; 2] = [
        ("db", 1, GroupKind::Service, &[]),
        ("web", 2, GroupKind::Service, &[("db", GateCondition::Ready)]),
    ];
    let shape = gated(1, "v1", &groups).expect("a shape");
    let held = state([in_stage(&shape, "web-0", stage(StageName::New))]);
    let explained = told(&held, &shape, "web-0", at(1));
    assert_eq!((explained.rung, explained.due), ("gate", None));
    names(&explained, &["waits for: db (0 of 1 ready)".to_owned()]);

    let up = ["db-0", "web-0", "web-1"].map(|s| in_stage(&shape, s, stage(StageName::Dormant)));
    let explained = told(&state(up.clone()), &shape.emptied(), "db-0", at(1));
    assert_eq!(explained.rung, "dependents");
    names(&explained, &["nodes of web that go first".to_owned()]);

    let anew = powered(&shape, "web", Power::anew);
    let explained = told(&state(up.clone()), &anew, "web-1", at(1));
    assert_eq!(explained.rung, "turn");
    names(
        &explained,
        &["round: 0", "wanted round: 1", "2 of 2 nodes are ready"].map(str::to_owned),
    );

    let off = powered(&shape, "web", |power| power.switched(true));
    let rests = state([in_stage(&shape, "web-0", stage(StageName::EndpointKnown))]);
    let explained = told(&rests, &off, "web-0", at(1));
    assert_eq!(explained.rung, "off");
    names(&explained, &["power: off", "levelhead start web-0"].map(str::to_owned));
}
