//! Listings: presence is believed, absence is proven, and too much absence is not believed (D6, C1, C3, C4).

use reconciler_core::{
    desired::ClusterShape,
    effect::{ExitStatus, Listing, Look, OwnedLease, WorkloadState},
    fold::{Fact, NoteKind, Verdict},
    hold::HoldCode,
    id::Fence,
    observed::{ClusterState, NodeRecord, NodeStage, Remains, StageName},
    reconcile::{Rung, reconcile},
    redact::Redacted,
    time::{Millis, Timestamp},
};

use crate::fleet::{
    FENCE, at, group, in_stage, lease, looked, member, of, owned, provider, shape, slot, stage,
    state,
};
use crate::world::GRACE;

/// A time at which every record of these tests is old.
const LATER: u64 = 600_000;

fn ready(shape: &ClusterShape, n: u32) -> NodeRecord {
    let text = format!("web-{n}");
    let (lease, endpoint) =
        (lease(&format!("l-{n}")), reconciler_core::observed::Endpoint::default());
    in_stage(
        shape,
        &text,
        NodeStage::Dormant { lease, endpoint, member: member(), completed: None },
    )
}

/// Ten ready nodes.
fn ten() -> (ClusterShape, ClusterState) {
    let shape = shape(&[("web", 10)]);
    let state = state((0..10).map(|n| ready(&shape, n)));
    (shape, state)
}

/// What the provider holds for these indices.
fn holds(state: &ClusterState, indices: impl IntoIterator<Item = u32>) -> Vec<OwnedLease> {
    let one = |n: u32| {
        let text = format!("web-{n}");
        owned(&text, of(state, &text).attempt, &format!("l-{n}"))
    };
    indices.into_iter().map(one).collect()
}

fn list(state: &mut ClusterState, listing: Listing, now: Timestamp) -> Verdict {
    let (provider, grace) = (provider(), GRACE);
    state.fold(Fact::Listed { provider, listing, asked_at: now, grace, fence: FENCE }, now)
}

fn complete(state: &mut ClusterState, owned: Vec<OwnedLease>, now: u64) {
    assert_eq!(list(state, Listing::Complete(owned), at(now)), Verdict::Applied);
}

fn hold(state: &ClusterState) -> Option<HoldCode> {
    state.group(&group("web")).and_then(|g| g.hold()).map(|hold| hold.code)
}

fn lost(state: &ClusterState) -> usize {
    let group = state.group(&group("web")).expect("the group");
    group.records().filter(|record| record.stage.name() == StageName::Failed).count()
}

/// Nothing is created or destroyed, now or later.
fn still(state: &ClusterState, shape: &ClusterShape) {
    for now in [LATER, LATER * 100] {
        let plan = reconcile(state, shape, at(now));
        assert!(plan.is_empty(), "{plan:?}");
    }
}

/// C1: an empty listing of ten ready nodes is a hold, told once, and no command.
#[test]
fn an_empty_listing_is_not_believed() {
    let (shape, mut state) = ten();
    for round in 0..3 {
        complete(&mut state, Vec::new(), LATER + round * 100_000);
    }
    assert_eq!((hold(&state), lost(&state)), (Some(HoldCode::Implausible), 0));
    still(&state, &shape);
    let told = state.take_notes().into_iter();
    let n_held = told.filter(|note| matches!(note.what, NoteKind::Held(..))).count();
    assert_eq!(n_held, 1, "an event once");
    assert_eq!(state.missing().len(), 10, "each gets a look by its id");
}

/// C1: three of ten is more than a fifth; two are not.
#[test]
fn more_than_a_fifth_at_once_is_not_believed() {
    for (n_seen, want) in [(7, Some(HoldCode::Implausible)), (8, None)] {
        let (shape, mut state) = ten();
        let seen = holds(&state, 0..n_seen);
        complete(&mut state, seen, LATER);
        assert_eq!(hold(&state), want, "{n_seen} seen");
        still(&state, &shape);
    }
}

/// C1: a listing that failed or is cut short changes nothing; the trouble is shown.
#[test]
fn a_listing_that_failed_changes_nothing() {
    let (shape, mut state) = ten();
    let before: Vec<_> = (0..10).map(|n| of(&state, &format!("web-{n}"))).collect();
    let why = Redacted::new("status 503");
    let part = holds(&state, 0..1);
    let listings =
        [Listing::Unknown(why.clone()), Listing::Partial(part, why.clone()), Listing::Unknown(why)];
    for (n, listing) in (0..).zip(listings) {
        let _told_once = list(&mut state, listing, at(LATER + n * 100_000));
    }
    let after: Vec<_> = (0..10).map(|n| of(&state, &format!("web-{n}"))).collect();
    assert_eq!((after, hold(&state)), (before, None));
    still(&state, &shape);
    assert!(state.providers()[&provider()].trouble.is_some());
    let blind = state.take_notes().len();
    assert_eq!(blind, 1, "the same trouble is told once");
}

