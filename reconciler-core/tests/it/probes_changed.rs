//! Probes that are declared otherwise while their workload runs: what goes on counting, and what has to be proved anew
//! (R132, R172, C13).

use std::sync::Arc;

use reconciler_core::{
    desired::{ClusterShape, Policy, Probe, ProbeKind},
    fold::{Fact, Transition, Verdict},
    id::{AttemptOrdinal, SessionId},
    observed::{ClusterState, Health, NodeRecord, ProbeVerdict, Second, Side, StageName, Trial},
};

use crate::{
    fleet::{T0, at, in_stage, of, slot, stage, state, with},
    probes::{probe, probed, web},
};

use ProbeKind::{Liveness, Readiness, Startup};

const ALL: [ProbeKind; 3] = [Startup, Liveness, Readiness];

fn passing() -> Trial {
    Trial { verdict: ProbeVerdict::Passing, since: T0, ..Trial::default() }
}

/// A node that serves and passes all of its probes.
fn serving(shape: &ClusterShape) -> NodeRecord {
    let (session, startup, liveness, readiness) =
        (SessionId::new(1), passing(), passing(), passing());
    let health = Health { session, startup, liveness, readiness, believed: false };
    let health = Some(Box::new(health));
    with(in_stage(shape, "web-0", stage(StageName::Dormant)), |r| r.health = health)
}

/// The same policy with another probe of `kind`.
fn another(policy: &Policy, kind: ProbeKind) -> Policy {
    let mut policy = policy.clone();
    let slower = Some(Arc::new(Probe { failures: 9, ..probe() }));
    match kind {
        Startup => policy.probes.startup = slower,
        Liveness => policy.probes.liveness = slower,
        Readiness => policy.probes.readiness = slower,
    }
    policy
}

/// What each probe counts as once `side` of web-0 is treated by `policy`.
fn retuned(record: NodeRecord, side: Side, policy: &Policy) -> [ProbeVerdict; 3] {
    let shape = web(1, policy);
    let group = shape.groups().next().expect("a group").clone();
    let spec = shape.stamp(&group, slot("web-0"), shape.generation, AttemptOrdinal::new(1));
    let retune = Transition::Retune(Box::new(spec));
    let transition = match side {
        Side::Present => retune,
        Side::Second => Transition::Beside(Box::new(retune)),
    };
    let mut state: ClusterState = state([record]);
    let fact = Fact::Decided { slot: slot("web-0"), transition };
    assert_eq!(state.fold(fact, T0), Verdict::Applied);
    let record = state.record(&slot("web-0")).and_then(|record| record.side(side).cloned());
    let record = record.expect("the attempt");
    ALL.map(|kind| record.trial(kind).map_or(ProbeVerdict::Unproven, |trial| trial.verdict))
}

/// What came up and serves counts as that until another probe says otherwise; that it is to be kept is asked anew.
#[test]
fn what_serves_goes_on_serving_under_another_probe() {
    let policy = probed(&ALL);
    let shape = web(1, &policy);
    for (changed, kind) in ALL.into_iter().enumerate() {
        let verdicts = retuned(serving(&shape), Side::Present, &another(&policy, kind));
        let mut want = [ProbeVerdict::Passing; 3];
        if kind == Liveness {
            want[changed] = ProbeVerdict::Unproven;
        }
        assert_eq!(verdicts, want, "{kind:?}");
    }
}

/// A candidate proves itself anew by the probe that is another, and by no other.
#[test]
fn a_candidate_proves_itself_anew() {
    let policy = probed(&ALL);
    let shape = web(1, &policy);
    for (changed, kind) in ALL.into_iter().enumerate() {
        let second = Some(Box::new(Second::new(serving(&shape))));
        let record = with(serving(&shape), |r| r.second = second);
        let verdicts = retuned(record, Side::Second, &another(&policy, kind));
        let mut want = [ProbeVerdict::Passing; 3];
        want[changed] = ProbeVerdict::Unproven;
        assert_eq!(verdicts, want, "{kind:?}");
    }
}

/// What is asked no more has shown nothing, and what was not asked before is vouched for by what serves.
#[test]
fn what_is_asked_no_more_counts_for_nothing() {
    let (policy, shape) = (probed(&[Startup, Liveness]), web(1, &probed(&ALL)));
    let unproven = ProbeVerdict::Unproven;
    let verdicts = retuned(serving(&shape), Side::Present, &policy);
    assert_eq!(verdicts, [ProbeVerdict::Passing, ProbeVerdict::Passing, unproven]);
    let other = Policy { settle: reconciler_core::time::Millis::new(7), ..probed(&ALL) };
    assert_eq!(retuned(serving(&shape), Side::Present, &other), [ProbeVerdict::Passing; 3]);
}

/// What was proven counts from when the probe became another one: that is when it was vouched for.
#[test]
fn what_is_vouched_for_counts_from_then_on() {
    let policy = probed(&ALL);
    let now = at(5);
    let mut state = state([serving(&web(1, &policy))]);
    let other = web(1, &another(&policy, Readiness));
    let group = other.groups().next().expect("a group").clone();
    let spec = other.stamp(&group, slot("web-0"), other.generation, AttemptOrdinal::new(1));
    let transition = Transition::Retune(Box::new(spec));
    assert_eq!(
        state.fold(Fact::Decided { slot: slot("web-0"), transition }, now),
        Verdict::Applied
    );
    let since = |kind| of(&state, "web-0").trial(kind).map(|trial| trial.since);
    assert_eq!(ALL.map(since), [Some(T0), Some(T0), Some(now)]);
}
