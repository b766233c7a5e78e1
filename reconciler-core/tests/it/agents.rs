//! Agents: who is let in, what is kept of them, and what their silence decides, which is nothing.

use reconciler_core::{
    desired::{ClusterShape, JoinMode, NodeSpec, Policy, RunNodeGroupSpec},
    fold::{Fact, Transition, Verdict},
    id::{AgentSeal, SessionId},
    observed::{Admission, AgentNews, ClusterState, NodeRecord, SessionStage, StageName},
    reconcile::{Rung, reconcile},
};

use crate::{
    fleet::{T0, at, group, in_stage, node_spec, of, stage, state},
    probes::web,
};

const SEAL: AgentSeal = AgentSeal::from_bytes([1; 32]);
const OTHER: AgentSeal = AgentSeal::from_bytes([2; 32]);

fn shape() -> ClusterShape {
    let spec = NodeSpec { join: JoinMode::Agent, ..node_spec("v1") };
    let group = RunNodeGroupSpec::new(group("web"), 1, spec, Policy::default());
    web(1, &Policy::default()).with_group(group).expect("a shape")
}

fn record(state: &ClusterState) -> NodeRecord {
    of(state, "web-0").as_ref().clone()
}

fn hear(state: &mut ClusterState, news: AgentNews) -> Verdict {
    let record = record(state);
    let session = record.stage.session().expect("a session");
    let (slot, attempt) = (record.slot, record.attempt);
    state.fold(Fact::Agent { slot, attempt, session, news }, T0)
}

fn report(state: &mut ClusterState, seq: u64, how: SessionStage) -> Verdict {
    let record = record(state);
    let session = record.stage.session().expect("a session");
    let (slot, attempt) = (record.slot, record.attempt);
    state.fold(Fact::Session { slot, attempt, session, seq, stage: how }, T0)
}

/// R57: it joins once its agent was let in, said that the workload runs, and the settle time is over; not before.
#[test]
fn who_joins_by_an_agent_waits_for_its_word() {
    let shape = shape();
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    let waits = |state: &ClusterState| {
        let plan = reconcile(state, &shape, at(60_000));
        plan.reasons.iter().any(|(_, reason)| reason.rung == Rung::AwaitAgent)
    };
    assert!(waits(&state));
    assert_eq!(report(&mut state, 1 << 33, SessionStage::Converged), Verdict::Applied);
    assert!(waits(&state), "the word of nobody that was let in counts for nothing");
    assert_eq!(hear(&mut state, AgentNews::Joined(SEAL)), Verdict::Applied);
    let plan = reconcile(&state, &shape, at(60_000));
    let moves: Vec<_> = plan.transitions.into_iter().map(|(_, transition)| transition).collect();
    assert_eq!(moves, [Transition::Settle]);
}

/// A token lets the first one in that shows it, and nobody else in that session, however often it is shown.
#[test]
fn a_token_lets_one_agent_in() {
    let shape = shape();
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    let session = record(&state).stage.session().expect("a session");
    assert_eq!(record(&state).admits(SEAL, None, None), Admission::Welcome(session));
    assert_eq!(hear(&mut state, AgentNews::Joined(SEAL)), Verdict::Applied);
    for resumed in [None, Some(session)] {
        assert_eq!(record(&state).admits(SEAL, resumed, None), Admission::Welcome(session));
        assert!(matches!(record(&state).admits(OTHER, resumed, None), Admission::Refused(_)));
    }
    assert_eq!(hear(&mut state, AgentNews::Joined(OTHER)), Verdict::Illegal);
    let later = SessionId::new(session.get() + 1);
    assert!(matches!(record(&state).admits(SEAL, Some(later), None), Admission::Refused(_)));
}

/// Of two that show one token in the same moment one is let in, before anything of the other was folded.
#[test]
fn a_token_lets_one_agent_in_at_once() {
    let shape = shape();
    let state = state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    let session = record(&state).stage.session().expect("a session");
    let seated = Some((session, SEAL));
    assert_eq!(record(&state).admits(SEAL, None, seated), Admission::Welcome(session));
    assert!(matches!(record(&state).admits(OTHER, None, seated), Admission::Refused(_)));
    let earlier = Some((SessionId::new(session.get() + 1), SEAL));
    assert_eq!(
        record(&state).admits(OTHER, None, earlier),
        Admission::Welcome(session),
        "it is over"
    );
}

/// What joins by no agent, and what has no workload, lets nobody in.
#[test]
fn an_attempt_without_a_session_lets_nobody_in() {
    let plain = web(1, &Policy::default());
    let running = state([in_stage(&plain, "web-0", stage(StageName::BootstrapRunning))]);
    assert!(matches!(record(&running).admits(SEAL, None, None), Admission::Refused(_)));
    let shape = shape();
    let state_of = |name| state([in_stage(&shape, "web-0", stage(name))]);
    for name in [StageName::New, StageName::EndpointKnown] {
        let admitted = record(&state_of(name)).admits(SEAL, None, None);
        assert!(matches!(admitted, Admission::Refused(_)), "{name:?}");
    }
}

/// C9: a lost agent is noted once and decides nothing; one that is back is noted as well.
#[test]
fn a_lost_agent_decides_nothing() {
    let shape = shape();
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::Dormant))]);
    assert_eq!(hear(&mut state, AgentNews::Lost), Verdict::Stale, "nobody was there");
    assert_eq!(hear(&mut state, AgentNews::Joined(SEAL)), Verdict::Applied);
    assert_eq!(hear(&mut state, AgentNews::Lost), Verdict::Applied);
    assert_eq!(hear(&mut state, AgentNews::Lost), Verdict::Unchanged);
    let plan = reconcile(&state, &shape, at(3_600_000));
    assert!(plan.is_empty(), "{plan:?}");
    assert_eq!(hear(&mut state, AgentNews::Joined(SEAL)), Verdict::Applied);
    assert_eq!(record(&state).agent.expect("an agent").lost_since, None);
    let told: Vec<_> = state.take_notes().into_iter().map(|note| note.what.to_string()).collect();
    assert_eq!(
        told,
        [
            "its agent joined",
            "its agent is not heard of; how its workload fares is not known",
            "its agent is heard of again",
        ]
    );
}
