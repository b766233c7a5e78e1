//! What a fold takes and refuses at its exact bounds: transitions out of place, looks and listings at the moment at
//! which they begin to count (R55, R57, R67, C1, C3, D6, D8).

use reconciler_core::{
    desired::Policy,
    effect::{
        ActionKind, CommandKind, ExitStatus, FailureClass, Listing, Look, OwnedLease, WorkloadState,
    },
    fold::{Fact, NoteKind, StepEnd, Transition, Verdict},
    id::{AttemptOrdinal, SessionId},
    observed::{
        ClusterState, DeleteReason, Deletion, Handle, NodeRecord, NodeStage, Remains, Second,
        SessionStage, StageName,
    },
    redact::Redacted,
};

use crate::{
    fleet::{
        FENCE, ambiguity, ambiguous, at, dispatch, in_stage, lease, looked, of, owned, pending,
        present, provider, reported, session, shape, shape_with, slot, stage, state, with,
    },
    laws_single::records,
    world::GRACE,
};

const SLOT: &str = "web-0";

fn node(name: StageName) -> NodeRecord {
    in_stage(&shape(&[("web", 1)]), SLOT, stage(name))
}

fn going(name: StageName) -> NodeRecord {
    let deletion = Some(Deletion { reason: DeleteReason::Undesired, since: at(0) });
    with(node(name), |r| r.deletion = deletion)
}

fn beside(name: StageName) -> Box<Second> {
    Box::new(Second::new(node(name)))
}

fn decided(state: &mut ClusterState, transition: Transition) -> Verdict {
    state.fold(Fact::Decided { slot: slot(SLOT), transition }, at(1))
}

/// R15: what is out of place is refused, and changes nothing.
#[test]
fn a_transition_out_of_place_is_illegal() {
    let other = shape_with(2, &[("web", 1, "v2")], &Policy::default());
    let group = other.groups().next().expect("a group").clone();
    let spec = other.stamp(&group, slot(SLOT), other.generation, AttemptOrdinal::new(7));
    let spec = Box::new(spec);
    let on = |transition| Transition::Beside(Box::new(transition));
    let live = || with(node(StageName::Dormant), |r| r.second = Some(beside(StageName::HandedOff)));
    let gone = || with(node(StageName::Destroyed), |r| r.second = Some(beside(StageName::New)));
    let sent = || Some(pending(CommandKind::DestroyLease, 1, at(9)));
    let table = [
        (
            "a candidate of a candidate",
            node(StageName::Dormant),
            on(Transition::Candidate(spec.clone())),
        ),
        ("a second candidate", live(), Transition::Candidate(spec.clone())),
        ("a record beside one", node(StageName::Dormant), on(Transition::Insert(spec.clone()))),
        ("a promotion by a candidate", live(), on(Transition::Promote)),
        ("a promotion of nobody", node(StageName::Dormant), Transition::Promote),
        ("a live record reaped", node(StageName::Dormant), Transition::Reap),
        ("reaped with another beside it", gone(), Transition::Reap),
        ("destroyed unasked", node(StageName::New), Transition::MarkDestroyed),
        (
            "destroyed with an effect on its way",
            with(going(StageName::New), |r| r.pending = sent()),
            Transition::MarkDestroyed,
        ),
        ("destroyed with a lease", going(StageName::EndpointKnown), Transition::MarkDestroyed),
        ("begun anew while it lives", node(StageName::Dormant), Transition::Restart(spec)),
    ];
    for (what, record, transition) in table {
        let mut state = state([record]);
        let before = records(&state);
        let verdict = decided(&mut state, transition);
        assert!(matches!(verdict, Verdict::Illegal | Verdict::Stale), "{what}: {verdict:?}");
        assert_eq!(records(&state), before, "{what}");
    }
}

