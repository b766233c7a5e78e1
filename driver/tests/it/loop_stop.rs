//! Laws of one driver and its end: a run has one, and one that is told to stop leaves a run that goes on.

use checkpoint::store::OpenError;
use driver::{
    Begin, Ended, StartError, StopReason,
    view::{Edit, RefusalKind},
};
use reconciler_core::effect::CommandKind;

use crate::{
    stand::{Stand, counts},
    world::Act,
};

/// R189: a stop in the middle of an effect leaves a run that the next driver brings to its end; what was on its
/// way is looked for, not repeated.
#[test]
fn a_stop_in_the_middle_leaves_a_run_that_goes_on() {
    let stand = Stand::new(3);
    stand.world.script(CommandKind::CreateLease, Some("web-0"), 1, Act::Block);
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 3)]));
    run.until("the others are ready", |view| view.ready == 2);
    assert_eq!(run.stop(), Ended { reason: StopReason::Terminated, unfinished: 1 });
    stand.world.with(|land| assert_eq!(land.running(), ["web-1", "web-2"]));

    let run = stand.drive(Begin::Driving);
    run.converged();
    let creates = stand.world.with(|land| land.of(CommandKind::CreateLease, "web-0"));
    assert!(creates.iter().all(|create| create.attempt == creates[0].attempt));
    run.stop();
    stand.world.lawful();
}

/// R189, R61: a stop is nobody's failure: whenever it comes, it charges no attempt.
#[test]
fn a_stop_charges_no_attempt() {
    let mut stand = Stand::new(8);
    stand.parallelism = 2;
    stand.grounds = vec!["fake", "spare"];
    stand.up(&[("web", 1), ("x", 0)]).stop();
    for round in 1..=6 {
        let run = stand.drive(Begin::Driving);
        run.edit(&counts(&[("web", 8 - round)]));
        let _ended = run.stop();
    }
    let run = stand.drive(Begin::Driving);
    run.converged();
    let failures: Vec<_> =
        run.view().events.into_iter().filter(|event| event.kind == "failure").collect();
    assert!(failures.is_empty(), "{failures:#?}");
    run.stop();
    stand.world.lawful();
}

/// R189: a run has one driver; a second is refused and does not disturb the first.
#[test]
fn a_run_has_one_driver() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    let fence = run.view().driver.unwrap().fence;
    let refused = stand.take(Begin::Driving).err().unwrap();
    let owned = |error: &StartError| match error {
        StartError::Journal(OpenError::Held { owner, .. }) => {
            owner.as_ref().is_some_and(|owner| owner.fence == fence)
        }
        StartError::Journal(_) | StartError::Provider { .. } | StartError::UnknownKind { .. } => {
            false
        }
    };
    assert!(owned(&refused), "{refused:?}");
    run.edit(&counts(&[("web", 2)]));
    run.converged();
    run.stop();

    let run = stand.drive(Begin::Driving);
    assert_eq!(run.view().driver.unwrap().fence, fence.next());
    run.stop();
    stand.world.lawful();
}

/// Clarification 10: a driver that is gone is unavailable, whatever it is asked; what runs goes on running.
#[test]
fn a_driver_that_stopped_is_unavailable() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 2)]);
    let (handle, socket) = (run.handle.clone(), stand.paths().socket());
    let plan = run.plan(&Edit::Down).unwrap();
    run.stop();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let refusal = runtime.block_on(handle.plan(Edit::Down)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Unavailable);
    let apply = handle.apply(Edit::Down, plan.hash, crate::stand::source());
    assert_eq!(runtime.block_on(apply).unwrap_err().kind, RefusalKind::Unavailable);
    let release = handle.release("web-0".to_owned(), None);
    assert_eq!(runtime.block_on(release).unwrap_err().kind, RefusalKind::Unavailable);
    assert!(!socket.exists(), "the socket outlived its driver");
    assert_eq!(stand.world.with(|land| land.running()), ["web-0", "web-1"]);
    stand.world.lawful();
}
