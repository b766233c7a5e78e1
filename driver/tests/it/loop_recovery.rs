//! Laws of recovery in the real loop: what is open can be gone on with, taken back, or closed, each on its exact hash;
//! what was turned back never goes forward again, whenever a driver dies (R105, R123, R136, R139).

use checkpoint::operation::{OpenOperation, OperationStatus, Outcome};
use driver::{
    Begin,
    view::{Edit, RecoveryVerb, RefusalKind},
};
use reconciler_core::{
    checkpoint::{CheckpointClass, Direction, OperationCheckpoint},
    effect::{CommandKind, FailureClass},
    hold::HoldCode,
    id::{OperationId, PlanHash},
};

use crate::stand::{Run, Stand, counts};
use crate::updating::{other, stand};
use crate::world::Act;

fn recover(verb: RecoveryVerb, operation: OperationId) -> Edit {
    Edit::Recover { operation, verb }
}

/// The newest operation with its steps.
fn newest(stand: &Stand) -> OpenOperation {
    let reader = stand.journal();
    let id = reader.operations(1).unwrap()[0].id;
    reader.operation(id).unwrap().unwrap()
}

/// Waits until the newest operation is closed, and gives it.
fn closed(run: &Run, stand: &Stand) -> OpenOperation {
    crate::stand::eventually("it is closed", || newest(stand).row.closed_at.is_some());
    run.converged();
    newest(stand)
}

fn starts(stand: &Stand) -> usize {
    stand.world.with(|land| land.count(CommandKind::StartBootstrap))
}

/// R93, R105, R128, R131: a failed update is one operation that goes back: written with its way back before its first
/// effect, its inverses under the plan of the way back, and over when what served before was looked at.
#[test]
fn a_failed_update_is_one_operation_that_goes_back() {
    let stand = stand();
    let run = stand.up(&[("web", 2)]);
    let before = newest(&stand).row.id;
    let fails = Act::Fail(FailureClass::Workload);
    stand.world.script(CommandKind::StartBootstrap, Some("web-1"), 50, fails);
    run.edit(&other(&stand, "broken"));
    let done = closed(&run, &stand);
    assert_eq!(done.row.id, before.next(), "no second operation takes its place");
    assert_eq!(done.row.status, OperationStatus::Closed(Outcome::Compensated));
    assert_eq!(done.row.checkpoint, Ok(OperationCheckpoint::Compensated));
    assert_eq!((done.row.direction, done.row.restored), (Direction::Rollback, Some(true)));
    assert!(done.row.rollback_plan.is_some_and(|plan| plan != done.row.plan));
    let kept = done.row.compensation.and_then(|kept| kept.before).unwrap();
    assert_eq!(kept.spec.boot.command, ["serve"]);
    let turned = done.steps.iter().position(|s| s.direction == Direction::Rollback).unwrap();
    let (forward, back) = done.steps.split_at(turned);
    assert!(back.iter().all(|step| step.direction == Direction::Rollback));
    let undone = |step: &&checkpoint::step::StepRow| step.inverse.is_some();
    assert!(forward.iter().filter(undone).count() >= 4, "{forward:#?}");
    for step in back {
        let class = step.checkpoint.as_ref().unwrap().class();
        assert_eq!(class, CheckpointClass::Compensation, "{step:?}");
    }
    assert_eq!(run.view().groups[0].command, ["serve"]);
    run.stop();
    stand.world.lawful();
}

/// Steps of the way back of an update whose first node was replaced: its successor up again, and both others down.
const BACK: usize = 5;

