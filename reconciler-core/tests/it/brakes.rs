//! Brakes: signs that prove nothing are believed up to a share of a group, proof always; what is owned bounds what
//! is made (C4, C9, D6, D10).

use reconciler_core::{
    desired::{ClusterShape, GroupKind, Policy},
    effect::{ExitStatus, Listing, Look, OwnedLease, WorkloadState},
    fold::{Fact, NoteKind, Verdict},
    hold::HoldCode,
    id::Uuid,
    limits,
    observed::{ClusterState, Endpoint, Handle, NodeRecord, NodeStage, Remains, StageName},
    reconcile::{Rung, reconcile},
    redact::Redacted,
    time::Timestamp,
};

use crate::fleet::{
    FENCE, at, group, in_stage, kinds, lease, looked, member, of, owned, present, provider, shape,
    shape_with, slot, state,
};
use crate::laws_single;
use crate::world::GRACE;

/// A time at which every record of these tests is old.
const LATER: u64 = 600_000;
/// Two listings so far apart prove an absence.
const STEP: u64 = GRACE.get();

fn ready(shape: &ClusterShape, n: u32) -> NodeRecord {
    let (lease, endpoint) = (lease(&format!("l-{n}")), Endpoint::default());
    in_stage(
        shape,
        &format!("web-{n}"),
        NodeStage::Dormant { lease, endpoint, member: member(), completed: None },
    )
}

fn fleet(count: u32) -> (ClusterShape, ClusterState) {
    let shape = shape(&[("web", count)]);
    let state = state((0..count).map(|n| ready(&shape, n)));
    (shape, state)
}

fn exited() -> WorkloadState {
    WorkloadState::Exited { status: ExitStatus::Unknown, tail: Redacted::default() }
}

fn running() -> WorkloadState {
    WorkloadState::Running { workload: Handle::default() }
}

/// A complete listing in which the workloads of `ended` are said to have ended, and the nodes of `gone` are missing.
fn list(state: &mut ClusterState, ended: &[u32], gone: &[u32], now: Timestamp) {
    let leases = state.groups().flat_map(|(_, group)| group.records()).filter_map(|record| {
        let id = record.stage.lease()?.id.to_string();
        let mut lease = owned(&record.slot.to_string(), record.attempt, &id);
        let index = record.slot.index;
        lease.workload = if ended.contains(&index) { exited() } else { running() };
        (!gone.contains(&index)).then_some(lease)
    });
    let listing = Listing::Complete(leases.collect());
    let (provider, grace) = (provider(), GRACE);
    let fact = Fact::Listed { provider, listing, asked_at: now, grace, fence: FENCE };
    let _verdict = state.fold(fact, now);
}

fn hold(state: &ClusterState) -> Option<HoldCode> {
    state.group(&group("web")).and_then(|g| g.hold()).map(|hold| hold.code)
}

fn in_stage_n(state: &ClusterState, name: StageName) -> u32 {
    state.group(&group("web")).map_or(0, |g| g.in_stage(name))
}

fn still(state: &ClusterState, shape: &ClusterShape) {
    let plan = reconcile(state, shape, at(LATER * 100));
    assert!(plan.is_empty(), "{plan:?}");
    laws_single::consistent(state, at(LATER * 100));
}

/// C9: six of ten said to have ended at once is a hold and a look at each, not six replacements.
#[test]
fn a_mass_of_ended_workloads_is_not_believed() {
    let (shape, mut state) = fleet(10);
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER));
    assert_eq!(hold(&state), Some(HoldCode::MassUnhealthy));
    assert_eq!(in_stage_n(&state, StageName::Dormant), 10, "nobody failed");
    still(&state, &shape);
    assert_eq!(state.missing().len(), 6, "each gets a look by its id");
    let reasons = reconcile(&state, &shape, at(LATER)).reasons;
    assert!(reasons.iter().all(|(_, r)| r.rung == Rung::GroupHeld(HoldCode::MassUnhealthy)));
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER + STEP));
    let told = state.take_notes().into_iter();
    let n_held = told.filter(|note| matches!(note.what, NoteKind::Held(..))).count();
    assert_eq!(n_held, 1, "told once");
    assert_eq!(in_stage_n(&state, StageName::Dormant), 10, "saying it again proves nothing");
}

