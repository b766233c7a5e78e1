//! Folding what a workload and its session do: R55 to R58, and looks at what should run.

use reconciler_core::{
    effect::{CommandKind, EffectOutcome, ExitStatus, Look, WorkloadState},
    fold::{Fact, StepEnd, Transition, Verdict},
    id::SessionId,
    observed::{ClusterState, DeleteReason, Handle, NodeStage, Remains, SessionStage, StageName},
    redact::Redacted,
};

use crate::fleet::{
    at, dispatch, in_stage, lease, looked, of, present, report, reported, shape, slot, stage, state,
};

const SLOT: &str = "web-0";

fn at_stage(name: StageName) -> ClusterState {
    state([in_stage(&shape(&[("web", 1)]), SLOT, stage(name))])
}

fn session(state: &mut ClusterState, id: u64, seq: u64, said: SessionStage) -> Verdict {
    let attempt = of(state, SLOT).attempt;
    let session = SessionId::new(id);
    state.fold(Fact::Session { slot: slot(SLOT), attempt, session, seq, stage: said }, at(5))
}

fn exited() -> WorkloadState {
    WorkloadState::Exited { status: ExitStatus::Signal(9), tail: Redacted::default() }
}

fn decided(state: &mut ClusterState, transition: Transition, now: u64) -> Verdict {
    state.fold(Fact::Decided { slot: slot(SLOT), transition }, at(now))
}

fn sequence(state: &ClusterState) -> Option<u64> {
    match &of(state, SLOT).stage {
        NodeStage::BootstrapRunning { session, .. } => Some(session.seq),
        NodeStage::New
        | NodeStage::LeaseRequested
        | NodeStage::LeaseCreated { .. }
        | NodeStage::EndpointKnown { .. }
        | NodeStage::SwactorJoined { .. }
        | NodeStage::HandedOff { .. }
        | NodeStage::Dormant { .. }
        | NodeStage::Failed { .. }
        | NodeStage::Destroyed { .. } => None,
    }
}

/// R55: a session's number never moves back.
#[test]
fn a_sequence_never_moves_back() {
    let mut state = at_stage(StageName::BootstrapRunning);
    assert_eq!(session(&mut state, 1, 2, SessionStage::StdoutStreaming), Verdict::Applied);
    for seq in [2, 1] {
        assert_eq!(session(&mut state, 1, seq, SessionStage::Created), Verdict::Stale);
    }
    assert_eq!(sequence(&state), Some(2));
}

/// R56, R59: a report of another session changes nothing.
#[test]
fn another_session_is_stale() {
    let mut state = at_stage(StageName::BootstrapRunning);
    assert_eq!(session(&mut state, 2, 9, SessionStage::Converged), Verdict::Stale);
    assert_eq!(sequence(&state), Some(0));
}

/// R57: a session that closes before its node joined failed; after the join it is what was asked for.
#[test]
fn a_session_that_closes_before_the_join_failed() {
    let mut early = at_stage(StageName::BootstrapRunning);
    assert_eq!(session(&mut early, 1, 1, SessionStage::Closed), Verdict::Applied);
    let record = of(&early, SLOT);
    assert!(matches!(&record.stage, NodeStage::Failed { remains: Remains::Session { .. }, .. }));

    let mut joined = at_stage(StageName::SwactorJoined);
    let kind = CommandKind::BootstrapConvergenceObserved;
    let _sent = dispatch(&mut joined, SLOT, kind, 1, at(1));
    let _said = session(&mut joined, 1, 1, SessionStage::Closed);
    let _closed = reported(&mut joined, SLOT, 1, Ok(EffectOutcome::Closed), at(2));
    assert_eq!(of(&joined, SLOT).stage.name(), StageName::HandedOff);
}

/// R58: a node is ready only after its session is closed.
#[test]
fn ready_comes_after_the_session_is_closed() {
    let mut state = at_stage(StageName::BootstrapRunning);
    assert_eq!(decided(&mut state, Transition::Settle, 250), Verdict::Applied);
    assert!(!of(&state, SLOT).is_ready(), "joined, and the session is still open");
    let kind = CommandKind::BootstrapConvergenceObserved;
    let _sent = dispatch(&mut state, SLOT, kind, 1, at(251));
    assert!(!of(&state, SLOT).is_ready());
    let _closed = reported(&mut state, SLOT, 1, Ok(EffectOutcome::Closed), at(252));
    assert!(of(&state, SLOT).is_ready());
}

/// An exit fails what runs, wherever it is, and leaves its lease to be cleaned up.
#[test]
fn an_exit_fails_what_runs() {
    for name in StageName::ALL {
        let mut state = at_stage(name);
        let attempt = of(&state, SLOT).attempt;
        let (status, tail) = (ExitStatus::Unknown, Redacted::default());
        let fact =
            Fact::Exited { slot: slot(SLOT), attempt, workload: Handle::default(), status, tail };
        let runs = matches!(
            name,
            StageName::BootstrapRunning
                | StageName::SwactorJoined
                | StageName::HandedOff
                | StageName::Dormant
        );
        let verdict = state.fold(fact, at(9));
        assert_eq!(verdict == Verdict::Applied, runs, "{name:?}");
        if runs {
            let remains = Remains::Lease { lease: lease("l-1") };
            let record = of(&state, SLOT);
            let kept =
                matches!(&record.stage, NodeStage::Failed { remains: r, .. } if *r == remains);
            assert!(kept, "{:?}", record.stage);
        }
    }
}