/// Each change of a stage is told, once, with both of its ends; what stays in its stage is told of none.
#[test]
fn a_change_of_stage_is_told_with_both_ends() {
    let stages = |state: &mut ClusterState| -> Vec<NoteKind> {
        let notes = state.take_notes().into_iter().map(|note| note.what);
        notes.filter(|what| matches!(what, NoteKind::Stage { .. })).collect()
    };
    let mut moved = state([node(StageName::BootstrapRunning)]);
    assert_eq!(decided(&mut moved, Transition::Settle), Verdict::Applied);
    let (from, to) = (Some(StageName::BootstrapRunning), StageName::SwactorJoined);
    assert_eq!(stages(&mut moved), [NoteKind::Stage { from, to }]);
    // What is left of a failed attempt gets less, and stays failed.
    let failed = with(node(StageName::Failed), |r| r.deletion = going(StageName::New).deletion);
    let mut stays = state([failed]);
    let gone = looked(&mut stays, SLOT, Look::Absent, at(1));
    assert_eq!((gone, of(&stays, SLOT).stage.lease()), (Verdict::Applied, None));
    assert_eq!(stages(&mut stays), []);
}

/// R55, R56: a session is heard only by its own number, and only further on.
#[test]
fn another_session_is_not_heard() {
    for (id, seq) in [(2, 9), (1, 0), (2, 0)] {
        let mut state = state([node(StageName::BootstrapRunning)]);
        let before = records(&state);
        let (attempt, session) = (of(&state, SLOT).attempt, SessionId::new(id));
        let told = SessionStage::Converged;
        let fact = Fact::Session { slot: slot(SLOT), attempt, session, seq, stage: told };
        assert_eq!(state.fold(fact, at(1)), Verdict::Stale, "{id} {seq}");
        assert_eq!(records(&state), before);
    }
}

/// C3: as old as a thing may stay invisible, a node that a look lacks is gone at the first look.
#[test]
fn a_look_counts_from_the_very_moment() {
    for (now, gone) in [(4_999, false), (5_000, true)] {
        let mut state = state([node(StageName::LeaseCreated)]);
        let _sent = dispatch(&mut state, SLOT, CommandKind::LookupEndpoint, 1, at(0));
        let _open = reported(&mut state, SLOT, 1, Err(ambiguous(FailureClass::TimedOut)), at(1));
        let _seen = looked(&mut state, SLOT, Look::Absent, at(now));
        assert_eq!(of(&state, SLOT).stage.lease().is_none(), gone, "{now}");
    }
}

/// D8: where all is to go, an absence is what a cleanup was for, and no failure of anything else.
#[test]
fn an_absence_ends_a_cleanup_well() {
    let table = [
        (CommandKind::CancelBootstrap, StepEnd::Verified),
        (CommandKind::DestroyLease, StepEnd::Verified),
        (CommandKind::StartBootstrap, StepEnd::NoEffect),
    ];
    for (kind, end) in table {
        let open = Some(ambiguity(kind, at(0)));
        let mut state = state([with(going(StageName::HandedOff), |r| r.ambiguity = open)]);
        let _seen = looked(&mut state, SLOT, Look::Absent, at(100_000));
        let ends: Vec<_> = state.take_settled().iter().map(|settled| settled.end).collect();
        assert_eq!(ends, [end], "{kind:?}");
        let record = of(&state, SLOT);
        assert_eq!((record.stage.name(), record.backoff.failures), (StageName::New, 0), "{kind:?}");
    }
    // Nor is one of what failed before, or of what goes anyway, while nothing is open.
    for (record, name) in [
        (going(StageName::HandedOff), StageName::New),
        (node(StageName::Failed), StageName::Failed),
    ] {
        let mut state = state([record]);
        let _seen = looked(&mut state, SLOT, Look::Absent, at(100_000));
        let record = of(&state, SLOT);
        assert_eq!((record.stage.name(), record.backoff.failures), (name, 0));
        assert_eq!(record.stage.lease(), None);
    }
    // A stop of what is to stay is another matter: its lease went, and so it failed.
    let open = Some(ambiguity(CommandKind::CancelBootstrap, at(0)));
    let mut stopped = state([with(node(StageName::HandedOff), |r| r.ambiguity = open)]);
    let _seen = looked(&mut stopped, SLOT, Look::Absent, at(100_000));
    assert_eq!(of(&stopped, SLOT).stage.name(), StageName::Failed);
}