/// C9: up to the share it is believed, one more is not; a small group always may lose one.
#[test]
fn the_share_is_exact() {
    for (count, ended, want) in
        [(10, 4, None), (10, 5, Some(HoldCode::MassUnhealthy)), (1, 1, None), (2, 1, None)]
    {
        let (_, mut state) = fleet(count);
        let ended: Vec<u32> = (0..ended).collect();
        list(&mut state, &ended, &[], at(LATER));
        assert_eq!(hold(&state), want, "{ended:?} of {count}");
        let failed = if want.is_none() { ended.len() } else { 0 };
        assert_eq!(in_stage_n(&state, StageName::Failed) as usize, failed);
    }
    let policy = Policy::default();
    assert_eq!((policy.mass_max(0), policy.mass_max(1), policy.mass_max(10)), (1, 1, 4));
    let wide = Policy { max_lost_per_pass: Some(9), ..policy };
    assert_eq!(wide.mass_max(10), 9, "what may vanish at once may look broken as well");
}

/// A listing is a look at the past: of a node that moved since it was asked for it says nothing.
#[test]
fn a_listing_says_nothing_of_what_moved_since() {
    for (asked, want) in [(0, None), (1, Some(HoldCode::MassUnhealthy))] {
        let (_, mut state) = fleet(10);
        list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(asked));
        assert_eq!(hold(&state), want, "asked {asked} ms after");
        assert_eq!(state.take_notes().is_empty(), want.is_none(), "not even for a moment");
        assert_eq!(in_stage_n(&state, StageName::Dormant), 10);
    }
}

/// D6: a look by id proves it; what it proves is replaced, and the hold ends by itself.
#[test]
fn a_look_proves_what_a_listing_only_says() {
    let (shape, mut state) = fleet(10);
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER));
    for n in 0..6 {
        assert!(hold(&state).is_some() || n >= 2, "four in doubt would be believed");
        let _seen = looked(
            &mut state,
            &format!("web-{n}"),
            present(&format!("l-{n}"), exited()),
            at(LATER + 1),
        );
    }
    assert_eq!((hold(&state), in_stage_n(&state, StageName::Failed)), (None, 6));
    assert_eq!(state.missing().len(), 0);
    let replaced = reconcile(&state, &shape, at(LATER + 1)).transitions.len();
    assert_eq!(replaced, 6, "all six are cleaned up at once");
    assert_eq!(state.take_dirty_groups().len(), 1, "both ends of the hold are journaled");
}

/// D6: exits that were seen are proof: a mass of them is replaced at once, whatever a listing says meanwhile.
#[test]
fn exits_that_were_seen_are_exempt() {
    let (shape, mut state) = fleet(10);
    list(&mut state, &[0, 1, 2, 3, 4, 5, 6, 7], &[], at(LATER));
    for n in 0..8 {
        let (slot, attempt) = (slot(&format!("web-{n}")), of(&state, &format!("web-{n}")).attempt);
        let (status, tail) = (ExitStatus::Signal(9), Redacted::default());
        let fact = Fact::Exited { slot, attempt, workload: Handle::default(), status, tail };
        assert_eq!(state.fold(fact, at(LATER + 1)), Verdict::Applied);
    }
    assert_eq!((hold(&state), in_stage_n(&state, StageName::Failed)), (None, 8));
    assert_eq!(reconcile(&state, &shape, at(LATER + 1)).transitions.len(), 8);
}

/// C9: three misses and then a hit: whoever is seen to run was never broken.
#[test]
fn whoever_is_seen_to_run_was_never_broken() {
    let (shape, mut state) = fleet(10);
    for round in 0..3 {
        list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER + round * STEP));
    }
    let _seen = looked(&mut state, "web-0", present("l-0", running()), at(LATER + 3 * STEP));
    assert_eq!(of(&state, "web-0").suspect_since, None);
    assert_eq!(hold(&state), Some(HoldCode::MassUnhealthy), "five are too many still");
    let unseen = Look::Unknown { why: Redacted::new("no answer") };
    let _seen = looked(&mut state, "web-1", unseen, at(LATER + 3 * STEP));
    assert!(of(&state, "web-1").suspect_since.is_some(), "what cannot be seen stays in doubt");
    list(&mut state, &[], &[], at(LATER + 4 * STEP));
    assert_eq!((hold(&state), in_stage_n(&state, StageName::Dormant)), (None, 10));
    assert_eq!(state.missing().len(), 0);
    still(&state, &shape);
}

