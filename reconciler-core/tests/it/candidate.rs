//! The attempt beside the present one, moment by moment: when it begins anew, is looked at, and takes over (R172, R173,
//! D10).

use reconciler_core::{
    desired::{ClusterShape, Policy},
    fold::{Fact, Transition},
    hold::{Hold, HoldCode},
    limits,
    observed::{ClusterState, NodeRecord, Rollout, Second, StageName},
    reconcile::{Reason, ReconcilePlan, RolloutChange, Rung, reconcile},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{T0, at, group, stage, state};
use crate::rollout::{beside, nodes, policy, web};

/// How long a candidate is observed here.
const OBSERVED: u64 = 5_000;

fn observing() -> Policy {
    let mut policy = policy(1, 0);
    policy.update.observation = Millis::new(OBSERVED);
    policy
}

fn wanted() -> ClusterShape {
    web(2, 1, "v2", &observing())
}

/// A node in `present` with a candidate in `second`, which `change` makes something else.
fn pair(present: StageName, second: StageName, change: impl FnOnce(&mut Second)) -> NodeRecord {
    let old = nodes(&[present], "v1", &observing()).remove(0);
    let mut record = beside(old, &wanted(), 2, stage(second));
    if let Some(second) = &mut record.second {
        change(second);
    }
    record
}

/// A reason of the candidate alone.
fn change_of(second: impl FnOnce(&mut NodeRecord)) -> impl FnOnce(&mut Second) {
    move |beside| second(&mut beside.record)
}

fn decided(state: &ClusterState, now: Timestamp) -> ReconcilePlan {
    reconcile(state, &wanted(), now)
}

fn why(plan: &ReconcilePlan) -> Option<Reason> {
    plan.second_reasons.first().map(|(_, reason)| reason.clone())
}

/// What is known at `now`: no look lies ahead of that.
fn known(record: NodeRecord, now: Timestamp) -> ClusterState {
    ClusterState::restore([record], [], now)
}

/// What happens to the slot, in a word.
fn happens(plan: &ReconcilePlan) -> Option<&'static str> {
    let (_, transition) = plan.transitions.first()?;
    let beside = if let Transition::Beside(inner) = transition { Some(&**inner) } else { None };
    let words = [
        (matches!(transition, Transition::Promote), "promote"),
        (matches!(transition, Transition::Restart(_)), "comes back"),
        (
            matches!(beside, Some(Transition::Restart(s)) if s.attempt.ordinal.get() == 3),
            "restart as 3",
        ),
        (matches!(beside, Some(Transition::Reap)), "reap"),
    ];
    words.into_iter().find_map(|(is, word)| is.then_some(word)).or(Some("something else"))
}

/// The group's update is held: it has failed, and nothing takes it back.
fn stalled(record: NodeRecord, now: Timestamp) -> ClusterState {
    let mut state = known(record, now);
    let target = wanted().group(&group("web")).expect("a group").revision;
    let patience = Millis::from_secs(60);
    let begin = RolloutChange::Begin { target, prior: None, reverts: false, patience };
    let (code, text) = (HoldCode::UpdateStalled, Redacted::new("no progress"));
    for change in [begin, RolloutChange::Fail { code, text }] {
        let _verdict = state.fold(Fact::Rollout { group: group("web"), change }, now);
    }
    state
}

/// A look counts from the moment at which the candidate is proven, and for as long as it is fresh.
#[test]
fn a_look_is_fresh_for_its_time() {
    let fresh = limits::FRESH_LOOK.get();
    let seen = |seen| {
        let at_seen = at(seen);
        pair(StageName::Dormant, StageName::HandedOff, move |second| second.seen = Some(at_seen))
    };
    let promotes =
        |record: NodeRecord, now| happens(&decided(&known(record, now), now)) == Some("promote");
    assert!(promotes(seen(OBSERVED), at(OBSERVED)), "at the first moment");
    assert!(promotes(seen(OBSERVED), at(OBSERVED + fresh)), "at the last moment");
    assert!(!promotes(seen(OBSERVED), at(OBSERVED + fresh + 1)));
    assert!(!promotes(seen(OBSERVED - 1), at(OBSERVED)));
}

/// A look that told nothing is repeated when it is due, and not before.
#[test]
fn a_look_is_repeated_when_it_is_due() {
    let record =
        pair(StageName::Dormant, StageName::HandedOff, |second| second.look_at = Some(at(7_000)));
    let state = state([record]);
    let early = decided(&state, at(6_999));
    let waits = Reason { rung: Rung::Verifying, until: Some(at(7_000)) };
    assert_eq!((why(&early), early.second_looks.len()), (Some(waits), 0));
    let due = decided(&state, at(7_000));
    assert_eq!((why(&due).map(|reason| reason.until), due.second_looks.len()), (Some(None), 1));
}