/// R123, R124: whatever a driver dies at on the way back, the next one goes on back: nothing of the revision that was
/// left is started again, and no inverse runs twice.
fn dies_on_the_way_back(done: bool) {
    for nth in 1..=BACK {
        let stand = stand();
        let run = stand.up(&[("web", 2)]);
        stand.world.script(CommandKind::StartBootstrap, Some("web-1"), 1, Act::Block);
        run.edit(&other(&stand, "other"));
        run.until("the first is another", |view| {
            view.nodes[0].attempt == 2 && view.nodes[0].second.is_none()
        });
        stand.world.until("the second waits", |land| {
            land.of(CommandKind::StartBootstrap, "web-1").len() == 2
        });
        let operation = newest(&stand).row.id;
        run.kill();
        stand.world.revive();
        // What became of the start is looked for before anything else.
        let run = stand.drive(Begin::Waiting);
        let rollback = recover(RecoveryVerb::Rollback, operation);
        stand.world.kill_at(nth, done);
        run.edit(&rollback);
        stand.world.until("it dies", |land| land.dead);
        run.kill();
        stand.world.revive();
        let before = starts(&stand);

        let run = stand.drive(Begin::Driving);
        let over = closed(&run, &stand);
        assert_eq!(over.row.id, operation, "at {nth}");
        assert_eq!(over.row.status, OperationStatus::Closed(Outcome::Compensated), "at {nth}");
        assert_eq!(run.view().groups[0].command, ["serve"], "at {nth}");
        assert!(starts(&stand) <= before + 1, "at {nth}: one node of what served is made again");
        stand.world.with(|land| {
            assert_eq!(land.running(), ["web-0", "web-1"], "at {nth}");
            assert_eq!(land.leases.len(), 2, "at {nth}");
        });
        run.stop();
        stand.world.lawful();
    }
}

#[test]
fn death_before_any_effect_of_the_way_back_goes_on_back() {
    dies_on_the_way_back(false);
}

#[test]
fn death_after_any_effect_of_the_way_back_doubles_nothing() {
    dies_on_the_way_back(true);
}

/// R136, R139: only the hash of exactly this operation, this verb and this state is taken, and it is taken once.
#[test]
fn a_recovery_takes_its_exact_hash_only() {
    let stand = stand();
    let run = stand.up(&[("web", 1)]);
    stand.world.script(CommandKind::StartBootstrap, None, 1, Act::Block);
    run.edit(&counts(&[("web", 2)]));
    stand.world.until("a start waits", |land| land.count(CommandKind::StartBootstrap) == 2);
    let open = newest(&stand).row;
    run.kill();
    stand.world.revive();

    let run = stand.drive(Begin::Waiting);
    let verbs = RecoveryVerb::ALL.map(|verb| recover(verb, open.id));
    let hashes = verbs.clone().map(|edit| run.plan(&edit).unwrap().hash);
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    let sent = starts(&stand);
    for (edit, hash) in [(0, hashes[1]), (1, hashes[0]), (2, hashes[0]), (0, PlanHash::of(b"none"))]
    {
        let refused = run.apply(&verbs[edit], hash).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Stale);
    }
    let unknown = run.plan(&recover(RecoveryVerb::Resume, OperationId::new(77))).unwrap_err();
    assert_eq!(unknown.kind, RefusalKind::Invalid);
    assert_eq!(starts(&stand), sent, "nothing was done");
    let hash = run.plan(&verbs[1]).unwrap().hash;
    run.apply(&verbs[1], hash).unwrap();
    let again = run.apply(&verbs[1], hash).unwrap_err();
    // It is refused as used, and as not open once it went all the way back.
    assert!(matches!(again.kind, RefusalKind::Stale | RefusalKind::Invalid), "{again:?}");
    let over = closed(&run, &stand);
    assert_eq!(over.row.status, OperationStatus::Closed(Outcome::Compensated));
    assert_eq!(stand.world.with(|land| land.running()), ["web-0"]);
    run.stop();
    stand.world.lawful();
}

/// R107: what was interrupted is gone on with under the same operation, and what was done is not done again.
#[test]
fn what_is_resumed_goes_on_where_it_was() {
    let stand = stand();
    let run = stand.drive(Begin::Driving);
    stand.world.script(CommandKind::StartBootstrap, Some("web-1"), 1, Act::Block);
    run.edit(&stand.declare(&[("web", 2)]));
    run.until("one is ready", |view| view.ready == 1);
    let open = newest(&stand).row;
    run.kill();
    stand.world.revive();

    let run = stand.drive(Begin::Waiting);
    let resume = recover(RecoveryVerb::Resume, open.id);
    let hash = run.plan(&resume).unwrap().hash;
    run.apply(&resume, hash).unwrap();
    let over = closed(&run, &stand);
    assert_eq!((over.row.id, over.row.plan), (open.id, open.plan));
    assert_eq!(over.row.status, OperationStatus::Closed(Outcome::Succeeded));
    assert_eq!(stand.world.with(|land| land.of(CommandKind::StartBootstrap, "web-0").len()), 1);
    run.stop();
    stand.world.lawful();
}