/// D6: two complete listings, a grace apart, prove a loss; one moment less does not.
#[test]
fn two_complete_listings_prove_a_loss() {
    let grace = GRACE.get();
    let (shape, mut state) = ten();
    for now in [LATER, LATER + grace - 1] {
        let seen = holds(&state, 0..9);
        complete(&mut state, seen, now);
        assert_eq!(lost(&state), 0);
    }
    let seen = holds(&state, 0..9);
    complete(&mut state, seen, LATER + grace);
    assert!(matches!(
        &of(&state, "web-9").stage,
        NodeStage::Failed { remains: Remains::Nothing, .. }
    ));
    assert!(!reconcile(&state, &shape, at(LATER + grace)).is_empty(), "it is replaced");
}

/// D6: what is seen again in between was never lost.
#[test]
fn presence_is_believed_at_once() {
    let (_, mut state) = ten();
    let seen = holds(&state, 0..9);
    complete(&mut state, seen, LATER);
    let all = holds(&state, 0..10);
    complete(&mut state, all, LATER + 30_000);
    assert_eq!(of(&state, "web-9").missing_since, None);
    let seen = holds(&state, 0..9);
    complete(&mut state, seen, LATER + 70_000);
    assert_eq!(lost(&state), 0, "the count begins anew");
}

/// C17: the hold heals by a listing that can be believed.
#[test]
fn the_hold_heals_by_a_plausible_listing() {
    let (shape, mut state) = ten();
    complete(&mut state, Vec::new(), LATER);
    assert!(hold(&state).is_some());
    let all = holds(&state, 0..10);
    complete(&mut state, all, LATER + 1);
    assert_eq!((hold(&state), lost(&state)), (None, 0));
    assert!(state.missing().is_empty());
    still(&state, &shape);
    assert_eq!(state.take_dirty_groups().len(), 1, "both ends are journaled");
}

/// D6: losses that were proven by id are replaced, and do not count towards the doubt.
#[test]
fn proven_losses_are_no_doubt() {
    let (shape, mut state) = ten();
    complete(&mut state, Vec::new(), LATER);
    for (missing, _) in state.missing() {
        let _proof = looked(&mut state, &missing.to_string(), Look::Absent, at(LATER + 1));
    }
    assert_eq!(lost(&state), 10);
    complete(&mut state, Vec::new(), LATER + 2);
    assert_eq!(hold(&state), None);
    assert!(!reconcile(&state, &shape, at(LATER + 2)).is_empty());
}

/// An operator's release believes the last listing.
#[test]
fn a_release_believes_the_last_listing() {
    let (shape, mut state) = ten();
    let seen = holds(&state, 0..4);
    complete(&mut state, seen, LATER);
    still(&state, &shape);
    let released = Fact::ReleasedGroup(group("web"));
    assert_eq!(state.fold(released.clone(), at(LATER + 1)), Verdict::Applied);
    assert_eq!((hold(&state), lost(&state)), (None, 6));
    assert_eq!(state.fold(released, at(LATER + 2)), Verdict::Unchanged);
}

/// D3: a group that is to go altogether goes in spite of its hold, and takes the hold with it.
#[test]
fn a_held_group_can_still_go() {
    let (shape, mut state) = ten();
    complete(&mut state, Vec::new(), LATER);
    let plan = reconcile(&state, &shape.emptied(), at(LATER));
    assert_eq!(plan.to_destroy.len(), 10);
    let smaller = crate::fleet::shape(&[("web", 9)]);
    assert!(reconcile(&state, &smaller, at(LATER)).is_empty(), "scaling down waits");
}

/// C3: a lease that was acknowledged just now may be missing from a listing.
#[test]
fn a_young_lease_is_not_missed() {
    let shape = shape(&[("web", 1)]);
    for (asked, missed) in [(GRACE.get() - 1, false), (GRACE.get(), true)] {
        let record = in_stage(&shape, "web-0", stage(StageName::LeaseCreated));
        let mut state = state([record]);
        complete(&mut state, Vec::new(), asked);
        assert_eq!(of(&state, "web-0").missing_since.is_some(), missed, "asked at {asked}");
    }
}

/// C3: a fleet that comes up just now, and that a lagging listing does not show, is no doubt.
#[test]
fn a_fleet_that_comes_up_is_no_doubt() {
    let shape = shape(&[("web", 10)]);
    let records =
        (0..10).map(|n| in_stage(&shape, &format!("web-{n}"), stage(StageName::BootstrapRunning)));
    let mut state = state(records);
    complete(&mut state, Vec::new(), 5_000);
    assert_eq!(hold(&state), None);
}

