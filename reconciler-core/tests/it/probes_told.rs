//! Probes in plans and in texts: what is predicted, when somebody is asked first, and what reads back.

use std::sync::Arc;

use reconciler_core::{
    desired::{Policy, ProbeKind},
    effect::CommandKind,
    fixture::{Catalogue, parse, print},
    fold::Verdict,
    observed::{ClusterState, DeleteReason, Deletion, NodeRecord, ProbeAnswer, StageName},
    plan::Scope,
    reconcile::{Explanation, Known, Rung, explain, reconcile},
    time::Millis,
};

use crate::{
    fleet::{RUN, T0, at, in_stage, of, pending, slot, stage, state},
    plan_steps::plan_of,
    probes::{answer, answered, failed, probed, ready, unknown, web},
};

/// A plan takes it that every probe passes, as everything else: it settles, and says nothing of waiting.
#[test]
fn a_plan_comes_to_its_end_with_probes() {
    let shape = web(3, &probed(&ProbeKind::ALL));
    let plan = plan_of(&state([]), &shape, Scope::All, T0);
    assert!(plan.blocked.is_empty(), "{:?}", plan.blocked);
    assert_eq!(plan.steps.len(), 3 * 4);
}

/// When a probe may be asked first: after the start, and for the others after the startup probe passed.
#[test]
fn a_probe_is_asked_after_its_delay() {
    let mut policy = probed(&ProbeKind::ALL);
    for probe in [&mut policy.probes.startup, &mut policy.probes.readiness] {
        Arc::make_mut(probe.as_mut().expect("a probe")).initial_delay = Millis::from_secs(7);
    }
    let shape = web(1, &policy);
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::BootstrapRunning))]);
    let asked = |state: &ClusterState| {
        let record = of(state, "web-0");
        record.probes().map(|(kind, _, first)| (kind, first)).collect::<Vec<_>>()
    };
    assert_eq!(asked(&state), [(ProbeKind::Startup, at(7_000))]);
    for _ in 0..2 {
        let _counted =
            answer(&mut state, "web-0", ProbeKind::Startup, ProbeAnswer::Passed, at(9_000));
    }
    assert_eq!(
        asked(&state),
        [(ProbeKind::Liveness, at(9_000)), (ProbeKind::Readiness, at(16_000))]
    );
}

/// What probes have shown reads back from the text of a fleet, and from the journal.
#[test]
fn trials_read_back() {
    let shape = web(1, &probed(&ProbeKind::ALL));
    let mut state = state([ready(&shape, "web-0")]);
    for _ in 0..2 {
        let _counted = answer(&mut state, "web-0", ProbeKind::Startup, ProbeAnswer::Passed, at(3));
    }
    for given in [failed(), failed(), unknown()] {
        let _counted = answer(&mut state, "web-0", ProbeKind::Liveness, given, at(4));
    }
    let catalogue = Catalogue::of(&state, []);
    let text = print(&state, &catalogue, RUN);
    let trouble =
        "liveness.failures=2 liveness.said=\"connection refused\" liveness.trouble=\"no room\"";
    assert!(text.contains(trouble), "{text}");
    let read = parse(&text, &catalogue).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(of(&read, "web-0").health, of(&state, "web-0").health);
    let kept = serde_json::to_string(&*of(&state, "web-0")).expect("it can be written");
    let back: NodeRecord = serde_json::from_str(&kept).expect("it can be read");
    assert_eq!(back.health, of(&state, "web-0").health);
}

/// P7, R162: a node that joined and whose readiness fails is said neither to be ready since then nor to become stable,
/// and nothing of it falls due; once it serves it is told from when.
#[test]
fn who_does_not_serve_is_not_ready_since() {
    let policy = probed(&[ProbeKind::Readiness]);
    let mut policy = Policy { stable: Millis::from_secs(10), ..policy };
    policy.update.observation = Millis::from_secs(10);
    let shape = web(1, &policy);
    let mut state = state([in_stage(&shape, "web-0", stage(StageName::HandedOff))]);
    let told = |state: &ClusterState, now| {
        let plan = reconcile(state, &shape, now);
        let reason = plan.reasons.first().map(|(_, reason)| reason);
        explain(&slot("web-0"), reason, state, &shape, now)
    };
    let at_once = at(1_000);
    let names = |told: &Explanation| told.facts.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    for given in [None, Some(failed()), Some(failed()), Some(failed())] {
        let _counted =
            given.map(|given| answer(&mut state, "web-0", ProbeKind::Readiness, given, at_once));
        let told = told(&state, at_once);
        let names = names(&told);
        assert!(!names.contains(&"ready since") && !names.contains(&"stable at"), "{told}");
        assert_eq!((told.due, state.next_due()), (None, None), "{told}");
    }
    for _ in 0..2 {
        let _counted =
            answer(&mut state, "web-0", ProbeKind::Readiness, ProbeAnswer::Passed, at(2_000));
    }
    let told = told(&state, at(2_000));
    let known = |name| told.facts.iter().find(|(of, _)| *of == name).map(|(_, known)| known);
    assert_eq!(known("ready since"), Some(&Known::At(at(2_000))), "{told}");
    assert_eq!(known("stable at"), Some(&Known::At(at(12_000))), "{told}");
    assert_eq!((told.due, state.next_due()), (Some(at(12_000)), Some(at(12_000))));
}