/// D3: a newer declaration takes the place of operations of the groups that it changes; another one goes on as itself,
/// with what it is taken back to.
#[test]
fn a_change_of_another_group_leaves_an_operation_and_its_way_back() {
    let stand = stand();
    let run = stand.up(&[("db", 2), ("web", 1)]);
    stand.world.script(CommandKind::DestroyLease, Some("db-1"), 1, Act::Block);
    run.edit(&stand.declare(&[("db", 1), ("web", 1)]));
    stand.world.until("the destroy waits", |land| land.count(CommandKind::DestroyLease) == 1);
    let open = newest(&stand).row;
    run.edit(&stand.declare(&[("db", 1), ("web", 2)]));
    run.until("web is done", |view| view.ready >= 3);
    let still = stand.journal().operation(open.id).unwrap().unwrap().row;
    assert_eq!(still.status, OperationStatus::Active);
    assert_eq!(still.compensation.and_then(|kept| kept.before).map(|spec| spec.count), Some(2));
    run.kill();
}

/// A release closes the operation where it stands; the driver goes on towards the shape under a new one.
#[test]
fn what_is_released_is_planned_anew() {
    let stand = stand();
    let run = stand.drive(Begin::Driving);
    stand.world.script(CommandKind::StartBootstrap, None, 1, Act::Block);
    run.edit(&stand.declare(&[("web", 1)]));
    stand.world.until("a start waits", |land| land.count(CommandKind::StartBootstrap) == 1);
    let open = newest(&stand).row;
    run.kill();
    stand.world.revive();

    let run = stand.drive(Begin::Waiting);
    run.edit(&recover(RecoveryVerb::Release, open.id));
    let over = stand.journal().operation(open.id).unwrap().unwrap().row;
    assert_eq!(over.status, OperationStatus::Closed(Outcome::Interrupted));
    assert_eq!(starts(&stand), 1, "a driver that waits goes on waiting");
    run.stop();
    let run = stand.drive(Begin::Driving);
    run.converged();
    assert!(newest(&stand).row.id > open.id);
    run.stop();
    stand.world.lawful();
}

/// C10, R134: what was taken back and does not serve is held, says so in the journal, and goes on when it is resumed.
#[test]
fn a_way_back_that_fails_is_held_and_resumed() {
    let stand = stand();
    let run = stand.up(&[("web", 2)]);
    stand.world.script(CommandKind::CreateLease, Some("web-1"), 1, Act::Block);
    run.edit(&other(&stand, "other"));
    run.until("the first is another", |view| {
        view.nodes[0].attempt == 2 && view.nodes[0].second.is_none()
    });
    // From here on nothing starts: neither the second of the new revision nor the first of the old one.
    let fails = Act::Fail(FailureClass::Invalid);
    stand.world.script(CommandKind::StartBootstrap, None, 500, fails);
    stand.world.open();
    run.until("the way back is held", |view| {
        let code = HoldCode::RestoredHealthFailed;
        view.holds.iter().any(|hold| hold.subject == "web" && hold.code == code)
    });
    let operation = newest(&stand).row.id;
    crate::stand::eventually("the journal says so", || {
        newest(&stand).row.checkpoint == Ok(OperationCheckpoint::RestoredHealthHold)
    });
    stand.world.heal();
    run.edit(&recover(RecoveryVerb::Resume, operation));
    let over = closed(&run, &stand);
    assert_eq!(over.row.id, operation);
    assert_eq!(over.row.status, OperationStatus::Closed(Outcome::Compensated));
    assert_eq!(run.view().groups[0].command, ["serve"]);
    run.stop();
    stand.world.lawful();
}

