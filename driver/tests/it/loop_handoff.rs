//! Laws of a handover in the real loop: what was handed over to be taken back is looked at and taken back by the next
//! driver, whenever that dies, or is held with its reason until a person leads on (R123, R129, R138, R145).

use checkpoint::{
    handoff::{HandedOff, Handoff},
    operation::{OpenOperation, OperationStatus, Outcome},
};
use driver::{
    Begin,
    view::{Edit, RecoveryVerb, RefusalKind},
};
use reconciler_core::{
    effect::CommandKind,
    hold::HoldCode,
    id::OperationId,
    ownership::{HandoffTarget, LeaseLength},
    time::Millis,
};

use crate::stand::{Run, Stand, eventually};
use crate::updating::{other, stand};
use crate::world::{Act, Sight};

/// An update that was broken off by a kill, with one node of the new revision up and the other's start in the air.
fn broken_off() -> (Stand, OperationId) {
    let stand = stand();
    let run = stand.up(&[("web", 2)]);
    stand.world.script(CommandKind::StartBootstrap, Some("web-1"), 1, Act::Block);
    run.edit(&other(&stand, "other"));
    run.until("the first is another", |view| {
        view.nodes[0].attempt == 2 && view.nodes[0].second.is_none()
    });
    stand
        .world
        .until("the second waits", |land| land.of(CommandKind::StartBootstrap, "web-1").len() == 2);
    run.kill();
    stand.world.revive();
    let id = stand.journal().operations(1).unwrap()[0].id;
    (stand, id)
}

/// Hands the only open operation over, long after everybody's lease ran out.
fn hand_over(stand: &Stand, target: HandoffTarget) -> HandedOff {
    let stands = stand.journal().leases().unwrap().remove(0);
    let paths = stand.paths();
    let handoff = Handoff {
        dir: paths.dir(),
        asked: stands.claimed(),
        to: "op:ada".parse().unwrap(),
        length: LeaseLength::from_secs(60).unwrap(),
        target,
        now: stands.lease.until.after(Millis::from_secs(3_600)),
    };
    handoff.perform().unwrap()
}

fn read(stand: &Stand, id: OperationId) -> OpenOperation {
    stand.journal().operation(id).unwrap().unwrap()
}

#[track_caller]
fn taken_back(stand: &Stand, run: &Run, id: OperationId) {
    eventually("it is closed", || read(stand, id).row.closed_at.is_some());
    run.converged();
    let row = read(stand, id).row;
    assert_eq!(row.status, OperationStatus::Closed(Outcome::Compensated));
    assert!(row.rollback_plan.is_some_and(|plan| plan != row.plan));
    assert_eq!(run.view().groups[0].command, ["serve"]);
    assert!(run.view().holds.is_empty());
    stand.world.with(|land| assert_eq!(land.running(), ["web-0", "web-1"]));
}

fn held(run: &Run) {
    run.until("it is held", |view| {
        view.holds.iter().any(|hold| hold.code == HoldCode::HandedOver && hold.subject == "web")
    });
}

/// R145: the driver that takes the run does what the operation was handed over for, and nothing of it goes forward.
#[test]
fn what_was_handed_over_to_be_taken_back_is_taken_back_by_the_next_driver() {
    let (stand, id) = broken_off();
    let done = hand_over(&stand, HandoffTarget::Rollback);
    assert_eq!(done.target, HandoffTarget::Rollback);
    let sent = stand.world.with(|land| land.calls.len());
    let run = stand.drive(Begin::Driving);
    taken_back(&stand, &run, id);
    let forward = stand.world.with(|land| {
        let later = land.calls[sent..].iter();
        later.filter(|call| call.kind == CommandKind::StartBootstrap).count()
    });
    assert!(forward <= 2, "only what served is started: {forward}");
    run.stop();
    stand.world.lawful();
}

/// R145: handed over to be gone on with, it goes on.
#[test]
fn what_was_handed_over_to_be_gone_on_with_goes_on() {
    let (stand, id) = broken_off();
    hand_over(&stand, HandoffTarget::Resume);
    let run = stand.drive(Begin::Driving);
    eventually("it is closed", || read(&stand, id).row.closed_at.is_some());
    run.converged();
    assert_eq!(read(&stand, id).row.status, OperationStatus::Closed(Outcome::Succeeded));
    assert_eq!(run.view().groups[0].command, ["other"]);
    run.stop();
    stand.world.lawful();
}

/// R123, R145: killed between the handoff and the takeover, and at each effect after it, the next driver takes it back.
#[test]
fn a_driver_that_dies_between_handoff_and_takeover_leaves_it_to_the_next() {
    for nth in 0..4 {
        let (stand, id) = broken_off();
        hand_over(&stand, HandoffTarget::Rollback);
        // One that decides nothing sees that it waits, and leaves it as it is.
        let run = stand.drive(Begin::Waiting);
        held(&run);
        run.kill();
        assert_eq!(stand.journal().leases().unwrap()[0].target, Some(HandoffTarget::Rollback));
        if nth > 0 {
            stand.world.kill_at(nth, nth % 2 == 0);
            let run = stand.drive(Begin::Driving);
            stand.world.until("it dies", |land| land.dead);
            run.kill();
            stand.world.revive();
        }
        let run = stand.drive(Begin::Driving);
        taken_back(&stand, &run, id);
        assert_eq!(
            stand.journal().operations(1).unwrap()[0].id,
            id,
            "at {nth}: it went back as itself"
        );
        run.stop();
        stand.world.lawful();
    }
}

/// R129: while nobody can say what became of an effect it is held with that reason, and not declared anew either; once
/// a look can tell, it is taken back.
#[test]
fn a_doubt_holds_it_until_a_look_can_tell() {
    let (stand, id) = broken_off();
    hand_over(&stand, HandoffTarget::Rollback);
    stand.world.with(|land| (land.blind, land.sight) = (true, Sight::Leases));
    let run = stand.drive(Begin::Driving);
    run.until("it says why", |view| {
        view.holds.iter().any(|hold| hold.text.contains("what became of the last effect on web-1"))
    });
    let refused = run.plan(&crate::stand::counts(&[("web", 1)])).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Forbidden);
    assert!(refused.message.contains(&format!("operation {id} of `web` was handed over")));
    stand.world.with(|land| (land.blind, land.sight) = (false, Sight::True));
    taken_back(&stand, &run, id);
    run.stop();
    stand.world.lawful();
}

/// R136, R145: a person may want it otherwise: it goes on, and no later driver takes it back.
#[test]
fn a_person_may_have_it_go_on_after_all() {
    let (stand, id) = broken_off();
    hand_over(&stand, HandoffTarget::Rollback);
    let run = stand.drive(Begin::Waiting);
    held(&run);
    run.edit(&Edit::Recover { operation: id, verb: RecoveryVerb::Resume });
    eventually("the target is gone", || {
        stand.journal().leases().unwrap().first().is_none_or(|lease| lease.target.is_none())
    });
    run.stop();
    let run = stand.drive(Begin::Driving);
    run.converged();
    eventually("it is closed", || read(&stand, id).row.closed_at.is_some());
    assert_eq!(read(&stand, id).row.status, OperationStatus::Closed(Outcome::Succeeded));
    assert_eq!(run.view().groups[0].command, ["other"]);
    run.stop();
    stand.world.lawful();
}