/// R132: an answer is known before it is counted just if counting it changes nothing, whatever was answered before; so
/// that who asks need not tell it.
#[test]
fn what_is_known_of_a_probe_changes_nothing() {
    let shape = web(1, &probed(&[ProbeKind::Liveness]));
    let given = [ProbeAnswer::Passed, failed(), unknown()];
    let mut stories = vec![state([ready(&shape, "web-0")])];
    for _ in 0..5 {
        let mut next = Vec::new();
        for (before, given) in
            stories.iter().flat_map(|story| given.iter().map(move |g| (story, g)))
        {
            let record = of(before, "web-0");
            let trial = record.trial(ProbeKind::Liveness);
            let known = trial.is_some_and(|trial| trial.knows(given));
            let mut after = before.clone();
            let verdict = answer(&mut after, "web-0", ProbeKind::Liveness, given.clone(), T0);
            assert_eq!(verdict == Verdict::Unchanged, known, "{trial:?} {given:?}");
            assert_eq!(of(&after, "web-0").health == record.health, known, "{trial:?} {given:?}");
            next.push(after);
        }
        stories = next;
    }
}

/// D8, R81: nothing is asked of a workload that goes, nor of one that is being ended.
#[test]
fn nothing_is_asked_of_what_is_to_end() {
    let shape = web(1, &probed(&[ProbeKind::Liveness]));
    let cancel = || Some(pending(CommandKind::CancelBootstrap, 1, at(9)));
    let deletion = || Some(Deletion { reason: DeleteReason::Undesired, since: T0 });
    for (going, stopping) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut record = ready(&shape, "web-0");
        (record.deletion, record.pending) =
            (deletion().filter(|_| going), cancel().filter(|_| stopping));
        assert_eq!(record.probes().count(), usize::from(!going && !stopping));
    }
}

/// P7: what a probe has shown is told in counts, in its own words where they mean something, and with its time once it
/// is proven.
#[test]
fn a_trial_is_told_in_counts_and_words() {
    let shape = web(1, &probed(&[ProbeKind::Liveness]));
    let rows = [
        ("p", Some("unproven, 1 of 2 passes")),
        ("pp", Some("passing")),
        ("f", Some("unproven, 1 of 3 failures: connection refused")),
        ("ppf", Some("passing, 1 of 3 failures")),
        ("fff", Some("failing: connection refused")),
        ("fffp", Some("failing, 1 of 2 passes: connection refused")),
        ("?", Some("unproven; it cannot be asked: no room")),
        ("", None),
    ];
    for (answers, want) in rows {
        let state = answered(&shape, answers);
        let told = explain(&slot("web-0"), None, &state, &shape, T0);
        let known = |name| told.facts.iter().find(|(of, _)| *of == name).map(|(_, known)| known);
        let words = known("liveness probe").map(ToString::to_string);
        assert_eq!(words.as_deref(), want, "{answers}");
        let proven = want.is_some_and(|want| !want.starts_with("unproven"));
        assert_eq!(known("liveness since"), proven.then_some(&Known::At(T0)), "{answers}");
        assert_eq!(known("replaced for liveness"), None);
    }
    let mut record = ready(&shape, "web-0");
    record.revived = vec![T0];
    let told = explain(&slot("web-0"), None, &state([record]), &shape, T0);
    let known = told.facts.iter().find(|(of, _)| *of == "replaced for liveness");
    let budget = probed(&[]).probes.budget.restarts;
    assert_eq!(known.map(|(_, known)| known.to_string()), Some(format!("1 of {budget} times")));
    let over = Rung::GiveUp(ProbeKind::Liveness).to_string();
    assert_eq!(over, "its liveness probe fails: the attempt is over");
}