/// C9: losses that are few at once and many within a while are not believed for ever.
#[test]
fn slow_erosion_is_noticed() {
    let (shape, mut state) = fleet(10);
    let pairs: [&[u32]; 3] = [&[0, 1], &[2, 3], &[4, 5]];
    let mut now = LATER;
    for gone in pairs {
        list(&mut state, &[], gone, at(now));
        list(&mut state, &[], gone, at(now + STEP));
        now += 2 * STEP;
    }
    assert_eq!(in_stage_n(&state, StageName::Failed), 4, "four of ten within ten minutes");
    assert_eq!(hold(&state), Some(HoldCode::MassUnhealthy));
    let later = now + limits::MASS_WINDOW.get();
    list(&mut state, &[], &[4, 5], at(later));
    assert_eq!(hold(&state), None, "what is long past does not count");
    assert_eq!(in_stage_n(&state, StageName::Failed), 6);
    assert!(!reconcile(&state, &shape, at(later)).is_empty());
}

/// The way out: an operator's release believes what was last seen, and keeps what is to be cleaned up.
#[test]
fn a_release_believes_what_was_last_seen() {
    let (shape, mut state) = fleet(10);
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER));
    assert_eq!(state.fold(Fact::ReleasedGroup(group("web")), at(LATER + 1)), Verdict::Applied);
    assert_eq!((hold(&state), in_stage_n(&state, StageName::Failed)), (None, 6));
    let failed = of(&state, "web-0");
    assert!(matches!(failed.stage, NodeStage::Failed { remains: Remains::Lease { .. }, .. }));
    assert_eq!(reconcile(&state, &shape, at(LATER + 1)).transitions.len(), 6);
}

/// A restart keeps the doubt, and the hold with it.
#[test]
fn a_restart_keeps_the_doubt() {
    let (shape, mut state) = fleet(10);
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER));
    let mut again = laws_single::journaled(&state, at(LATER + 1));
    assert_eq!((hold(&again), again.missing().len()), (Some(HoldCode::MassUnhealthy), 6));
    still(&again, &shape);
    list(&mut again, &[], &[], at(LATER + 2));
    assert_eq!(hold(&again), None);
}

/// P4: one group's brake stops no other group.
#[test]
fn a_brake_stops_its_own_group_alone() {
    let shape = shape(&[("db", 1), ("web", 10)]);
    let records = (0..10).map(|n| ready(&shape, n));
    let mut state = state(records);
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER));
    let plan = reconcile(&state, &shape, at(LATER));
    assert_eq!(plan.to_start.len(), 1, "db goes on: {plan:?}");
}

/// C4, D10: what a provider holds counts, whether or not a record matches it; nothing is made beyond the count.
#[test]
fn what_is_owned_bounds_what_is_made() {
    let shape = shape(&[("web", 3)]);
    for n_orphans in 0..5_u32 {
        let mut state = state([ready(&shape, 0)]);
        let orphan = |n: u32| OwnedLease {
            attempt: Uuid::from_bytes([u8::try_from(n).expect("few") + 100; 16]),
            ..owned("web-7", of(&state, "web-0").attempt, &format!("x-{n}"))
        };
        let mut leases: Vec<OwnedLease> = (0..n_orphans).map(orphan).collect();
        leases.push(owned("web-0", of(&state, "web-0").attempt, "l-0"));
        let (provider, grace, asked_at) = (provider(), GRACE, at(LATER));
        let listing = Listing::Complete(leases);
        let _told =
            state.fold(Fact::Listed { provider, listing, asked_at, grace, fence: FENCE }, asked_at);
        for n in 1..3 {
            let spec = shape.expand()[n].clone();
            let transition = reconciler_core::fold::Transition::Insert(Box::new(spec.clone()));
            let _new = state.fold(Fact::Decided { slot: spec.slot, transition }, asked_at);
        }
        let plan = reconcile(&state, &shape, asked_at);
        let creates = kinds(&plan.per_node).len();
        assert_eq!(creates, 2_usize.saturating_sub(n_orphans as usize), "{n_orphans} orphans");
        let over = |r: &Rung| matches!(r, Rung::Overshoot { owning: 1, count: 3, orphans } if *orphans == n_orphans);
        let frozen = plan.reasons.iter().filter(|(_, reason)| over(&reason.rung)).count();
        assert_eq!(frozen, 2 - creates, "whoever is not made says why");
    }
}

