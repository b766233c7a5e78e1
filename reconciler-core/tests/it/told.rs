//! What values say of themselves, to people and to the crates above: words, counts and answers that nothing here
//! decides by (P7, S28).

use std::collections::BTreeMap;

use reconciler_core::{
    desired::{Amount, GroupKind, Hook, HookPoint, Hooks, Policy, Power},
    durable::Durable,
    effect::{CommandKind, ExitStatus, Listing, WorkloadState},
    fixture::{parse, print},
    fold::{Fact, NoteKind, Verdict},
    hold::HoldCode,
    id::{AttemptOrdinal, Fence, Generation, OperationId, StepId, Uuid},
    observed::{About, Handle, NodeStage, Prior, StageName},
    plan::{Impact, Scope},
    reconcile::{RolloutChange, reconcile},
    redact::{Redacted, shows},
    time::Millis,
};

use crate::fleet::{
    FENCE, Gated, RUN, T0, at, catalogue, gated, group, in_stage, lease, node_spec, of, owned,
    provider, shape, stage, state,
};
use crate::plan_steps::plan_of;
use crate::rollout::{policy, web};

/// Every note has a line, and only a failure is one, also of the attempt beside.
#[test]
fn every_note_says_what_happened() {
    let text = || Redacted::new("it broke");
    let (create, point) = (CommandKind::CreateLease.into(), HookPoint::PreStop);
    let failure = NoteKind::Failure { command: Some(create), message: text() };
    let beside = |note| NoteKind::Beside(AttemptOrdinal::new(2), Box::new(note));
    let lease = "l-9".to_owned();
    let (from, to) = (AttemptOrdinal::new(1), AttemptOrdinal::new(2));
    let rows: [(NoteKind, &str, bool); 18] = [
        (NoteKind::Stage { from: None, to: StageName::New }, "begins as new", false),
        (
            NoteKind::Stage { from: Some(StageName::New), to: StageName::Failed },
            "new -> failed",
            false,
        ),
        (failure.clone(), "CreateLease failed: it broke", true),
        (NoteKind::Failure { command: None, message: text() }, "failed: it broke", true),
        (NoteKind::Ambiguous(create), "outcome of CreateLease is unknown; looking", false),
        (NoteKind::Adopted(create), "found what CreateLease had made", false),
        (NoteKind::Hook { point, completed: true }, "the pre-stop hook completed", false),
        (NoteKind::Hook { point, completed: false }, "goes on without its pre-stop hook", false),
        (
            NoteKind::Held(HoldCode::Refused, text()),
            &format!("held, {}: it broke", HoldCode::Refused.as_str()),
            false,
        ),
        (
            NoteKind::Released(HoldCode::Refused),
            &format!("no longer held ({})", HoldCode::Refused.as_str()),
            false,
        ),
        (
            NoteKind::Orphan(provider(), lease),
            "fake holds l-9, which no record accounts for; left alone",
            false,
        ),
        (NoteKind::Blind(provider(), text()), "fake could not be observed: it broke", false),
        (NoteKind::Paused(provider()), "fake asks for a pause", false),
        (NoteKind::Completed, "completed", false),
        (NoteKind::Reaped, "gone", false),
        (NoteKind::Promoted { from, to }, "attempt 2 takes the place of attempt 1", false),
        (beside(NoteKind::Reaped), "attempt 2: gone", false),
        (beside(failure), "attempt 2: CreateLease failed: it broke", true),
    ];
    for (note, line, fails) in rows {
        assert_eq!((note.to_string().as_str(), note.is_failure()), (line, fails));
    }
}

/// R64: the proof of an intent says of what it is the proof.
#[test]
fn a_proof_names_what_it_proves() {
    let (operation, step) = (OperationId::new(4), StepId::new(5));
    let proof = Durable::seal("intent", operation, step, Fence::new(6));
    assert_eq!((proof.operation(), proof.step(), proof.fence()), (operation, step, Fence::new(6)));
    assert_eq!((*proof.get(), proof.redeem()), ("intent", "intent"));
}

/// An id reads the same to a person who looks into it, and a fact of a provider is found by its name.
#[test]
fn ids_and_handles_show_what_they_hold() {
    assert_eq!(format!("{RUN:?}"), RUN.to_string());
    let handle = Handle::new(BTreeMap::from([("pid".to_owned(), "17".to_owned())]));
    assert_eq!((handle.get("pid"), handle.get("port")), (Some("17"), None));
}

