//! Reasons fact by fact: under which name an explanation tells what, with times that no two facts share (P7).

use reconciler_core::{
    desired::{ClusterShape, GateCondition, GroupKind, Power},
    effect::{CommandKind, FailureClass, Listing, OwnedLease},
    fold::Fact,
    id::{StepId, Uuid},
    observed::{
        Ambiguity, ClusterState, DeleteReason, Deletion, Failing, Retry, Rollout, StageName,
    },
    reconcile::{Explanation, explain, held_back, reconcile},
    redact::Redacted,
    time::Millis,
};

use crate::{
    fleet::{
        FENCE, Gated, T0, ambiguity, at, definite, dispatch, gated, group, in_stage, of, owned,
        powered, provider, reported, shape, slot, stage, state, with,
    },
    rollout::{beside, policy, web},
    world::GRACE,
};

fn told(state: &ClusterState, shape: &ClusterShape, name: &str) -> Explanation {
    let plan = reconcile(state, shape, at(1));
    let reason = plan.reasons.iter().find(|(s, _)| *s == slot(name)).map(|(_, reason)| reason);
    explain(&slot(name), reason, state, shape, at(1))
}

/// The facts of these names, in words.
fn facts(explained: &Explanation, names: &[&str]) -> Vec<String> {
    let of = |name: &&str| explained.facts.iter().find(|(known, _)| known == name);
    names.iter().filter_map(of).map(|(name, known)| format!("{name}: {known}")).collect()
}

fn ms(after: u64) -> String {
    format!("{} ms", at(after).as_millis())
}

/// D7: what is not known of an effect is told from its beginning to the next look; what is tried again, with its last
/// error.
#[test]
fn a_doubt_and_a_retry_are_told_in_full() {
    let one = shape(&[("web", 1)]);
    let node = || in_stage(&one, "web-0", stage(StageName::EndpointKnown));
    let open = Ambiguity {
        step: StepId::new(7),
        since: at(2),
        looks: 3,
        ..ambiguity(CommandKind::StartBootstrap, at(400))
    };
    let explained = told(&state([with(node(), |r| r.ambiguity = Some(open))]), &one, "web-0");
    let names = ["effect", "step", "unknown since", "looks in vain", "next look"];
    let want = [
        "effect: StartBootstrap".to_owned(),
        "step: 7".to_owned(),
        // No time of a record lies ahead of the clock by which it was read.
        format!("unknown since: {}", ms(0)),
        "looks in vain: 3".to_owned(),
        format!("next look: {}", ms(400)),
    ];
    assert_eq!(facts(&explained, &names), want);
    let retry = Retry { tries: 2, at: at(700), message: Redacted::new("no answer") };
    let explained = told(&state([with(node(), |r| r.retry = Some(retry))]), &one, "web-0");
    let want = [
        "tries: 2".to_owned(),
        "last error: no answer".to_owned(),
        format!("next try: {}", ms(700)),
    ];
    assert_eq!(facts(&explained, &["tries", "last error", "next try"]), want);
}

/// R175: who waits in an update is told where that leads, when it fails and what has failed, and who stands beside.
#[test]
fn an_update_is_told_in_full() {
    let target = web(2, 3, "v2", &policy(1, 0));
    let old = web(1, 3, "v1", &policy(1, 0));
    let node = |text: &str| in_stage(&old, text, stage(StageName::Dormant));
    let first = beside(node("web-0"), &target, 2, stage(StageName::BootstrapRunning));
    let revision = target.group(&group("web")).expect("the group").revision;
    let rollout = Rollout {
        target: revision,
        prior: None,
        reverts: false,
        since: T0,
        done: 0,
        patience: Millis::from_secs(60),
        deadline: Some(at(900)),
        paused: false,
        hooked: None,
        failing: Some(Failing { slot: slot("web-2"), why: Redacted::new("no such option") }),
    };
    let state = state([first, node("web-1"), node("web-2")]);
    let state = state.with_rollouts([(group("web"), rollout)], T0);
    let names = ["update to", "fails at", "failed at", "beside"];
    let mut want = vec![
        format!("update to: {}", revision.short()),
        format!("fails at: {}", ms(900)),
        "failed at: web-2: no such option".to_owned(),
    ];
    assert_eq!(facts(&told(&state, &target, "web-1"), &names), want);
    want.push("beside: bootstrap-running".to_owned());
    assert_eq!(facts(&told(&state, &target, "web-0"), &names), want);
}