fn listed(state: &mut ClusterState, listing: Listing, now: u64) -> Verdict {
    let (provider, asked_at) = (provider(), at(now));
    state.fold(Fact::Listed { provider, listing, asked_at, grace: GRACE, fence: FENCE }, asked_at)
}

/// C1: of what is on its way or unknown a listing that lacks it says nothing.
#[test]
fn a_listing_says_nothing_of_what_is_open() {
    let kind = ActionKind::from(CommandKind::CancelBootstrap);
    let sent = with(node(StageName::Dormant), |r| r.pending = Some(pending(kind, 1, at(900_000))));
    let open = with(node(StageName::Dormant), |r| r.ambiguity = Some(ambiguity(kind, at(900_000))));
    for (record, missed) in [(sent, 0), (open, 0), (node(StageName::Dormant), 1)] {
        let mut state = state([record]);
        let _applied = listed(&mut state, Listing::Complete(Vec::new()), 600_000);
        assert_eq!(state.missing().len(), missed);
    }
}

/// C1: trouble that is told again is no news; that a part is shown now, or nothing any more, is.
#[test]
fn the_same_trouble_is_no_news() {
    let mut state = state([node(StageName::Dormant)]);
    let why = || Redacted::new("status 503");
    let (nothing, part) = (|| Listing::Unknown(why()), || Listing::Partial(Vec::new(), why()));
    let listings = [nothing(), nothing(), part(), part(), nothing()];
    let verdicts: Vec<_> =
        (600_000..).zip(listings).map(|(now, listing)| listed(&mut state, listing, now)).collect();
    let (news, none) = (Verdict::Applied, Verdict::Unchanged);
    assert_eq!(verdicts, [news, none, news, none, news]);
}

fn exited() -> WorkloadState {
    WorkloadState::Exited { status: ExitStatus::Code(1), tail: Redacted::default() }
}

fn running() -> WorkloadState {
    WorkloadState::Running { workload: Handle::default() }
}

/// R103: a session that may have been closed, and surely was not, is tried three times, as one that was refused.
#[test]
fn a_session_in_doubt_is_closed_in_three_tries() {
    let mut state = state([node(StageName::SwactorJoined)]);
    let kind = CommandKind::BootstrapConvergenceObserved;
    for step in 1..=3 {
        assert_eq!(of(&state, SLOT).stage.name(), StageName::SwactorJoined, "try {step}");
        let now = at(step * 100_000);
        let _sent = dispatch(&mut state, SLOT, kind, step, now);
        let lost = Err(ambiguous(FailureClass::TimedOut));
        let _open = reported(&mut state, SLOT, step, lost, now);
        let _seen = looked(&mut state, SLOT, present("l-1", running()), now);
    }
    let remains = Remains::Session { lease: lease("l-1"), session: session(1) };
    let record = of(&state, SLOT);
    let NodeStage::Failed { remains: left, .. } = &record.stage else { panic!("{record:?}") };
    assert_eq!(*left, remains);
}

/// D7: what a look shows of the workload says whether a stop took effect, and of a start of what goes it charges nothing.
#[test]
fn a_look_says_whether_an_effect_was_had() {
    let table = [
        (CommandKind::CancelBootstrap, running(), StepEnd::NoEffect),
        (CommandKind::CancelBootstrap, exited(), StepEnd::Verified),
        (CommandKind::StartBootstrap, exited(), StepEnd::Verified),
    ];
    for (kind, workload, end) in table {
        let open = Some(ambiguity(kind, at(0)));
        let starts = kind == CommandKind::StartBootstrap;
        let name = if starts { StageName::EndpointKnown } else { StageName::HandedOff };
        let mut state = state([with(going(name), |r| r.ambiguity = open)]);
        let _seen = looked(&mut state, SLOT, present("l-1", workload), at(100_000));
        let ends: Vec<_> = state.take_settled().iter().map(|settled| settled.end).collect();
        assert_eq!(ends, [end], "{kind:?}");
        let record = of(&state, SLOT);
        assert_eq!((record.backoff.failures, &record.ambiguity), (0, &None), "{kind:?}");
        assert_ne!(record.stage.name(), StageName::Failed, "{kind:?}");
    }
}