/// An exit while its session is being closed ends that step too: no step stays open for ever.
#[test]
fn an_exit_ends_the_step_at_hand() {
    let mut state = at_stage(StageName::SwactorJoined);
    let kind = CommandKind::BootstrapConvergenceObserved;
    let _sent = dispatch(&mut state, SLOT, kind, 1, at(1));
    let attempt = of(&state, SLOT).attempt;
    let (status, tail) = (ExitStatus::Code(0), Redacted::default());
    let _failed = state.fold(
        Fact::Exited { slot: slot(SLOT), attempt, workload: Handle::default(), status, tail },
        at(2),
    );
    let ends: Vec<_> = state.take_settled().iter().map(|settled| settled.end).collect();
    assert_eq!(ends, [StepEnd::NoEffect]);
    assert!(of(&state, SLOT).pending.is_none());
}

/// While deleting, the end of the workload is the cancel's own business.
#[test]
fn an_exit_while_deleting_changes_nothing() {
    let mut state = at_stage(StageName::HandedOff);
    let begin = Transition::BeginDelete(DeleteReason::Undesired);
    assert_eq!(decided(&mut state, begin, 1), Verdict::Applied);
    let _gone = looked(&mut state, SLOT, present("l-1", exited()), at(2));
    assert_eq!(of(&state, SLOT).stage.name(), StageName::HandedOff);
}

/// A workload that ended before its start was reported is found by the look that follows the start.
#[test]
fn a_workload_that_ends_at_once_is_noticed() {
    let mut state = at_stage(StageName::EndpointKnown);
    let _sent = dispatch(&mut state, SLOT, CommandKind::StartBootstrap, 1, at(1));
    let outcome = EffectOutcome::Started { workload: Handle::default() };
    let mut report = report(&state, SLOT, 1, Ok(outcome));
    report.look = Some(present("l-1", exited()));
    assert_eq!(state.fold(Fact::Reported(report), at(2)), Verdict::Applied);
    assert_eq!(of(&state, SLOT).stage.name(), StageName::Failed);
}

/// D6: a look by id proves an absence at once, and what cannot be seen proves nothing.
#[test]
fn a_look_by_id_is_proof_and_no_look_is_not() {
    let blind = Look::Unknown { why: Redacted::new("no answer") };
    let mut state = at_stage(StageName::Dormant);
    let before = of(&state, SLOT);
    assert_eq!(looked(&mut state, SLOT, blind, at(9)), Verdict::Unchanged);
    assert_eq!(of(&state, SLOT), before);
    assert_eq!(looked(&mut state, SLOT, Look::Absent, at(9)), Verdict::Applied);
    let record = of(&state, SLOT);
    assert!(matches!(&record.stage, NodeStage::Failed { remains: Remains::Nothing, .. }));
}

/// C3: a young lease may not be visible yet, even by its id.
#[test]
fn a_young_lease_may_be_invisible() {
    let mut state = at_stage(StageName::LeaseCreated);
    assert_eq!(looked(&mut state, SLOT, Look::Absent, at(4_999)), Verdict::Unchanged);
    assert_eq!(looked(&mut state, SLOT, Look::Absent, at(5_000)), Verdict::Applied);
}

/// A transition that does not fit the record changes nothing.
#[test]
fn an_illegal_transition_changes_nothing() {
    for name in StageName::ALL {
        for transition in [Transition::Settle, Transition::Rest, Transition::Expire] {
            let mut state = at_stage(name);
            let before = of(&state, SLOT);
            let legal = matches!(
                (&transition, name),
                (Transition::Settle, StageName::BootstrapRunning)
                    | (Transition::Rest, StageName::HandedOff)
            );
            let verdict = decided(&mut state, transition, 9);
            assert_eq!(verdict == Verdict::Applied, legal, "{name:?}");
            assert!(legal || of(&state, SLOT) == before);
        }
    }
}

/// D8: a session that ends is no failure of what goes, nor of what is being stopped; of what is to run it is.
#[test]
fn a_session_that_ends_fails_what_is_to_run_alone() {
    let ends = [SessionStage::Closed, SessionStage::Cancelled, SessionStage::StartFailed];
    for (going, stopping) in [(false, false), (true, false), (false, true), (true, true)] {
        for said in ends {
            let mut state = at_stage(StageName::BootstrapRunning);
            if going {
                let begin = Transition::BeginDelete(DeleteReason::Undesired);
                assert_eq!(decided(&mut state, begin, 1), Verdict::Applied);
            }
            if stopping {
                let _sent = dispatch(&mut state, SLOT, CommandKind::CancelBootstrap, 1, at(1));
            }
            assert_eq!(session(&mut state, 1, 1, said), Verdict::Applied);
            let failed = of(&state, SLOT).stage.name() == StageName::Failed;
            assert_eq!(failed, !going && !stopping, "{said:?}, going {going}, stopping {stopping}");
        }
    }
}

/// C1, C9: who is seen was never missing; that its workload was said to have ended is taken back only by what shows it.
#[test]
fn who_is_seen_was_never_in_doubt() {
    let running = || WorkloadState::Running { workload: Handle::default() };
    for (missing, suspect) in [(false, false), (true, false), (false, true), (true, true)] {
        for (workload, shown) in [(running(), true), (WorkloadState::Unknown, false)] {
            let mut record = in_stage(&shape(&[("web", 1)]), SLOT, stage(StageName::Dormant));
            record.missing_since = missing.then_some(at(0));
            record.suspect_since = suspect.then_some(at(0));
            let mut state = state([record]);
            let verdict = looked(&mut state, SLOT, present("l-1", workload), at(2));
            let news = missing || (suspect && shown);
            assert_eq!(verdict == Verdict::Applied, news, "{missing} {suspect} {shown}");
            let record = of(&state, SLOT);
            let kept = (suspect && !shown).then_some(at(0));
            assert_eq!((record.missing_since, record.suspect_since), (None, kept));
        }
    }
}