/// A shape says how many of each group it wants, and how many of those are off.
#[test]
fn a_shape_counts_its_groups() {
    let groups: [Gated<'_>; 2] =
        [("db", 2, GroupKind::Service, &[]), ("web", 3, GroupKind::Service, &[])];
    let shape = gated(7, "v1", &groups).expect("a shape");
    let power = Power::default().switched_slot(1, true, 3);
    let shape = shape.with_power([(group("web"), power)].into());
    assert_eq!(shape.counts(), [(group("db"), 2), (group("web"), 3)].into());
    assert_eq!(shape.offs(), [(group("db"), 0), (group("web"), 1)].into());
    let empty = shape.emptied();
    assert_eq!((empty.generation, empty.counts().values().sum()), (Generation::new(9), 0_u32));
}

/// What is asked of the whole group stands for all that was asked of its slots.
#[test]
fn a_round_of_the_group_is_one_of_every_slot() {
    assert!(Power::switched_off().is_all_off() && !Power::switched_off().is_plain());
    let slots = Power::default().anew_slot(1).anew_slot(1);
    let all = slots.anew();
    assert_eq!((all.round(0), all.round(1), all.round(9)), (3, 3, 3));
    assert_eq!(all.slot_rounds().count(), 0, "no slot is ahead of its group");
}

/// An amount is nothing or it is not, whatever of.
#[test]
fn an_amount_may_be_nothing() {
    assert!(Amount::Nodes(0).is_zero() && Amount::Percent(0).is_zero());
    assert!(!Amount::Nodes(1).is_zero() && !Amount::Percent(1).is_zero());
}

/// R138: a single hook is a hook, whichever it is, and the order is that of a session.
#[test]
fn hooks_are_there_if_one_is() {
    let hook = || Some(Hook { argv: vec!["true".to_owned()], timeout: Millis::from_secs(1) });
    let none = Hooks::default();
    assert!(none.is_empty() && none.declared().count() == 0);
    let each = [
        (HookPoint::PreStart, Hooks { pre_start: hook(), ..Hooks::default() }),
        (HookPoint::PostStart, Hooks { post_start: hook(), ..Hooks::default() }),
        (HookPoint::PreStop, Hooks { pre_stop: hook(), ..Hooks::default() }),
        (HookPoint::PostStop, Hooks { post_stop: hook(), ..Hooks::default() }),
    ];
    for (point, hooks) in each {
        assert!(!hooks.is_empty());
        assert_eq!(hooks.declared().map(|(point, _)| point).collect::<Vec<_>>(), [point]);
    }
}

/// P8: text of any kind passes the gate, and what nobody sees is not there to be read.
#[test]
fn the_gate_is_the_only_way_to_a_text() {
    assert_eq!(Redacted::from("plain words").as_str(), "plain words");
    assert_eq!(Redacted::from("password=x7").as_str(), Redacted::new("password=x7").as_str());
    assert!(shows('a') && shows('-'));
    assert!(!shows(' ') && !shows('\n') && !shows('\u{1b}') && !shows('\u{202e}'));
}

/// R91: what an update does to a group is said in one line, and its reason names its mode again.
#[test]
fn an_impact_says_what_serves_meanwhile() {
    for (update, word) in [(policy(0, 1), "requested-rolling"), (recreate(), "requested-recreate")]
    {
        let base = web(1, 3, "v1", &update);
        let ready = |n: u32| in_stage(&base, &format!("web-{n}"), stage(StageName::Dormant));
        let observed = state((0..3).map(ready));
        let plan = plan_of(&observed, &web(2, 3, "v2", &update), Scope::All, T0);
        let [impact] = plan.impacts.as_slice() else { panic!("one group is updated") };
        assert_eq!((impact.reason(), Impact::mode_of(word)), (word, Some(impact.mode)));
        let line = impact.summary();
        let want = format!("at least {} of 3 serve", impact.minimum_available);
        assert!(line.starts_with("replaces 3 ") && line.contains(&want), "{line}");
    }
    assert_eq!(Impact::mode_of("requested"), None);
}

fn recreate() -> reconciler_core::desired::Policy {
    crate::rollout::with(|update| update.mode = reconciler_core::desired::UpdateMode::Recreate)
}

/// What no record accounts for reads back with all that was seen of it.
#[test]
fn an_orphan_reads_back() {
    let shape = shape(&[("web", 1)]);
    let statuses = [ExitStatus::Code(3), ExitStatus::Signal(9), ExitStatus::Unknown];
    for (n, status) in (1_u8..).zip(statuses) {
        let mut state = state([in_stage(&shape, "web-0", NodeStage::New)]);
        let mut stray = owned("web-0", of(&state, "web-0").attempt, "l-9");
        stray.attempt = Uuid::from_bytes([n; 16]);
        stray.workload = WorkloadState::Exited { status, tail: Redacted::new("bye") };
        let listing = Listing::Complete(vec![stray]);
        let (provider, grace, now) = (provider(), Millis::from_secs(60), at(600_000));
        let _listed =
            state.fold(Fact::Listed { provider, listing, asked_at: now, grace, fence: FENCE }, now);
        let text = print(&state, &catalogue(), RUN);
        let read = parse(&text, &catalogue()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let orphans = |state: &reconciler_core::observed::ClusterState| {
            let group = state.group(&group("web")).expect("the group");
            group.orphans().map(|(name, owned)| (name.clone(), owned.clone())).collect::<Vec<_>>()
        };
        assert_eq!(orphans(&read).len(), 1, "{text}");
        assert_eq!(orphans(&read), orphans(&state));
    }
}

/// A catalogue names every kind that was put into it.
#[test]
fn a_catalogue_lists_its_kinds() {
    let names: Vec<String> = catalogue().kinds().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["v1", "v2"]);
}

/// R5: what changed is said until it is taken.
#[test]
fn a_change_is_there_until_it_is_taken() {
    let shape = shape(&[("web", 1)]);
    let mut state = state([]);
    assert!(!state.has_dirty());
    for (slot, transition) in reconcile(&state, &shape, T0).take_transitions() {
        let _begun = state.fold(Fact::Decided { slot, transition }, T0);
    }
    assert!(state.has_dirty() && state.take_dirty().len() == 1 && !state.has_dirty());
}

/// A lease that is known keeps the endpoint that it was made with.
#[test]
fn a_stage_knows_where_its_node_is_reached() {
    for name in [StageName::EndpointKnown, StageName::HandedOff, StageName::Dormant] {
        assert!(stage(name).endpoint().is_some(), "{name:?}");
    }
    let created = NodeStage::LeaseCreated { lease: lease("l-1"), endpoint: None, probe_at: None };
    assert!(created.endpoint().is_none() && stage(StageName::New).endpoint().is_none());
}

/// R175, P7: what becomes of an update is journaled and told of its group, each time in words of its own; that it is to
/// go back is told alone, since that is a shape of its own.
#[test]
fn an_update_is_told_from_its_beginning_to_its_end() {
    let of = |image: &str| {
        let shape = web(1, 1, image, &Policy::default());
        shape.group(&group("web")).expect("a group").revision
    };
    let (from, to) = (of("v1").short(), of("v2").short());
    let prior = || Box::new(Prior { revision: of("v1"), spec: node_spec("v1").into() });
    let begin = |prior, reverts| {
        let (target, patience) = (of("v2"), Millis::from_secs(60));
        RolloutChange::Begin { target, prior, reverts, patience }
    };
    let change = |change| Fact::Rollout { group: group("web"), change };
    let paused = |paused| Fact::Paused(group("web"), paused);
    let revert = RolloutChange::Revert { to: prior(), text: Redacted::new("goes back") };
    let rows = [
        (change(begin(None, false)), format!("an update to {to} begins")),
        (change(begin(Some(prior()), false)), format!("an update from {from} to {to} begins")),
        (change(begin(Some(prior()), true)), format!("goes back to {to}")),
        (paused(true), "the update is paused".to_owned()),
        (paused(false), "the update goes on".to_owned()),
        (change(revert), "goes back".to_owned()),
        (change(RolloutChange::End), format!("the update to {to} is over")),
    ];
    let mut state = state([]);
    for (fact, want) in rows {
        let news = state.fold(fact, T0) == Verdict::Applied;
        let changed: Vec<_> = state.take_dirty_rollouts().into_iter().collect();
        assert_eq!(changed, if news { vec![group("web")] } else { Vec::new() }, "{want}");
        let notes = state.take_notes().into_iter();
        let told: Vec<_> = notes.map(|note| (note.about, note.what.to_string())).collect();
        assert_eq!(told, [(About::Group(group("web")), want)]);
    }
}

/// A run is empty while it has no record of any group.
#[test]
fn a_run_is_empty_without_records() {
    let none = state([]);
    let one = state([in_stage(&shape(&[("web", 1)]), "web-0", NodeStage::New)]);
    assert_eq!((none.len(), none.is_empty(), one.len(), one.is_empty()), (0, true, 1, false));
}