fn since(ms: u64, record: NodeRecord) -> NodeRecord {
    with(record, |r| r.since = at(ms))
}

/// C2, C3: what is there is taken over, if it was looked for or the record is older than the listing.
#[test]
fn a_lease_that_shows_up_is_taken_over() {
    let open = || Some(ambiguity(CommandKind::CreateLease, at(0)));
    let sought = with(node(StageName::LeaseRequested), |r| r.ambiguity = open());
    let table = [
        (since(5, node(StageName::New)), StageName::LeaseCreated),
        (since(5, sought.clone()), StageName::LeaseCreated),
        (since(15, sought), StageName::LeaseCreated),
        (since(5, node(StageName::Failed)), StageName::Failed),
    ];
    for (record, name) in table {
        let mut state = ClusterState::restore([record], [], at(16));
        let owned = owned(SLOT, of(&state, SLOT).attempt, "l-1");
        let _verdict = listed_at(&mut state, owned, 10, 20);
        assert_eq!(of(&state, SLOT).stage.name(), name);
        assert!(of(&state, SLOT).stage.lease().is_some());
    }
}

fn listed_at(state: &mut ClusterState, owned: OwnedLease, asked: u64, now: u64) -> Verdict {
    let (provider, listing) = (provider(), Listing::Complete(vec![owned]));
    let fact = Fact::Listed { provider, listing, asked_at: at(asked), grace: GRACE, fence: FENCE };
    state.fold(fact, at(now))
}

/// C4: what was taken down after the listing was asked for is none that nobody accounts for.
#[test]
fn a_listing_from_before_makes_no_orphan() {
    for (since_ms, orphans) in [(5, 1), (10, 0), (15, 0)] {
        let gone = since(since_ms, node(StageName::Destroyed));
        let mut state = ClusterState::restore([gone], [], at(16));
        let owned = owned(SLOT, of(&state, SLOT).attempt, "l-1");
        let _verdict = listed_at(&mut state, owned, 10, 20);
        let found = state.groups().map(|(_, group)| group.orphans().count()).sum::<usize>();
        assert_eq!(found, orphans, "{since_ms}");
    }
}

/// C9: a suspicion is cleared by a workload that was seen to run since, and by nothing else that a listing shows.
#[test]
fn a_suspicion_ends_with_what_was_seen_since() {
    let suspect = |ms: u64, record| with(since(ms, record), |r| r.suspect_since = Some(at(0)));
    let dormant = || node(StageName::Dormant);
    let stop = || ambiguity(CommandKind::CancelBootstrap, at(900_000));
    let open = || with(dormant(), |r| r.ambiguity = Some(stop()));
    let table = [
        (suspect(5, dormant()), running(), false),
        (suspect(5, dormant()), WorkloadState::Unknown, true),
        (suspect(10, dormant()), running(), true),
        (suspect(10, dormant()), exited(), true),
        (suspect(5, open()), running(), true),
    ];
    for (n, (record, workload, suspected)) in table.into_iter().enumerate() {
        let is_open = record.ambiguity.is_some();
        let mut state = ClusterState::restore([record], [], at(16));
        let owned = OwnedLease { workload, ..owned(SLOT, of(&state, SLOT).attempt, "l-1") };
        let _verdict = listed_at(&mut state, owned, 10, 20);
        let record = of(&state, SLOT);
        assert_eq!(record.suspect_since.is_some(), suspected, "{n}");
        assert_eq!(record.ambiguity.is_some(), is_open, "{n}: a listing decides no stop");
        assert_eq!(record.stage.name(), StageName::Dormant, "{n}");
    }
}