/// R120: an operation that nobody can go by holds its group before any provider is asked for it; others go on, and a
/// release closes it where it stands.
#[test]
fn an_unreadable_operation_holds_its_group_alone() {
    let long = "x".repeat(300);
    let damages = [
        "UPDATE operation SET checkpoint = 'half-done' WHERE node_group = 'web'".to_owned(),
        "UPDATE operation SET checkpoint = '' WHERE node_group = 'web'".to_owned(),
        format!("UPDATE operation SET checkpoint = '{long}' WHERE node_group = 'web'"),
        "UPDATE operation SET direction = 'sideways' WHERE node_group = 'web'".to_owned(),
        "UPDATE operation SET sum = sum + 1 WHERE node_group = 'web'".to_owned(),
        "UPDATE operation SET status = 'dreaming' WHERE node_group = 'web'".to_owned(),
        "UPDATE step SET checkpoint = 'web-0:gone' WHERE slot = 'web-0'".to_owned(),
        "UPDATE step SET inverse = NULL WHERE kind = 'CreateLease' AND slot = 'web-0'".to_owned(),
    ];
    for damage in damages {
        let stand = Stand::new(3);
        let run = stand.drive(Begin::Driving);
        stand.world.script(CommandKind::StartBootstrap, None, 10, Act::Block);
        run.edit(&stand.declare(&[("db", 1), ("web", 1)]));
        stand.world.until("both wait", |land| land.count(CommandKind::StartBootstrap) == 2);
        run.kill();
        stand.world.revive();
        stand.world.heal();
        let db = rusqlite::Connection::open(stand.paths().journal()).unwrap();
        assert!(db.execute(&damage, []).unwrap() > 0, "{damage}");
        drop(db);
        let calls = stand.world.with(|land| land.calls.len());

        let run = stand.drive(Begin::Driving);
        run.until("db serves", |view| view.ready == 1);
        let view = run.view();
        let hold = view.holds.iter().find(|hold| hold.subject == "web").expect(&damage);
        assert_eq!(hold.code, HoldCode::PlanningIncomplete, "{damage}");
        let asked = stand.world.with(|land| {
            land.calls[calls..].iter().filter(|call| call.slot.to_string() == "web-0").count()
        });
        assert_eq!(asked, 0, "{damage}");
        // A newer declaration does not take the place of what nobody can read, here or at the next driver.
        run.edit(&stand.declare(&[("db", 1), ("web", 2)]));
        run.stop();
        let run = stand.drive(Begin::Driving);
        run.until("db serves again", |view| view.ready == 1);
        let view = run.view();
        let hold = view.holds.iter().find(|hold| hold.subject == "web").expect(&damage);
        assert_eq!(hold.code, HoldCode::PlanningIncomplete, "{damage}");
        let confirm = run.block(run.handle.release("web".to_owned(), None)).unwrap().hash;
        let done = run.block(run.handle.release("web".to_owned(), Some(confirm))).unwrap();
        assert!(done.released, "{damage}");
        run.converged();
        run.stop();
        let run = stand.drive(Begin::Driving);
        run.converged();
        assert!(run.view().holds.is_empty(), "{damage}");
        run.stop();
    }
}

/// R95: a group that is being taken back is not declared anew meanwhile, and the refusal names the holder.
#[test]
fn a_group_that_goes_back_is_not_declared_anew() {
    let stand = stand();
    let run = stand.up(&[("web", 2)]);
    stand.world.script(CommandKind::DestroyLease, Some("web-0"), 1, Act::Block);
    let fails = Act::Fail(FailureClass::Invalid);
    stand.world.script(CommandKind::StartBootstrap, Some("web-0"), 1, fails);
    run.edit(&other(&stand, "broken"));
    run.until("it goes back", |view| view.changed_by.as_deref() == Some("driver"));
    let operation = newest(&stand).row.id;
    let refused = run.plan(&counts(&[("web", 1)])).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Forbidden);
    assert!(refused.message.contains(&format!("by operation {operation}")), "{refused:?}");
    run.edit(&Edit::Down);
    stand.world.heal();
    run.until("a group that goes is not kept", |view| view.nodes.is_empty());
    run.stop();
}
