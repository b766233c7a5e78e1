//! Laws of the pass in the real loop: what is declared is reached, what is reached costs nothing, and nothing
//! waits for anything that it has no need of.

use checkpoint::operation::{OperationRow, OperationStatus, Outcome};
use reconciler_core::{
    checkpoint::StepMark,
    effect::CommandKind,
    observed::{NodeStage, StageName},
};

use crate::{
    stand::{Stand, counts, eventually},
    world::Act,
};

/// R50, R51: what is declared is reached, one effect of each kind per node, and the operations are closed.
#[test]
fn a_declared_shape_is_reached() {
    let stand = Stand::new(5);
    let run = stand.up(&[("db", 2), ("web", 3)]);
    let slots = ["db-0", "db-1", "web-0", "web-1", "web-2"];
    stand.world.with(|land| {
        assert_eq!(land.running(), slots);
        for kind in [
            CommandKind::CreateLease,
            CommandKind::LookupEndpoint,
            CommandKind::StartBootstrap,
            CommandKind::BootstrapConvergenceObserved,
        ] {
            assert_eq!(land.count(kind), 5, "{kind:?}");
        }
    });
    assert_eq!(run.view().ready, 5);
    eventually("the operations are closed", || {
        let operations = stand.journal().operations(10).unwrap();
        let done = OperationStatus::Closed(Outcome::Succeeded);
        operations.len() == 2 && operations.iter().all(|row| row.status == done)
    });
    run.stop();
    stand.world.lawful();
}

/// P2, R64, R93: whatever the provider sees stands in the journal as pending at that instant, and as verified in
/// the end. The world looks itself, at every effect of every test here.
#[test]
fn every_effect_has_its_intent_on_disk_before_it() {
    let stand = Stand::new(3);
    let run = stand.up(&[("web", 3)]);
    run.edit(&counts(&[("web", 1)]));
    run.converged();
    let calls = stand.world.with(|land| land.calls.len());
    assert_eq!(calls, 3 * 4 + 2 * 2);
    eventually("every step is verified", || {
        let steps = stand.journal().steps(100).unwrap();
        let verified = |mark: &StepMark| *mark == StepMark::Verified;
        steps.len() == calls
            && steps.iter().all(|row| row.checkpoint.as_ref().is_ok_and(|c| verified(&c.mark)))
    });
    run.stop();
    stand.world.lawful();
}

/// R76: what is wanted is looked at, planned and written down before anything is sent; what became of each effect is
/// written before its operation ends, and that ends last. That a look and the intent come before each effect, the world
/// itself sees to.
#[test]
fn a_change_goes_through_its_steps_in_order() {
    let stand = Stand::new(3);
    let run = stand.up(&[("db", 1), ("web", 2)]);
    let closed = |row: &OperationRow| row.closed_at.is_some();
    eventually("the operations are closed", || {
        let operations = stand.journal().operations(10).unwrap();
        operations.len() == 2 && operations.iter().all(closed)
    });
    let journal = stand.journal();
    for row in journal.operations(10).unwrap() {
        let found = journal.operation(row.id).unwrap().unwrap();
        assert!(!found.steps.is_empty());
        for step in found.steps {
            let order =
                [Some(row.opened_at), Some(step.started_at), step.finished_at, row.closed_at];
            assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}");
        }
    }
    run.stop();
    stand.world.lawful();
}

/// R73, section 4: a steady fleet is listed again and again, and that makes no pass and not one byte.
#[test]
fn a_steady_fleet_costs_no_pass_and_no_byte() {
    let stand = Stand::new(4);
    let run = stand.up(&[("web", 4)]);
    eventually("the journal knows that all are dormant", || {
        let records = stand.journal().recovered().unwrap().records;
        records.len() == 4 && records.iter().all(|r| matches!(r.stage, NodeStage::Dormant { .. }))
    });
    let (bytes, pass) = (stand.bytes(), run.view().pass);
    let (calls, listings) = stand.world.with(|land| (land.calls.len(), land.listings));
    for round in 1..=4 {
        stand.world.until("it is listed", |land| land.listings >= listings + 2 * round);
        assert!(run.plan(&driver::view::Edit::None).unwrap().empty);
    }
    assert_eq!(run.view().pass, pass);
    assert_eq!(stand.world.with(|land| land.calls.len()), calls);
    assert!(stand.bytes() == bytes, "the journal was written");
    run.stop();
    stand.world.lawful();
}

