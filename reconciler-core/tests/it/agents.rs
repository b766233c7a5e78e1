//! Agents: who is let in, what is kept of them, and what their silence decides, which is nothing.

use reconciler_core::{
    desired::{ClusterShape, HookPoint, JoinMode, NodeSpec, Policy, RunNodeGroupSpec},
    effect::{ActionKind, CommandKind, ExitStatus},
    fold::{Fact, Transition, Verdict},
    id::{AgentSeal, SessionId},
    observed::{
        Admission, AgentNews, ClusterState, DeleteReason, Deletion, Handle, HookMark, NodeRecord,
        NodeStage, SessionStage, StageName,
    },
    plan::Scope,
    reconcile::{RolloutChange, Rung, explain, reconcile},
    redact::Redacted,
    time::Millis,
};

use crate::{
    fleet::{T0, ambiguity, at, group, in_stage, node_spec, of, pending, slot, stage, state, with},
    plan_steps::plan_of,
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

/// P7: whose agent is waited for is not said to have joined, nor when it will have; it is once that is known.
#[test]
fn nobody_says_when_a_node_joins_whose_agent_is_waited_for() {
    let shape = shape();
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    let names = |state: &ClusterState| {
        let plan = reconcile(state, &shape, T0);
        let reason = plan.reasons.iter().find(|(of, _)| *of == slot("web-0")).map(|(_, why)| why);
        let told = explain(&slot("web-0"), reason, state, &shape, T0);
        told.facts.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert!(!names(&state).contains(&"joined at") && names(&state).contains(&"given up at"));
    assert_eq!(hear(&mut state, AgentNews::Joined(SEAL)), Verdict::Applied);
    assert!(!names(&state).contains(&"joined at"));
    assert_eq!(report(&mut state, 1 << 33, SessionStage::Converged), Verdict::Applied);
    assert!(names(&state).contains(&"joined at"));
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

/// What is under way, whether a workload that ends then ends because of it, and a record under it.
type UnderWay = (&'static str, bool, fn(&mut NodeRecord));

/// What may be under way with an attempt whose workload ends.
fn under_way() -> Vec<UnderWay> {
    const PRE_STOP: ActionKind = ActionKind::Hook(HookPoint::PreStop);
    vec![
        ("nothing", false, |_| {}),
        ("its start", false, |r| r.pending = Some(pending(CommandKind::StartBootstrap, 1, at(9)))),
        ("a stop", true, |r| r.pending = Some(pending(CommandKind::CancelBootstrap, 1, at(9)))),
        ("a doubted stop", true, |r| {
            r.ambiguity = Some(ambiguity(CommandKind::CancelBootstrap, at(9)));
        }),
        ("the hook of a stop", true, |r| r.pending = Some(pending(PRE_STOP, 1, at(9)))),
        ("a doubted hook of a stop", true, |r| r.ambiguity = Some(ambiguity(PRE_STOP, at(9)))),
        ("a stop whose hook ran", true, |r| {
            let session = SessionId::new(1);
            r.hooks.passed = Some(HookMark { session, point: HookPoint::PreStop });
        }),
        ("a hook of an earlier stop", false, |r| {
            let session = SessionId::new(0);
            r.hooks.passed = Some(HookMark { session, point: HookPoint::PreStop });
        }),
        ("a start whose hook ran", false, |r| {
            let session = SessionId::new(1);
            r.hooks.passed = Some(HookMark { session, point: HookPoint::PostStart });
        }),
        ("its deletion", true, |r| {
            r.deletion = Some(Deletion { reason: DeleteReason::Undesired, since: T0 });
        }),
    ]
}

/// R59, R138: the end that an agent tells of counts once, in its own session, of a workload that nobody ends; what it
/// counts for it counts for as an exit that the provider saw, and what does not count changes nothing.
#[test]
fn the_told_end_of_a_workload_counts_unless_it_is_being_stopped() {
    use StageName::{BootstrapRunning, Dormant, HandedOff, SwactorJoined};
    let (shape, now) = (shape(), at(60_000));
    for name in StageName::ALL {
        let runs = [BootstrapRunning, SwactorJoined, HandedOff, Dormant].contains(&name);
        for (what, stops, begin) in under_way() {
            let mut record = in_stage(&shape, "web-0", stage(name));
            begin(&mut record);
            let told = record.end_told_in(SessionId::new(1));
            let counts = runs && !stops;
            assert_eq!(told, counts.then_some(&Handle::default()), "{name:?} under {what}");
            assert_eq!(record.end_told_in(SessionId::new(2)), None, "{name:?}: another session");

            let (slot, attempt) = (record.slot.clone(), record.attempt);
            let mut state = state([record]);
            let before = of(&state, "web-0");
            let (status, tail) = (ExitStatus::Code(1), Redacted::default());
            let workload = Handle::default();
            let verdict = state.fold(Fact::Exited { slot, attempt, workload, status, tail }, now);
            let after = of(&state, "web-0");
            if counts {
                assert_eq!(verdict, Verdict::Applied, "{name:?} under {what}");
                assert_eq!(after.stage.name(), StageName::Failed, "{name:?} under {what}");
                assert_eq!(after.end_told_in(SessionId::new(1)), None, "it is told once");
            } else {
                assert_eq!(verdict, Verdict::Unchanged, "{name:?} under {what}");
                assert_eq!(after, before, "{name:?} under {what}");
            }
        }
    }
}

/// D8: while its attempt goes, an agent that was let in may come back, and nobody new is let in.
#[test]
fn nobody_new_is_let_in_while_the_attempt_goes() {
    let going = |agent: bool| {
        let mut state = state([in_stage(&shape(), "web-0", stage(StageName::BootstrapRunning))]);
        if agent {
            assert_eq!(hear(&mut state, AgentNews::Joined(SEAL)), Verdict::Applied);
        }
        let deletion = Some(Deletion { reason: DeleteReason::Undesired, since: T0 });
        with(record(&state), |record| record.deletion = deletion)
    };
    let session = going(false).stage.session().expect("a session");
    let welcome = Admission::Welcome(session);
    assert_eq!(
        going(false).admits(SEAL, None, None),
        Admission::Refused("the attempt is being deleted")
    );
    assert_eq!(going(true).admits(SEAL, None, None), welcome);
    assert_eq!(going(true).admits(SEAL, Some(session), None), welcome);
}

/// D2: a plan takes it that every agent joins that is awaited, whether its node is yet to be made, waits for it, or has
/// heard of it; also of a node that keeps joining by an agent because its update is paused.
#[test]
fn a_plan_takes_it_that_agents_join() {
    const RUNS: StageName = StageName::BootstrapRunning;
    let shape = shape();
    let node = |name: StageName, joined: bool| {
        let mut state = state([in_stage(&shape, "web-0", stage(name))]);
        if joined {
            assert_eq!(hear(&mut state, AgentNews::Joined(SEAL)), Verdict::Applied);
        }
        state
    };
    let other = web(1, &Policy::default());
    let target = other.group(&group("web")).expect("the group").revision;
    let patience = Millis::from_secs(60);
    let begin = RolloutChange::Begin { target, prior: None, reverts: false, patience };
    // Who waits from the beginning is seen at once, who comes to wait only later.
    let mut paused = node(StageName::EndpointKnown, false);
    for fact in
        [Fact::Rollout { group: group("web"), change: begin }, Fact::Paused(group("web"), true)]
    {
        assert_eq!(paused.fold(fact, T0), Verdict::Applied);
    }
    let rows = [
        (self::state([]), &shape),
        (node(RUNS, false), &shape),
        (node(RUNS, true), &shape),
        (paused, &other),
    ];
    for (n, (state, target)) in rows.into_iter().enumerate() {
        let plan = plan_of(&state, target, Scope::All, T0);
        let last = plan.steps.last().map(|step| step.action);
        let closes = ActionKind::from(CommandKind::BootstrapConvergenceObserved);
        assert_eq!((last, plan.blocked.len()), (Some(closes), 0), "row {n}: {plan:?}");
    }
}

/// P7: who does not join in time is told with what it wrote last, if that is of this very session.
#[test]
fn who_never_joins_is_quoted() {
    let shape = shape();
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    let one = record(&state);
    let (session, until) = one.is_unquoted().expect("nothing is known of what it wrote");
    assert_eq!(until, one.since.after(one.policy.timeouts.bootstrap));
    let say = |state: &mut ClusterState, session, text: &str| {
        let (slot, attempt, tail) = (one.slot.clone(), one.attempt, Redacted::new(text));
        state.fold(Fact::Said { slot, attempt, session, tail }, T0)
    };
    assert_eq!(say(&mut state, session.next(), "of another one"), Verdict::Stale);
    let words = "the driver cannot be reached";
    assert_eq!(say(&mut state, session, words), Verdict::Applied);
    assert_eq!(say(&mut state, session, words), Verdict::Unchanged);
    assert_eq!(record(&state).is_unquoted(), None);
    let plan = reconcile(&state, &shape, until);
    assert_eq!(plan.transitions, [(slot("web-0"), Transition::TimeOut)]);
    let transition = Transition::TimeOut;
    let decided = Fact::Decided { slot: slot("web-0"), transition };
    assert_eq!(state.fold(decided, until), Verdict::Applied);
    let NodeStage::Failed { failure, .. } = record(&state).stage else { panic!("it failed") };
    assert_eq!(
        failure.message.as_str(),
        format!("it did not join in time; its last lines: {words}")
    );
    assert_eq!(say(&mut state, session, "too late"), Verdict::Unchanged);
}
