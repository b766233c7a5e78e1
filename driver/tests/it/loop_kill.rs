//! Laws of death: a driver that is killed in the middle of any effect, before or after it happened, is followed
//! by one that ends where the first was going, with nothing made twice and nothing left over (P2, R64, C2).

use driver::{Begin, view::Edit};

use crate::stand::Stand;

/// Effects of two nodes on their way up: create, lookup, start, complete.
const UP: usize = 2 * 4;
/// And on their way down: cancel, destroy.
const DOWN: usize = 2 * 2;

fn up(done: bool) {
    for nth in 1..=UP {
        let stand = Stand::new(2);
        stand.world.kill_at(nth, done);
        let run = stand.drive(Begin::Driving);
        run.edit(&stand.declare(&[("web", 2)]));
        stand.world.until("it dies", |land| land.dead);
        run.kill();
        stand.world.revive();

        let run = stand.drive(Begin::Driving);
        run.converged();
        stand.world.with(|land| {
            assert_eq!(land.running(), ["web-0", "web-1"], "at {nth}");
            assert_eq!(land.leases.len(), 2, "at {nth}");
        });
        assert!(run.view().nodes.iter().all(|node| node.attempt == 1), "at {nth}");
        run.stop();
        stand.world.lawful();
    }
}

fn down(done: bool) {
    for nth in 1..=DOWN {
        let stand = Stand::new(2);
        let run = stand.up(&[("web", 2)]);
        stand.world.kill_at(nth, done);
        run.edit(&Edit::Down);
        stand.world.until("it dies", |land| land.dead);
        run.kill();
        stand.world.revive();

        let run = stand.drive(Begin::Driving);
        run.until("all is gone", |view| view.nodes.is_empty());
        run.converged();
        stand.world.with(|land| assert!(land.leases.is_empty(), "at {nth}"));
        run.stop();
        stand.world.lawful();
    }
}

#[test]
fn death_before_any_effect_on_the_way_up_costs_nothing() {
    up(false);
}

#[test]
fn death_after_any_effect_on_the_way_up_doubles_nothing() {
    up(true);
}

#[test]
fn death_before_any_effect_on_the_way_down_leaves_nothing() {
    down(false);
}

#[test]
fn death_after_any_effect_on_the_way_down_leaves_nothing() {
    down(true);
}

/// R93, R187: what was acknowledged is carried out, though the driver dies with the answer.
#[test]
fn a_confirmation_outlives_its_driver() {
    let stand = Stand::new(3);
    let mut run = stand.drive(Begin::Driving);
    for count in [3, 1, 2] {
        run.edit(&stand.declare(&[("web", count)]));
        run.kill();
        run = stand.drive(Begin::Driving);
    }
    run.converged();
    assert_eq!(stand.world.with(|land| land.running()), ["web-0", "web-1"]);
    assert_eq!(stand.world.with(|land| land.leases.len()), 2);
    run.stop();
    stand.world.lawful();
}
