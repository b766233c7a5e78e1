//! What a provider holds and no record accounts for: how it is kept, told, and forgotten (C4, C12, R160).

use reconciler_core::{
    effect::{Listing, OwnedLease},
    fold::{Fact, NoteKind},
    hold::{Hold, HoldCode},
    id::{AttemptId, Uuid},
    observed::{ClusterState, NodeRecord, StageName},
    redact::Redacted,
};

use crate::{
    fleet::{FENCE, at, group, in_stage, of, owned, provider, shape, stage, state, with},
    world::GRACE,
};

const SLOT: &str = "web-0";

fn node() -> NodeRecord {
    in_stage(&shape(&[("web", 1)]), SLOT, stage(StageName::Dormant))
}

/// The node's own lease, and one of a stranger for each id.
fn shown(state: &ClusterState, strangers: &[&str]) -> Vec<OwnedLease> {
    let own = of(state, SLOT).attempt;
    let other = AttemptId { uuid: Uuid::from_bytes([9; 16]), ..own };
    let strangers = strangers.iter().map(|id| owned(SLOT, other, id));
    std::iter::once(owned(SLOT, own, "l-1")).chain(strangers).collect()
}

fn list(state: &mut ClusterState, listing: Listing, now: u64) {
    let (provider, asked_at) = (provider(), at(now));
    let fact = Fact::Listed { provider, listing, asked_at, grace: GRACE, fence: FENCE };
    let _applied = state.fold(fact, asked_at);
}

fn complete(state: &mut ClusterState, strangers: &[&str], now: u64) {
    let all = shown(state, strangers);
    list(state, Listing::Complete(all), now);
}

fn known(state: &ClusterState) -> Vec<String> {
    let group = state.group(&group("web")).expect("the group");
    let mut ids: Vec<_> = group.orphans().map(|(_, owned)| owned.lease.id.to_string()).collect();
    ids.sort();
    ids
}

/// C1, C4: what a part of a listing does not show may be there all the same; what a whole one lacks is gone.
#[test]
fn a_part_forgets_no_stranger() {
    let mut state = state([node()]);
    complete(&mut state, &["x", "y"], 600_000);
    let part = shown(&state, &["y", "z"]);
    list(&mut state, Listing::Partial(part, Redacted::new("cut short")), 700_000);
    assert_eq!(known(&state), ["x", "y", "z"]);
    complete(&mut state, &["z"], 800_000);
    assert_eq!(known(&state), ["z"]);
    complete(&mut state, &[], 900_000);
    assert!(known(&state).is_empty());
}

/// C4: a lease that comes in the place of another is another stranger, and is told.
#[test]
fn another_lease_is_another_stranger() {
    let mut state = state([node()]);
    let told = |state: &mut ClusterState| {
        let notes = state.take_notes().into_iter();
        notes.filter(|note| matches!(note.what, NoteKind::Orphan(..))).count()
    };
    for (now, id, news) in [(600_000, "x", 1), (700_000, "x", 0), (800_000, "y", 1)] {
        complete(&mut state, &[id], now);
        assert_eq!(told(&mut state), news, "{now}");
    }
}

/// R73: a listing that shows what is known, and nobody else, gives nothing to decide.
#[test]
fn a_listing_without_news_marks_nothing() {
    let mut state = state([node()]);
    for now in [600_000, 700_000] {
        complete(&mut state, &[], now);
        assert!(state.take_dirty().is_empty());
    }
    complete(&mut state, &["x"], 800_000);
    assert!(!state.take_dirty().is_empty(), "who comes is news");
    complete(&mut state, &["x"], 900_000);
    assert!(state.take_dirty().is_empty(), "who stays is not");
}

/// D11, R160: a second lease of one attempt makes no lesser doubt of a greater one.
#[test]
fn a_twin_does_not_lift_what_is_not_to_be_touched() {
    for code in [HoldCode::Unrecognised, HoldCode::NewerFence, HoldCode::CrashLoop] {
        let hold = Hold { code, text: Redacted::new("held"), since: at(0) };
        let mut state = state([with(node(), |r| r.hold = Some(hold))]);
        let twin = owned(SLOT, of(&state, SLOT).attempt, "l-2");
        let mut all = shown(&state, &[]);
        all.push(twin);
        list(&mut state, Listing::Complete(all), 600_000);
        let now = of(&state, SLOT).hold.as_ref().map(|hold| hold.code);
        let lesser = code == HoldCode::CrashLoop;
        assert_eq!(now, Some(if lesser { HoldCode::DuplicateIdentity } else { code }));
    }
}