/// The first index beyond the count is not wanted, the last one within is.
#[test]
fn who_is_wanted_is_told() {
    let one = shape(&[("web", 1)]);
    let state = state(["web-0", "web-1"].map(|text| {
        let two = shape(&[("web", 2)]);
        in_stage(&two, text, stage(StageName::Dormant))
    }));
    for (text, wanted) in [("web-0", "wanted: yes"), ("web-1", "wanted: no")] {
        assert_eq!(facts(&told(&state, &one, text), &["wanted"]), [wanted]);
    }
}

/// P6: what has to come first is named, with a command only where one leads on.
#[test]
fn what_has_to_come_first_is_named() {
    let blockers = |explained: &Explanation| {
        explained.blockers.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let one = shape(&[("web", 1)]);
    let mut paused = state([in_stage(&one, "web-0", stage(StageName::New))]);
    let _sent = dispatch(&mut paused, "web-0", CommandKind::CreateLease, 1, at(0));
    let limited = FailureClass::RateLimited { retry_after: Millis::from_secs(30) };
    let _told = reported(&mut paused, "web-0", 1, Err(definite(limited)), at(0));
    assert_eq!(blockers(&told(&paused, &one, "web-0")), ["fake asked for a pause"]);

    let groups: [Gated<'_>; 2] = [
        ("db", 1, GroupKind::Service, &[]),
        ("web", 1, GroupKind::Service, &[("db", GateCondition::Ready)]),
    ];
    let gate = gated(1, "v1", &groups).expect("a shape");
    let waits = state([in_stage(&gate, "web-0", stage(StageName::New))]);
    assert_eq!(blockers(&told(&waits, &gate, "web-0")), ["db (0 of 1 ready)"]);
    let off = powered(&gate, "db", |power: &Power| power.switched(true));
    let led = ["db (0 of 1 ready, 1 off); levelhead start db"];
    assert_eq!(blockers(&told(&waits, &off, "web-0")), led);
}

/// C4, D10: who takes the places of a group is named, those on their way out only where there are any.
#[test]
fn who_takes_the_places_is_named() {
    let two = shape(&[("web", 2)]);
    for going in [false, true] {
        let mut first = in_stage(&two, "web-0", stage(StageName::EndpointKnown));
        let deletion = Deletion { reason: DeleteReason::Failed, since: T0 };
        first.deletion = Some(deletion).filter(|_| going);
        let mut state = state([first, in_stage(&two, "web-1", stage(StageName::New))]);
        let own = owned("web-0", of(&state, "web-0").attempt, "l-1");
        let stray = owned("web-1", of(&state, "web-1").attempt, "stray");
        let stray = OwnedLease { attempt: Uuid::from_bytes([9; 16]), ..stray };
        let (listing, asked_at) = (Listing::Complete(vec![own, stray]), at(1));
        let fact =
            Fact::Listed { provider: provider(), listing, asked_at, grace: GRACE, fence: FENCE };
        let _told = state.fold(fact, asked_at);
        let explained = told(&state, &two, "web-1");
        assert_eq!(explained.rung, "overshoot");
        let named: Vec<_> = explained.blockers.iter().map(ToString::to_string).collect();
        let mut want = vec!["fake holds stray, which no record accounts for".to_owned()];
        want.extend(going.then(|| "1 nodes of the group are on their way out".to_owned()));
        assert_eq!(named, want);
    }
}

/// R167: a group is held back by what it waits for while a node of it is still to run, and by nothing afterwards.
#[test]
fn a_group_that_runs_is_held_back_by_nothing() {
    let groups: [Gated<'_>; 2] = [
        ("db", 1, GroupKind::Service, &[]),
        ("web", 2, GroupKind::Service, &[("db", GateCondition::Ready)]),
    ];
    let shape = gated(1, "v1", &groups).expect("a shape");
    let spec = shape.group(&group("web")).expect("the group");
    let node = |text: &str, name| in_stage(&shape, text, stage(name));
    for (second, held) in [(StageName::New, true), (StageName::Dormant, false)] {
        let state = state([node("web-0", StageName::Dormant), node("web-1", second)]);
        assert_eq!(!held_back(&state, &shape, spec).is_empty(), held, "{second:?}");
    }
    let free = shape.group(&group("db")).expect("the group");
    assert!(held_back(&state([]), &shape, free).is_empty());
}
