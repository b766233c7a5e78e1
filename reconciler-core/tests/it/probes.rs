//! Probes: what their answers amount to, and what waits for them (R132, R169, R172).

use std::sync::Arc;

use reconciler_core::{
    desired::{
        ClusterShape, GateCondition, JoinMode, NodeSpec, Policy, Probe, ProbeCheck, ProbeKind,
        Probes, RunNodeGroupSpec,
    },
    effect::WorkloadState,
    fold::{Fact, Transition, Verdict},
    id::SessionId,
    observed::{
        ClusterState, Endpoint, Handle, NodeRecord, NodeStage, ProbeAnswer, ProbeVerdict, Second,
        StageName,
    },
    reconcile::{Rung, explain, group_converged, lacks, reconcile},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::{
    fleet::{
        T0, at, group, in_stage, lease, member, node_spec, of, present, shape_with, slot, stage,
        state,
    },
    rollout::rung,
};

pub(crate) fn probe() -> Probe {
    let mut probe = Probe::new(ProbeCheck::Tcp { port: "main".to_owned() });
    (probe.successes, probe.failures) = (2, 3);
    probe
}

/// A policy with probes of these kinds.
pub(crate) fn probed(kinds: &[ProbeKind]) -> Policy {
    let of = |kind| kinds.contains(&kind).then(|| Arc::new(probe()));
    let probes = Probes {
        startup: of(ProbeKind::Startup),
        liveness: of(ProbeKind::Liveness),
        readiness: of(ProbeKind::Readiness),
        ..Probes::default()
    };
    Policy { probes, ..Policy::default() }
}

pub(crate) fn web(count: u32, policy: &Policy) -> ClusterShape {
    shape_with(1, &[("web", count, "v1")], policy)
}

pub(crate) fn failed() -> ProbeAnswer {
    ProbeAnswer::Failed(Redacted::new("connection refused"))
}

pub(crate) fn unknown() -> ProbeAnswer {
    ProbeAnswer::Unknown(Redacted::new("no room"))
}

/// Answers the probe of `kind` of the present attempt of `text`.
pub(crate) fn answer(
    state: &mut ClusterState,
    text: &str,
    kind: ProbeKind,
    answer: ProbeAnswer,
    now: Timestamp,
) -> Verdict {
    let record = of(state, text);
    let session = record.stage.session().expect("a session");
    let probe = record.policy.probes.of(kind).cloned().unwrap_or_else(|| Arc::new(probe()));
    let (slot, attempt) = (slot(text), record.attempt);
    state.fold(Fact::Probed { slot, attempt, session, kind, probe, answer }, now)
}

/// A node of `shape` whose liveness was answered so: `p` passed, `f` failed, and `?` could not be asked.
pub(crate) fn answered(shape: &ClusterShape, answers: &str) -> ClusterState {
    let mut state = state([ready(shape, "web-0")]);
    for letter in answers.chars() {
        let given = match letter {
            'p' => ProbeAnswer::Passed,
            'f' => failed(),
            '?' => unknown(),
            other => panic!("`{other}` is no answer"),
        };
        let _counted = answer(&mut state, "web-0", ProbeKind::Liveness, given, T0);
    }
    state
}

pub(crate) fn ready(shape: &ClusterShape, text: &str) -> NodeRecord {
    let (lease, endpoint) = (lease(&format!("l-{text}")), Endpoint::default());
    let stage = NodeStage::Dormant { lease, endpoint, member: member(), completed: None };
    in_stage(shape, text, stage)
}

/// A node that joined, and whose readiness probe passes.
pub(crate) fn serving(shape: &ClusterShape, count: u32) -> ClusterState {
    let mut state = state((0..count).map(|n| ready(shape, &format!("web-{n}"))));
    for n in 0..count {
        for _ in 0..2 {
            let _counted = answer(
                &mut state,
                &format!("web-{n}"),
                ProbeKind::Readiness,
                ProbeAnswer::Passed,
                T0,
            );
        }
    }
    drop(state.take_dirty());
    state
}

/// So many passes or failures in a row count, a broken row begins anew, and what could not be asked counts as nothing.
#[test]
fn answers_count_in_rows() {
    use ProbeVerdict::{Failing, Passing, Unproven};
    let table: [(&str, ProbeVerdict); 12] = [
        ("", Unproven),
        ("p", Unproven),
        ("pp", Passing),
        ("pfp", Unproven),
        ("ff", Unproven),
        ("fff", Failing),
        ("fpff", Unproven),
        ("ppff", Passing),
        ("ppffpff", Passing),
        ("ppfff", Failing),
        ("fffpfpp", Passing),
        ("f?f?????f", Failing),
    ];
    let shape = web(1, &probed(&[ProbeKind::Liveness]));
    for (answers, want) in table {
        let state = answered(&shape, answers);
        assert_eq!(of(&state, "web-0").verdict(ProbeKind::Liveness), want, "{answers}");
    }
}

/// What tells nothing new changes nothing, so that a fleet that is well writes nothing.
#[test]
fn an_answer_that_tells_nothing_new_changes_nothing() {
    let shape = web(1, &probed(&[ProbeKind::Readiness]));
    let mut state = serving(&shape, 1);
    let mut ask = |given| answer(&mut state, "web-0", ProbeKind::Readiness, given, at(9));
    assert_eq!(ask(ProbeAnswer::Passed), Verdict::Unchanged);
    assert_eq!(ask(unknown()), Verdict::Applied, "that it cannot be asked is news once");
    assert_eq!(ask(unknown()), Verdict::Unchanged);
    assert_eq!(ask(ProbeAnswer::Passed), Verdict::Applied);
    for _ in 0..3 {
        assert_eq!(ask(failed()), Verdict::Applied);
    }
    assert_eq!(ask(failed()), Verdict::Unchanged, "it fails already");
}

/// An answer of another session, another attempt or another probe, or out of its turn, says nothing.
#[test]
fn a_stale_answer_is_not_taken() {
    let policy = probed(&ProbeKind::ALL);
    let shape = web(1, &policy);
    let record = in_stage(&shape, "web-0", stage(StageName::BootstrapRunning));
    let mut state = state([record.clone()]);
    let mine = Fact::Probed {
        slot: slot("web-0"),
        attempt: record.attempt,
        session: record.stage.session().expect("a session"),
        kind: ProbeKind::Startup,
        probe: Arc::new(probe()),
        answer: ProbeAnswer::Passed,
    };
    let change = |edit: fn(&mut SessionId, &mut ProbeKind, &mut Arc<Probe>)| {
        let mut fact = mine.clone();
        let Fact::Probed { session, kind, probe, .. } = &mut fact else { panic!("an answer") };
        edit(session, kind, probe);
        fact
    };
    let others = [
        change(|session, _, _| *session = session.next()),
        change(|_, kind, _| *kind = ProbeKind::Readiness),
        change(|_, kind, _| *kind = ProbeKind::Liveness),
        change(|_, _, probe| Arc::make_mut(probe).failures = 9),
    ];
    for fact in others {
        assert_eq!(state.fold(fact.clone(), T0), Verdict::Stale, "{fact:?}");
    }
    assert_eq!(state.fold(mine.clone(), T0), Verdict::Applied);
    let mut gone = mine;
    if let Fact::Probed { attempt, .. } = &mut gone {
        attempt.ordinal = attempt.ordinal.next();
    }
    assert_eq!(state.fold(gone, T0), Verdict::Stale);
}

/// A node joins once its startup probe passed, however long it ran; failing, that probe ends the attempt.
#[test]
fn startup_is_waited_for_and_its_failure_is_the_end() {
    let shape = web(1, &probed(&[ProbeKind::Startup]));
    let begun = || state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    let startup = |state: &mut ClusterState, given| {
        answer(state, "web-0", ProbeKind::Startup, given, at(500))
    };
    let mut coming = begun();
    let awaits = rung(&reconcile(&coming, &shape, at(5_000)), "web-0");
    assert_eq!(awaits.to_string(), "waits for its startup probe to pass");
    let _one = startup(&mut coming, ProbeAnswer::Passed);
    let _two = startup(&mut coming, ProbeAnswer::Passed);
    assert_eq!(step(&coming, &shape, 5_000), Some(Transition::Settle));
    let mut going = begun();
    for _ in 0..3 {
        assert_eq!(step(&going, &shape, 5_000), None);
        let _counted = startup(&mut going, failed());
    }
    assert_eq!(step(&going, &shape, 5_000), Some(Transition::GiveUp(ProbeKind::Startup)));
    assert_eq!(
        startup(&mut going, ProbeAnswer::Passed),
        Verdict::Stale,
        "it is not asked any more"
    );
    decided(&mut going, Transition::GiveUp(ProbeKind::Startup), 5_000);
    let record = of(&going, "web-0");
    let NodeStage::Failed { failure, .. } = &record.stage else { panic!("{:?}", record.stage) };
    assert_eq!(failure.message.as_str(), "its startup probe failed: connection refused");
    assert_eq!((record.backoff.failures, record.health.is_none()), (1, true));
}

/// With `join = probe` nothing but the startup probe is waited for.
#[test]
fn who_joins_by_its_probe_waits_for_no_time() {
    let policy = probed(&[ProbeKind::Startup]);
    let spec = NodeSpec { join: JoinMode::Probe, ..node_spec("v1") };
    assert_ne!(spec.revision(), node_spec("v1").revision());
    let group = RunNodeGroupSpec::new(group("web"), 1, spec, policy);
    let shape = web(1, &Policy::default()).with_group(group).expect("a shape");
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    assert_eq!(step(&state, &shape, 9_000), None);
    for _ in 0..2 {
        let _counted = answer(&mut state, "web-0", ProbeKind::Startup, ProbeAnswer::Passed, T0);
    }
    assert_eq!(step(&state, &shape, 0), Some(Transition::Settle));
}

/// R176: a node that does not serve is counted as missing and kept, however long; what waits for it, waits.
#[test]
fn readiness_never_ends_a_node() {
    let shape = web(2, &probed(&[ProbeKind::Readiness]));
    let mut state = serving(&shape, 2);
    assert!(converged(&state, &shape));
    for n in 0..1_000 {
        let _counted = answer(&mut state, "web-1", ProbeKind::Readiness, failed(), at(n * 10_000));
    }
    let plan = reconcile(&state, &shape, at(20_000_000));
    assert!(plan.is_empty(), "{plan:?}");
    let why = "its readiness probe fails: connection refused";
    assert_eq!(rung(&plan, "web-1").to_string(), why);
    assert_eq!(state.group(&group("web")).map(|seen| seen.ready()), Some(1));
    assert!(!converged(&state, &shape), "who does not serve is not as wanted");
    let (web, reason) = (slot("web-1"), plan.reasons.iter().find(|(at, _)| *at == slot("web-1")));
    let told = explain(&web, reason.map(|(_, r)| r), &state, &shape, at(20_000_000)).to_string();
    assert!(told.contains("readiness probe: failing: connection refused"), "{told}");
    for _ in 0..2 {
        let _counted =
            answer(&mut state, "web-1", ProbeKind::Readiness, ProbeAnswer::Passed, at(20_000_001));
    }
    assert!(converged(&state, &shape));
    assert_eq!(of(&state, "web-1").attempt.ordinal.get(), 1, "it is the same node");
}

/// R167: the gate `ready` opens when the readiness probe of each node passes, and not by running.
#[test]
fn the_gate_ready_waits_for_readiness() {
    let policy = probed(&[ProbeKind::Readiness]);
    let waits = [(group("db"), GateCondition::Ready)].into_iter().collect();
    let web = Policy { after: waits, ..Policy::default() };
    let web = RunNodeGroupSpec::new(group("web"), 1, node_spec("v1"), web);
    let shape = shape_with(1, &[("db", 1, "v1")], &policy).with_group(web).expect("a shape");
    let mut state = state([ready(&shape, "db-0")]);
    let lack = |state: &ClusterState| {
        let spec = shape.group(&group("web")).expect("the group");
        lacks(state, &shape, spec).first().map(ToString::to_string)
    };
    assert_eq!(lack(&state).as_deref(), Some("db (0 of 1 ready)"));
    for _ in 0..2 {
        let _counted = answer(&mut state, "db-0", ProbeKind::Readiness, ProbeAnswer::Passed, T0);
    }
    assert_eq!(lack(&state), None);
}

/// R172, R173: a candidate takes over once startup, liveness and readiness passed, in that order, and not before.
#[test]
fn a_promotion_waits_for_every_probe() {
    let mut policy = probed(&ProbeKind::ALL);
    policy.update.max_surge = reconciler_core::desired::Amount::Nodes(1);
    let (one, two) = (web(1, &policy), shape_with(2, &[("web", 1, "v2")], &policy));
    let mut old =
        serving(&one, 1).record(&slot("web-0")).map(|r| NodeRecord::clone(r)).expect("it");
    let spec = two.group(&group("web")).expect("a group").clone();
    let spec = two.stamp(&spec, slot("web-0"), old.born, old.next_ordinal());
    let mut candidate = NodeRecord::fresh(spec, old.backoff.clone(), T0);
    candidate.stage = stage(StageName::HandedOff);
    old.second = Some(Box::new(Second::new(candidate)));
    let mut state = state([old]);
    let why = |state: &ClusterState| {
        let plan = reconcile(state, &two, at(100));
        plan.second_reasons.first().map(|(_, reason)| reason.rung.clone())
    };
    for kind in ProbeKind::ALL {
        let waits = Some(Rung::AwaitProbe(kind, ProbeVerdict::Unproven, Redacted::default()));
        assert_eq!(why(&state), waits);
        for _ in 0..2 {
            let second = of(&state, "web-0").second.clone().expect("a candidate");
            let (attempt, session) = (second.record.attempt, second.record.stage.session());
            let (session, probe) = (session.expect("a session"), Arc::new(probe()));
            let passed = ProbeAnswer::Passed;
            let fact =
                Fact::Probed { slot: slot("web-0"), attempt, session, kind, probe, answer: passed };
            assert_eq!(state.fold(fact, at(90)), Verdict::Applied);
        }
    }
    assert_eq!(why(&state), Some(Rung::Verifying), "a look from before the probes passed is none");
    let attempt = of(&state, "web-0").second.as_ref().expect("a candidate").record.attempt;
    let look = present("l-1", WorkloadState::Running { workload: Handle::default() });
    let visibility = Millis::ZERO;
    let fact = Fact::Looked { slot: slot("web-0"), attempt, look, visibility };
    assert_eq!(state.fold(fact, at(100)), Verdict::Applied);
    let plan = reconcile(&state, &two, at(100));
    assert_eq!(plan.transitions, [(slot("web-0"), Transition::Promote)]);
}

/// A probe that is declared, changed or removed replaces nothing, and what serves goes on serving until it answers.
#[test]
fn another_probe_is_no_other_node() {
    let (none, probing) = (web(1, &Policy::default()), web(1, &probed(&[ProbeKind::Readiness])));
    let revision = |shape: &ClusterShape| shape.group(&group("web")).expect("a group").revision;
    assert_eq!(revision(&none), revision(&probing));
    let mut state = state([ready(&none, "web-0")]);
    let plan = reconcile(&state, &probing, T0);
    let Some((_, Transition::Retune(spec))) = plan.transitions.first() else { panic!("{plan:?}") };
    decided(&mut state, Transition::Retune(spec.clone()), 0);
    assert!(of(&state, "web-0").is_ready(), "it served, and nothing says otherwise");
    for _ in 0..3 {
        let _counted = answer(&mut state, "web-0", ProbeKind::Readiness, failed(), T0);
    }
    assert!(!of(&state, "web-0").is_ready());
}

/// The stable interval of a node begins when it serves.
#[test]
fn a_node_is_stable_by_the_time_that_it_served() {
    let shape = web(1, &probed(&[ProbeKind::Readiness]));
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::HandedOff))]);
    assert_eq!(step(&state, &shape, 60_000), None, "it does not serve");
    for _ in 0..2 {
        let _counted =
            answer(&mut state, "web-0", ProbeKind::Readiness, ProbeAnswer::Passed, at(60_000));
    }
    assert_eq!(step(&state, &shape, 69_999), None);
    assert_eq!(step(&state, &shape, 70_000), Some(Transition::Rest));
    assert_eq!(state.next_due(), Some(at(70_000)));
}

fn converged(state: &ClusterState, shape: &ClusterShape) -> bool {
    let name = group("web");
    group_converged(state.group(&name).map(AsRef::as_ref), shape.group(&name).map(AsRef::as_ref))
}

/// The transition that the present attempt of `web-0` takes.
pub(crate) fn step(state: &ClusterState, shape: &ClusterShape, now: u64) -> Option<Transition> {
    let plan = reconcile(state, shape, at(now));
    plan.transitions.into_iter().find(|(at, _)| *at == slot("web-0")).map(|(_, what)| what)
}

pub(crate) fn decided(state: &mut ClusterState, transition: Transition, now: u64) {
    let fact = Fact::Decided { slot: slot("web-0"), transition };
    assert_eq!(state.fold(fact, at(now)), Verdict::Applied);
}