/// A candidate of which nothing is left begins anew when its backoff is over, as an attempt of its own.
#[test]
fn a_candidate_begins_anew_after_its_backoff() {
    let change = change_of(|record| record.backoff.not_before = Some(at(9_000)));
    let state = state([pair(StageName::Dormant, StageName::Destroyed, change)]);
    let early = decided(&state, at(8_999));
    let reason = why(&early).expect("a reason");
    assert!(matches!(reason.rung, Rung::Backoff { .. }) && reason.until == Some(at(9_000)));
    assert_eq!(happens(&early), None);
    assert_eq!(happens(&decided(&state, at(9_000))), Some("restart as 3"));
}

/// Nothing begins anew beside what does not serve, nor at a revision that is wanted no more; a hold keeps it away.
#[test]
fn what_is_left_of_a_candidate_goes_where_none_is_wanted() {
    let gone = |present| pair(present, StageName::Destroyed, |_| {});
    assert_eq!(happens(&decided(&state([gone(StageName::BootstrapRunning)]), T0)), Some("reap"));
    let plan = reconcile(&state([gone(StageName::Dormant)]), &web(3, 1, "v3", &observing()), T0);
    assert_eq!(happens(&plan), Some("reap"));
    let text = Redacted::new("five failures");
    let failures = Hold { code: HoldCode::CrashLoop, text, since: T0 };
    let held = change_of(|record| record.hold = Some(failures));
    let plan = decided(&state([pair(StageName::Dormant, StageName::Destroyed, held)]), T0);
    let rung = why(&plan).expect("a reason").rung;
    assert!(matches!(rung, Rung::Held(HoldCode::CrashLoop, _)) && happens(&plan).is_none());
}

/// R175: while its update is stalled a candidate neither begins anew nor takes over, not even an empty slot.
#[test]
fn a_stalled_update_keeps_its_candidate_where_it_is() {
    let seen = |second: &mut Second| second.seen = Some(at(OBSERVED));
    let now = at(OBSERVED);
    let rows = [
        (pair(StageName::Dormant, StageName::Destroyed, |_| {}), None),
        (pair(StageName::Dormant, StageName::HandedOff, seen), None),
        // What is lost meanwhile comes back as it was.
        (pair(StageName::Destroyed, StageName::HandedOff, seen), Some("comes back")),
    ];
    for (record, stays) in rows {
        let name = record.second.as_ref().map(|second| second.record.stage.name());
        let free = happens(&decided(&known(record.clone(), now), now));
        assert!(free.is_some() && free != stays, "{name:?}: {free:?}");
        let plan = decided(&stalled(record, now), now);
        assert_eq!(happens(&plan), stays, "{name:?}: {plan:?}");
    }
    let known = stalled(pair(StageName::Dormant, StageName::HandedOff, seen), now);
    let Rollout { done, paused, .. } = known.rollout(&group("web")).expect("an update").clone();
    assert_eq!((done, paused), (0, false));
    let rung = why(&decided(&known, now)).expect("a reason").rung;
    assert_eq!(rung, Rung::GroupHeld(HoldCode::UpdateStalled));
}

/// A candidate is treated as its group is from now on.
#[test]
fn a_candidate_is_treated_as_its_group() {
    let record = pair(StageName::Dormant, StageName::BootstrapRunning, |_| {});
    let mut other = observing();
    other.stop_grace = Millis::from_secs(77);
    let plan = reconcile(&state([record]), &web(3, 1, "v2", &other), T0);
    let beside = plan.transitions.iter().any(|(_, transition)| {
        matches!(transition, Transition::Beside(inner) if matches!(**inner, Transition::Retune(_)))
    });
    assert!(beside, "{plan:?}");
}

/// D4: whoever failed too often or was refused is stuck, on either side of a slot, and counts for the revision it has.
#[test]
fn who_is_stuck_counts_for_its_own_revision() {
    let wants = |shape: &ClusterShape| shape.group(&group("web")).expect("a group").revision;
    let (old, new) = (wants(&web(1, 1, "v1", &observing())), wants(&wanted()));
    for code in HoldCode::ALL {
        let stuck = u32::from(matches!(code, HoldCode::CrashLoop | HoldCode::Refused));
        let hold = || Some(Hold { code, text: Redacted::new("a reason"), since: T0 });
        for (present, second) in [(false, false), (true, false), (false, true), (true, true)] {
            let change = change_of(|record| record.hold = hold().filter(|_| second));
            let mut record = pair(StageName::Dormant, StageName::New, change);
            record.hold = hold().filter(|_| present);
            let state = state([record]);
            let group = state.group(&group("web")).expect("the group");
            let want = (stuck * u32::from(present), stuck * u32::from(second));
            assert_eq!((group.stuck(old), group.stuck(new)), want, "{}", code.as_str());
        }
    }
}