/// R98: never more effects at once than allowed, and as many as allowed.
#[test]
fn effects_under_way_are_bounded_by_the_parallelism() {
    let mut stand = Stand::new(8);
    stand.parallelism = 3;
    stand.world.script(CommandKind::CreateLease, None, 100, Act::Block);
    let run = stand.drive(driver::Begin::Driving);
    run.edit(&stand.declare(&[("web", 8)]));
    stand.world.until("three are under way", |land| land.busy.len() == 3);
    let listings = stand.world.with(|land| land.listings);
    stand.world.until("it is listed", |land| land.listings >= listings + 3);
    assert_eq!(stand.world.with(|land| land.calls.len()), 3);
    stand.world.heal();
    run.converged();
    assert_eq!(stand.world.with(|land| land.busiest), 3);
    run.stop();
    stand.world.lawful();
}

/// R11, R12: a call that does not come back delays no other node, no pass and no answer.
#[test]
fn a_blocked_call_delays_no_other_node() {
    let stand = Stand::new(4);
    stand.world.script(CommandKind::CreateLease, Some("web-0"), 1, Act::Block);
    let run = stand.drive(driver::Begin::Driving);
    run.edit(&stand.declare(&[("web", 3)]));
    run.until("the others are ready", |view| view.ready == 2);
    assert_eq!(run.node("web-0").stage, StageName::LeaseRequested);
    run.edit(&counts(&[("web", 4)]));
    run.until("a later one is ready as well", |view| view.ready == 3);
    stand.world.heal();
    run.converged();
    run.stop();
    stand.world.lawful();
}

/// P4: a provider of which no call comes back leaves the others their share, however many nodes wait for it and
/// however early they stand in the order.
#[test]
fn a_blocked_provider_delays_no_other_provider() {
    let mut stand = Stand::new(10);
    stand.grounds = vec!["bad", "good"];
    stand.parallelism = 4;
    for slot in 0..8 {
        stand.world.script(CommandKind::CreateLease, Some(&format!("aa-{slot}")), 1, Act::Block);
    }
    let run = stand.drive(driver::Begin::Driving);
    run.edit(&stand.declare(&[("aa", 8), ("zz", 2)]));
    run.until("the other provider's nodes are ready", |view| view.ready == 2);
    stand.world.heal();
    run.converged();
    assert!(stand.world.with(|land| land.busiest) <= 4);
    run.stop();
    stand.world.lawful();
}

/// D3: a newer shape takes over while effects of the older one are under way; what those made goes again.
#[test]
fn a_newer_shape_takes_over_from_effects_under_way() {
    let stand = Stand::new(4);
    stand.world.script(CommandKind::CreateLease, None, 100, Act::Block);
    let run = stand.drive(driver::Begin::Driving);
    run.edit(&stand.declare(&[("web", 4)]));
    stand.world.until("all are under way", |land| land.busy.len() == 4);
    run.edit(&counts(&[("web", 1)]));
    let operations = stand.journal().operations(10).unwrap();
    let (newer, older) = (&operations[0], &operations[1]);
    assert_eq!(older.status, OperationStatus::Closed(Outcome::Interrupted));
    assert_eq!(older.superseded_by, Some(newer.id));
    stand.world.heal();
    run.converged();
    stand.world.with(|land| {
        assert_eq!(land.running(), ["web-0"]);
        assert_eq!(land.leases.len(), 1);
    });
    run.stop();
    stand.world.lawful();
}

/// R62, R72, D8: edits faster than the world end at the last one, with nothing left over.
#[test]
fn counts_that_race_end_at_the_last() {
    let stand = Stand::new(6);
    let run = stand.drive(driver::Begin::Driving);
    run.edit(&stand.declare(&[("web", 2)]));
    for count in [6, 1, 5, 0, 4, 2, 6, 3] {
        run.edit(&counts(&[("web", count)]));
    }
    run.converged();
    stand.world.with(|land| {
        assert_eq!(land.running(), ["web-0", "web-1", "web-2"]);
        assert_eq!(land.leases.len(), 3);
    });
    run.stop();
    stand.world.lawful();
}