/// C4: what no record accounts for is told once, counted, and never touched.
#[test]
fn an_orphan_is_counted_and_left_alone() {
    let shape = shape(&[("web", 2)]);
    let new = in_stage(&shape, "web-1", NodeStage::New);
    let mut state = state([ready(&shape, 0), new]);
    let mut stray = owned("web-7", of(&state, "web-0").attempt, "l-stray");
    stray.attempt = reconciler_core::id::Uuid::from_bytes([9; 16]);
    let mut listed = holds(&state, 0..1);
    listed.push(stray);
    for now in [LATER, LATER + 1] {
        complete(&mut state, listed.clone(), now);
    }
    let found: Vec<_> = state.group(&group("web")).expect("the group").orphans().collect();
    assert_eq!(found.len(), 1);
    let plan = reconcile(&state, &shape, at(LATER));
    assert!(plan.is_empty(), "no create beside it, and no destroy: {plan:?}");
    let rung = Rung::Overshoot { owning: 1, orphans: 1, count: 2 };
    assert_eq!(plan.reasons[0].1.rung, rung);
    let told = state.take_notes().into_iter();
    assert_eq!(told.filter(|n| matches!(n.what, NoteKind::Orphan(..))).count(), 1);

    let part = Listing::Partial(holds(&state, 0..1), Redacted::new("cut short"));
    let _trouble = list(&mut state, part, at(LATER + 2));
    assert_eq!(state.group(&group("web")).expect("the group").orphans().count(), 1, "not shown");
    let gone = holds(&state, 0..1);
    complete(&mut state, gone, LATER + 3);
    assert_eq!(state.group(&group("web")).expect("the group").orphans().count(), 0);
    assert!(!reconcile(&state, &shape, at(LATER + 3)).is_empty(), "there is room again");
}

/// C4: of the orphans of a group each is told when it is first seen, and not again when another comes.
#[test]
fn each_orphan_is_told_once() {
    let (_, mut state) = ten();
    let attempt = of(&state, "web-0").attempt;
    let stray = |n: u8| {
        let mut stray = owned("web-20", attempt, &format!("l-stray-{n}"));
        stray.attempt = reconciler_core::id::Uuid::from_bytes([n; 16]);
        stray
    };
    let told = |state: &mut ClusterState, orphans: Vec<OwnedLease>| {
        let listed = holds(state, 0..10).into_iter().chain(orphans).collect();
        complete(state, listed, LATER);
        let mut leases = Vec::new();
        for note in state.take_notes() {
            if let NoteKind::Orphan(_, lease) = note.what {
                leases.push(lease);
            }
        }
        leases
    };
    let (one, other) = (stray(8), stray(9));
    assert_eq!(told(&mut state, vec![one.clone()]), ["l-stray-8"]);
    assert_eq!(told(&mut state, vec![one, other]), ["l-stray-9"]);
}

/// C4: an orphan of a group that was never declared is reported as well.
#[test]
fn an_orphan_of_an_unknown_group_is_reported() {
    let (_, mut state) = ten();
    let mut listed = holds(&state, 0..10);
    listed.push(owned("old-0", of(&state, "web-0").attempt, "l-old"));
    complete(&mut state, listed, LATER);
    assert_eq!(state.group(&group("old")).expect("a group").orphans().count(), 1);
}

/// D11: a lease with a newer fence than ours is somebody else's now.
#[test]
fn a_newer_fence_holds_the_slot() {
    let (shape, mut state) = ten();
    let mut listed = holds(&state, 0..10);
    listed[3].fence = Fence::new(FENCE.get() + 1);
    listed[4].fence = Fence::new(FENCE.get() - 1);
    complete(&mut state, listed, LATER);
    let code = |text: &str| of(&state, text).hold.as_ref().map(|hold| hold.code);
    assert_eq!((code("web-3"), code("web-4")), (Some(HoldCode::NewerFence), None));
    let down = reconcile(&state, &shape.emptied(), at(LATER));
    assert!(!down.to_destroy.contains(&slot("web-3")), "a stale controller stops");
}

/// A listing that is older than what happened since says nothing about it.
#[test]
fn an_old_listing_does_not_speak_of_what_came_after() {
    let shape = shape(&[("web", 1)]);
    let mut record = ready(&shape, 0);
    record.since = at(10_000);
    let mut state = ClusterState::restore([record], [], at(20_000));
    let (provider, grace) = (provider(), Millis::ZERO);
    for asked in [9_000, 10_000] {
        let listing = Listing::Complete(Vec::new());
        let (provider, asked_at) = (provider.clone(), at(asked));
        let fact = Fact::Listed { provider, listing, asked_at, grace, fence: FENCE };
        let _told = state.fold(fact, at(20_000));
        assert_eq!(of(&state, "web-0").missing_since, None);
    }
}

/// A listing that says what runs tells of ends as well, unless it is older than what it tells of.
#[test]
fn a_listing_may_tell_that_a_workload_ended() {
    for (asked, ended) in [(0, false), (LATER, true)] {
        let (_, mut state) = ten();
        let mut listed = holds(&state, 0..10);
        listed[2].workload =
            WorkloadState::Exited { status: ExitStatus::Code(1), tail: Redacted::default() };
        complete(&mut state, listed, asked);
        assert_eq!(of(&state, "web-2").stage.name() == StageName::Failed, ended, "at {asked}");
        assert_eq!(lost(&state), usize::from(ended));
    }
}