/// One listing in which every workload has ended, and ended well.
fn all_end_well(state: &mut ClusterState) {
    let leases = state.groups().flat_map(|(_, group)| group.records()).filter_map(|record| {
        let id = record.stage.lease()?.id.to_string();
        let mut lease = owned(&record.slot.to_string(), record.attempt, &id);
        let (status, tail) = (ExitStatus::Code(0), Redacted::default());
        lease.workload = WorkloadState::Exited { status, tail };
        Some(lease)
    });
    let listing = Listing::Complete(leases.collect());
    let (provider, grace, asked_at) = (provider(), GRACE, at(LATER));
    let fact = Fact::Listed { provider, listing, asked_at, grace, fence: FENCE };
    assert_eq!(state.fold(fact, at(LATER)), Verdict::Applied);
}

/// C9: a service is there to run: that many end at once is a sign, however well they end.
#[test]
fn services_that_end_well_together_are_a_sign() {
    let (_, mut state) = fleet(10);
    all_end_well(&mut state);
    assert_eq!(hold(&state), Some(HoldCode::MassUnhealthy));
}

/// C9: a job is there to end well; that all of its nodes do so at once is believed.
#[test]
fn jobs_that_end_well_together_are_complete() {
    let policy = Policy { kind: GroupKind::Job, ..Policy::default() };
    let shape = shape_with(1, &[("web", 10, "v1")], &policy);
    let mut state = state((0..10).map(|n| ready(&shape, n)));
    all_end_well(&mut state);
    let complete = state.groups().map(|(_, group)| group.completed()).sum::<u32>();
    assert_eq!((hold(&state), complete), (None, 10));
}

/// C9: a doubt is journaled as it begins, and not again while the same is said.
#[test]
fn a_doubt_that_is_said_again_is_no_news() {
    let (_, mut state) = fleet(10);
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER));
    assert!(state.take_dirty().contains(&slot("web-5")));
    list(&mut state, &[0, 1, 2, 3, 4, 5], &[], at(LATER + 1));
    assert!(!state.has_dirty());
}

/// D12, C8, C9: signs that were believed ahead of a clock that went back count as of now, and for one window.
#[test]
fn signs_ahead_of_the_clock_count_as_of_now() {
    let back = LATER / 2;
    let over = back + limits::MASS_WINDOW.get();
    for (now, want) in [(over - 1, Some(HoldCode::MassUnhealthy)), (over, None)] {
        let (_, mut state) = fleet(10);
        state.mark_due(at(LATER));
        list(&mut state, &[0, 1, 2, 3], &[], at(LATER));
        assert_eq!(hold(&state), None);
        state.mark_due(at(back));
        list(&mut state, &[4, 5, 6, 7], &[], at(now));
        assert_eq!(hold(&state), want, "{now}");
    }
}

/// C17: a brake ends by itself at the moment at which the signs before it are past, and what is left would be believed.
#[test]
fn a_brake_ends_once_the_signs_before_it_are_past() {
    let window = limits::MASS_WINDOW.get();
    for (later, braked) in [(window - 1, true), (window, false)] {
        let (_, mut state) = fleet(10);
        list(&mut state, &[0, 1, 2, 3], &[], at(LATER));
        list(&mut state, &[4], &[], at(LATER + 1));
        assert_eq!(hold(&state), Some(HoldCode::MassUnhealthy));
        let unseen = Look::Unknown { why: Redacted::new("no answer") };
        let _nothing = looked(&mut state, "web-4", unseen, at(LATER + later));
        assert_eq!(hold(&state).is_some(), braked, "{later} ms later");
    }
}
