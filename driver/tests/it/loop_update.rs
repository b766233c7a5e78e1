//! Laws of updates in the real loop: a driver that dies at any effect of one is followed by one that finishes it,
//! and an update that fails is taken back by the driver itself (R171, R174, D4, D10).

use driver::Begin;
use reconciler_core::effect::{CommandKind, FailureClass};

use crate::stand::Run;
use crate::updating::{other, stand};
use crate::world::Act;

/// Effects of an update of two nodes with one to spare: each candidate up, each predecessor down.
const UPDATE: usize = 2 * (4 + 2);

fn replaced(run: &Run) {
    run.until("both are others", |view| {
        view.nodes.iter().all(|node| node.attempt > 1 && node.second.is_none())
    });
    run.converged();
}

fn dies(done: bool) {
    for nth in 1..=UPDATE {
        let stand = stand();
        let run = stand.up(&[("web", 2)]);
        stand.world.kill_at(nth, done);
        run.edit(&other(&stand, "other"));
        stand.world.until("it dies", |land| land.dead);
        run.kill();
        stand.world.revive();

        let run = stand.drive(Begin::Driving);
        replaced(&run);
        stand.world.with(|land| {
            assert_eq!(land.running(), ["web-0", "web-1"], "at {nth}");
            assert_eq!(land.leases.len(), 2, "at {nth}");
        });
        let view = run.view();
        assert!(view.groups.iter().all(|group| group.update.is_none()), "at {nth}: {view:#?}");
        assert!(view.nodes.iter().all(|node| node.attempt == 2), "at {nth}");
        run.stop();
        stand.world.lawful();
    }
}

#[test]
fn death_before_any_effect_of_an_update_costs_nothing() {
    dies(false);
}

#[test]
fn death_after_any_effect_of_an_update_doubles_nothing() {
    dies(true);
}

/// D4: the driver's own plan leads back, the journal says who made the shape, and nothing of the attempt is left.
#[test]
fn an_update_that_fails_is_taken_back_by_the_driver() {
    let stand = stand();
    let run = stand.up(&[("web", 2)]);
    let fails = Act::Fail(FailureClass::Workload);
    stand.world.script(CommandKind::StartBootstrap, Some("web-0"), 50, fails);
    run.edit(&other(&stand, "broken"));
    run.until("the shape is the driver's", |view| view.changed_by.as_deref() == Some("driver"));
    run.until("nothing is under way", |view| {
        let over = view.groups.iter().all(|group| group.update.is_none());
        over && view.nodes.iter().all(|node| node.second.is_none())
    });
    run.converged();
    let view = run.view();
    assert!(view.nodes.iter().all(|node| node.attempt == 1 && node.ready), "{view:#?}");
    assert_eq!(view.groups[0].command, ["serve"]);
    run.stop();

    // What was journaled is what was shown: the next driver has nothing to take back.
    stand.world.heal();
    let run = stand.drive(Begin::Driving);
    run.converged();
    assert_eq!(run.view().generation, view.generation);
    assert_eq!(run.view().changed_by.as_deref(), Some("driver"));
    run.stop();
    stand.world.lawful();
    assert_eq!(stand.world.with(|land| land.leases.len()), 2);
}
