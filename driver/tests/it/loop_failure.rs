//! Laws of failure in the real loop: backoff and holds outlive the driver, a crash in a provider stays its own,
//! an end of a workload is noticed whoever tells of it.

use std::time::Duration;

use driver::{
    Begin,
    view::{RefusalKind, RunState},
};
use reconciler_core::{
    effect::{CommandKind, FailureClass},
    hold::HoldCode,
    id::PlanHash,
    time::Millis,
};

use crate::{
    stand::{Run, Stand},
    world::{Act, Sight},
};

/// R61, D5, C6: the time of the next try is computed once, stored, and the same after a restart; nothing is tried
/// before it, and the siblings do not wait for it.
#[test]
fn a_backoff_outlives_its_driver() {
    let mut stand = Stand::new(3);
    stand.policy.restart.initial = Millis::from_secs(3_600);
    stand.policy.restart.cap = Millis::from_secs(7_200);
    let failure = Act::Fail(FailureClass::Unavailable);
    stand.world.script(CommandKind::CreateLease, Some("web-1"), 1, failure);
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 3)]));
    run.until("the others are ready", |view| view.ready == 2 && view.due.is_some());
    let before = run.node("web-1");
    assert_eq!(before.failures, 1);
    run.kill();

    let run = stand.drive(Begin::Driving);
    let listings = stand.world.with(|land| land.listings);
    stand.world.until("it is listed", |land| land.listings >= listings + 3);
    let after = run.node("web-1");
    assert_eq!((after.due, after.failures), (before.due, 1));
    assert_eq!(stand.world.with(|land| land.of(CommandKind::CreateLease, "web-1").len()), 1);

    stand.jump(Duration::from_hours(1));
    run.converged();
    let creates = stand.world.with(|land| land.of(CommandKind::CreateLease, "web-1"));
    assert_eq!(creates.len(), 2);
    assert_ne!(creates[0].attempt, creates[1].attempt, "a definite failure is a fresh attempt");
    run.stop();
    stand.world.lawful();
}

/// P6: that only a person can lead on is said of what was looked at, never of what an earlier driver left behind.
#[test]
fn a_run_is_not_called_held_before_it_was_looked_at() {
    let mut stand = Stand::new(1);
    stand.policy.restart.attempts = 1;
    stand.world.script(CommandKind::CreateLease, None, 100, Act::Fail(FailureClass::Capacity));
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 1)]));
    run.until("it is held", |view| view.state == RunState::Held);
    run.stop();
    let driver = stand.take(Begin::Driving).unwrap();
    let found = driver.handle().published().borrow().view();
    assert_eq!((found.state, found.holds.len()), (RunState::Converging, 1));
    drop(driver);
    let run = stand.drive(Begin::Driving);
    run.until("it is held", |view| view.state == RunState::Held);
    run.stop();
    stand.world.lawful();
}

fn held(run: &Run, slot: &str) -> bool {
    run.view().holds.iter().any(|h| h.subject == slot && h.code == HoldCode::CrashLoop)
}

/// R12, P6: a node that fails for ever is held after its attempts, across a restart, and the others are ready.
/// Nothing but the hash that the hold prints releases it, and then it goes on.
#[test]
fn a_crash_loop_is_held_until_exactly_it_is_released() {
    let mut stand = Stand::new(3);
    stand.policy.restart.attempts = 3;
    let failure = Act::Fail(FailureClass::Capacity);
    stand.world.script(CommandKind::CreateLease, Some("web-1"), 1_000, failure);
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 3)]));
    run.until("it is held", |view| view.state == RunState::Held && view.ready == 2);
    assert!(held(&run, "web-1"));
    run.kill();

    let run = stand.drive(Begin::Driving);
    run.until("it is held", |view| view.state == RunState::Held);
    assert_eq!(stand.world.with(|land| land.of(CommandKind::CreateLease, "web-1").len()), 3);
    stand.world.heal();

    let release = |confirm| run.block(run.handle.release("web-1".to_owned(), confirm));
    let shown = release(None).unwrap();
    assert!(!shown.released && shown.holds.len() == 1 && shown.seen.len() == 1, "{shown:?}");
    let way_out = run.view().holds[0].way_out.clone();
    assert!(way_out.ends_with(&format!("release web-1 --confirm {}", shown.hash)), "{way_out}");
    let refusal = release(Some(PlanHash::of(b"another"))).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Stale);
    assert!(held(&run, "web-1"), "neither a look nor a wrong hash releases");

    assert!(release(Some(shown.hash)).unwrap().released);
    run.converged();
    assert_eq!(release(None).unwrap_err().kind, RefusalKind::Invalid);
    run.stop();
    stand.world.lawful();
}

