//! Laws of doubt in the real loop: unknown outcomes are adopted, absence needs proof, and whoever is stale holds.

use driver::{Begin, view::Edit};
use reconciler_core::{effect::CommandKind, hold::HoldCode, id::Fence};

use crate::{
    stand::{Stand, counts},
    world::{Act, Sight},
};

/// C2, R68, D7: a create that happened although its answer was lost is adopted; it is never made twice.
#[test]
fn a_create_of_unknown_outcome_is_adopted() {
    let stand = Stand::new(2);
    stand.world.script(CommandKind::CreateLease, Some("web-0"), 1, Act::Doubt { done: true });
    let run = stand.up(&[("web", 2)]);
    assert_eq!(stand.world.with(|land| land.of(CommandKind::CreateLease, "web-0").len()), 1);
    assert_eq!(run.node("web-0").attempt, 1);
    run.stop();
    stand.world.lawful();
}

/// C2: a create that did not happen is made once more, as the same attempt and with the same key.
#[test]
fn a_create_that_did_not_happen_is_made_with_the_same_key() {
    let stand = Stand::new(2);
    stand.world.script(CommandKind::CreateLease, Some("web-0"), 1, Act::Doubt { done: false });
    let run = stand.up(&[("web", 2)]);
    let creates = stand.world.with(|land| land.of(CommandKind::CreateLease, "web-0"));
    assert_eq!(creates.len(), 2);
    assert_eq!((creates[0].attempt, creates[0].key), (creates[1].attempt, creates[1].key));
    run.stop();
    stand.world.lawful();
}

/// R67, R68: whichever effect loses its answer, done or not, the node comes up once.
#[test]
fn no_lost_answer_keeps_a_node_from_coming_up() {
    for kind in [
        CommandKind::LookupEndpoint,
        CommandKind::StartBootstrap,
        CommandKind::BootstrapConvergenceObserved,
    ] {
        for done in [false, true] {
            let stand = Stand::new(2);
            stand.world.script(kind, Some("web-0"), 1, Act::Doubt { done });
            let run = stand.up(&[("web", 2)]);
            assert_eq!(stand.world.with(|land| land.running()), ["web-0", "web-1"]);
            assert_eq!(run.node("web-0").attempt, 1, "{kind:?} {done}");
            run.stop();
            stand.world.lawful();
        }
    }
}

/// R68, R69, D8: also while deleting; nothing is left, and nothing is forgotten before it is gone.
#[test]
fn no_lost_answer_keeps_a_node_from_going() {
    for kind in [CommandKind::CancelBootstrap, CommandKind::DestroyLease] {
        for done in [false, true] {
            let stand = Stand::new(2);
            let run = stand.up(&[("web", 2)]);
            stand.world.script(kind, Some("web-1"), 1, Act::Doubt { done });
            run.edit(&counts(&[("web", 1)]));
            run.converged();
            assert_eq!(stand.world.with(|land| land.running()), ["web-0"]);
            assert_eq!(stand.world.with(|land| land.leases.len()), 1, "{kind:?} {done}");
            run.stop();
            stand.world.lawful();
        }
    }
}

/// C1, P1, D6: ten ready nodes, and a provider that claims to have none. The group is held, the event is told
/// once, no effect goes out; when the provider comes to its senses the hold ends by itself.
#[test]
fn an_empty_listing_is_not_believed() {
    let stand = Stand::new(10);
    let run = stand.up(&[("web", 10)]);
    let calls = stand.world.with(|land| {
        land.sight = Sight::Empty;
        land.calls.len()
    });
    let implausible = |code: HoldCode| code == HoldCode::Implausible;
    run.until("the group is held", |view| {
        view.holds.iter().any(|hold| hold.subject == "web" && implausible(hold.code))
    });
    let listings = stand.world.with(|land| land.listings);
    stand.world.until("it is listed", |land| land.listings >= listings + 4);
    let view = run.view();
    let told = view.events.iter().filter(|event| event.text.contains("suddenly lacks"));
    assert_eq!(told.map(|event| event.count).collect::<Vec<_>>(), [1]);
    stand.world.with(|land| land.sight = Sight::True);
    run.until("the hold ends", |view| view.holds.is_empty());
    run.converged();
    assert_eq!(stand.world.with(|land| land.calls.len()), calls, "nothing was sent");
    run.stop();
    stand.world.lawful();
}

/// C1: a listing that fails changes nothing and says so.
#[test]
fn a_listing_that_fails_changes_nothing() {
    let stand = Stand::new(3);
    let run = stand.up(&[("web", 3)]);
    let calls = stand.world.with(|land| {
        land.sight = Sight::Blind;
        land.calls.len()
    });
    run.until("the trouble is shown", |view| view.providers[0].trouble.is_some());
    let listings = stand.world.with(|land| land.listings);
    stand.world.until("it is listed", |land| land.listings >= listings + 3);
    assert_eq!(run.view().ready, 3);
    stand.world.with(|land| land.sight = Sight::True);
    run.until("the trouble is over", |view| view.providers[0].trouble.is_none());
    assert_eq!(stand.world.with(|land| land.calls.len()), calls);
    run.stop();
    stand.world.lawful();
}

/// D6: what is gone by its own id is gone, however much of it: proven losses are replaced.
#[test]
fn a_loss_that_is_proven_by_id_is_replaced() {
    let stand = Stand::new(10);
    let run = stand.up(&[("web", 10)]);
    stand.world.with(|land| land.leases.clear());
    let again = |land: &crate::world::Land| land.count(CommandKind::CreateLease) == 20;
    stand.world.until("all are made anew", again);
    run.converged();
    assert_eq!(stand.world.with(|land| land.leases.len()), 10);
    run.stop();
    stand.world.lawful();
}

/// C16, D11: a lease that carries a newer fence holds its slot; it is not touched, not even to go.
#[test]
fn a_newer_fence_is_not_touched() {
    let stand = Stand::new(3);
    let run = stand.up(&[("web", 2)]);
    stand.world.with(|land| {
        let mine = land.leases.values_mut().find(|lease| lease.slot.index == 1).unwrap();
        mine.fence = Fence::new(99);
    });
    run.until("the slot is held", |view| {
        view.holds.iter().any(|hold| hold.code == HoldCode::NewerFence)
    });
    run.edit(&Edit::Down);
    stand.world.until("the other goes", |land| land.leases.len() == 1);
    let listings = stand.world.with(|land| land.listings);
    stand.world.until("it is listed", |land| land.listings >= listings + 3);
    assert_eq!(stand.world.with(|land| land.running()), ["web-1"]);
    run.stop();
    stand.world.lawful();
}

/// C16: the first thing that a driver does with a run is to look; what was made meanwhile is not made again.
#[test]
fn a_driver_that_takes_over_looks_first() {
    let stand = Stand::new(2);
    stand.up(&[("web", 2)]).kill();
    let calls = stand.world.with(|land| land.calls.len());
    let run = stand.drive(Begin::Driving);
    run.converged();
    let listings = stand.world.with(|land| land.listings);
    stand.world.until("it is listed", |land| land.listings >= listings + 2);
    assert_eq!(stand.world.with(|land| land.calls.len()), calls);
    run.stop();
    stand.world.lawful();
}