/// D13: a panic in a provider is the failure of that effect alone; what it made before is not forgotten.
fn panics(kind: CommandKind, done: bool) {
    let mut stand = Stand::new(3);
    stand.listing_period = Duration::from_hours(1);
    stand.world.script(kind, Some("web-1"), 1, Act::Panic { done });
    let run = stand.up(&[("web", 3)]);
    assert!(run.view().events.iter().any(|event| event.subject == "web-1"
        && event.text.contains("crashed: as it is written in the script")));
    for sibling in ["web-0", "web-2"] {
        assert_eq!(run.node(sibling).attempt, 1);
    }
    stand.world.with(|land| assert_eq!(land.leases.len(), 3, "{kind:?} {done}"));
    run.stop();
    stand.world.lawful();
}

#[test]
fn a_panic_before_the_lease_is_the_failure_of_one_node() {
    panics(CommandKind::CreateLease, false);
}

#[test]
fn a_panic_after_the_lease_leaks_nothing() {
    panics(CommandKind::CreateLease, true);
}

#[test]
fn a_panic_in_a_bootstrap_is_the_failure_of_one_node() {
    for done in [false, true] {
        panics(CommandKind::StartBootstrap, done);
        panics(CommandKind::BootstrapConvergenceObserved, done);
    }
}

/// R49: an end that is reported, or seen in a listing, is followed by a replacement: a new attempt, no second
/// lease beside the old one.
fn replaced(stand: &Stand, run: &Run) {
    let again = |land: &crate::world::Land| land.of(CommandKind::CreateLease, "web-1").len() == 2;
    stand.world.until("it is made anew", again);
    run.converged();
    assert_eq!(run.node("web-1").attempt, 2);
    stand.world.with(|land| {
        assert_eq!(land.running(), ["web-0", "web-1", "web-2"]);
        assert_eq!(land.leases.len(), 3);
    });
}

/// SP3, section 4: an end that is reported needs no listing.
#[test]
fn an_exit_that_is_reported_is_followed_at_once() {
    let mut stand = Stand::new(3);
    stand.listing_period = Duration::from_hours(1);
    let run = stand.up(&[("web", 3)]);
    stand.world.exit("web-1", 1);
    replaced(&stand, &run);
    assert_eq!(stand.world.with(|land| land.listings), 1);
    run.stop();
    stand.world.lawful();
}

/// R47: with every event lost, the listing tells.
#[test]
fn an_exit_that_nobody_reports_is_seen_in_the_listing() {
    let stand = Stand::new(3);
    stand.world.with(|land| land.watched = false);
    let run = stand.up(&[("web", 3)]);
    stand.world.exit("web-1", 1);
    replaced(&stand, &run);
    run.stop();
    stand.world.lawful();
}

/// C1, clarification 11: an end that nobody saw, because no driver ran, is found at the start: in the listing,
/// or where that does not tell, by the watch.
#[test]
fn an_exit_without_a_driver_is_found_at_the_start() {
    for (watched, sight) in [(false, Sight::True), (true, Sight::Leases)] {
        let mut stand = Stand::new(3);
        stand.listing_period = Duration::from_hours(1);
        stand.world.with(|land| (land.watched, land.sight) = (watched, sight));
        stand.up(&[("web", 3)]).stop();
        stand.world.exit("web-1", 137);
        let run = stand.drive(Begin::Driving);
        replaced(&stand, &run);
        run.stop();
        stand.world.lawful();
    }
}
