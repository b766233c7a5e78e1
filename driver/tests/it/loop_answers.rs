//! Laws of plan and apply in the real loop: a dry run writes nothing, what is confirmed is what was shown, once,
//! and asking never stands in the way of the work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use driver::{
    Begin, Offline,
    view::{Edit, PlanView, RefusalKind, RunState},
};

use crate::stand::{Stand, counts, eventually};

/// A dry run: no driver, no lock.
fn dry(stand: &Stand, edit: &Edit) -> PlanView {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let offline = Offline::open(&stand.paths()).unwrap();
    runtime.block_on(offline.plan(&stand.options(Begin::Waiting), edit)).unwrap()
}

/// R79 to R82: what is shown of a plan is all that its hash vouches for: any of it changed is refused.
#[test]
fn a_kept_plan_that_was_changed_is_refused() {
    let stand = Stand::new(7);
    let plan = dry(&stand, &stand.declare(&[("db", 1), ("web", 3)]));
    assert_eq!(plan.check().map_err(|error| error.to_string()), Ok(()));
    let kept = serde_json::to_string(&plan).unwrap();
    let read: PlanView = serde_json::from_str(&kept).unwrap();
    assert_eq!((read.check().is_ok(), &read), (true, &plan));
    for (from, to) in [
        ("\"key\":\"web-1", "\"key\":\"web-2"),
        ("\"inverse\":\"DestroyLease\"", "\"inverse\":null"),
        ("\"timeout_ms\":1", "\"timeout_ms\":9"),
        ("\"requires\":\"new", "\"requires\":\"dormant"),
        ("\"wave\":0", "\"wave\":1"),
        ("\"parallelism\":", "\"parallelism\":1"),
        ("\"slot\":\"web-1\",\"action\"", "\"slot\":\"web-2\",\"action\""),
        ("\"serial\":", "\"serial\":1"),
    ] {
        let edited: PlanView = serde_json::from_str(&kept.replacen(from, to, 1)).unwrap();
        assert_ne!(edited, plan, "{from} stands in the plan");
        assert!(edited.check().is_err(), "{from} became {to}");
    }
}

/// R84, C14: a dry run leaves no trace, and shows the hash that the driver which is started for it accepts; also
/// the very first one.
#[test]
fn a_dry_run_writes_nothing_and_its_hash_holds() {
    let stand = Stand::new(3);
    let edit = stand.declare(&[("web", 2)]);
    let first = dry(&stand, &edit);
    assert!(!stand.paths().dir().exists(), "a dry run made a state directory");
    let run = stand.drive(Begin::Waiting);
    run.apply(&edit, first.hash).unwrap();
    run.converged();
    run.stop();

    let bytes = stand.bytes();
    let (edit, calls) = (counts(&[("web", 3)]), stand.world.with(|land| land.calls.len()));
    let second = dry(&stand, &edit);
    assert_eq!((second.create, second.unchanged), (1, 2));
    assert!(stand.bytes() == bytes, "a dry run wrote to the journal");
    assert_eq!(stand.world.with(|land| land.calls.len()), calls);
    let run = stand.drive(Begin::Waiting);
    assert_eq!(run.plan(&edit).unwrap().hash, second.hash);
    run.apply(&edit, second.hash).unwrap();
    run.converged();
    assert_eq!(run.view().ready, 3);
    run.stop();
    stand.world.lawful();
}

/// R85: a driver that waits for a confirmation observes, and does nothing else.
#[test]
fn a_driver_that_waits_decides_nothing() {
    let stand = Stand::new(2);
    stand.up(&[("web", 2)]).stop();
    stand.world.exit("web-0", 1);
    let calls = stand.world.with(|land| land.calls.len());
    let run = stand.drive(Begin::Waiting);
    run.until("the end is seen", |view| view.ready == 1);
    let listings = stand.world.with(|land| land.listings);
    stand.world.until("it is listed", |land| land.listings >= listings + 3);
    assert_eq!(stand.world.with(|land| land.calls.len()), calls);
    let plan = run.plan(&Edit::None).unwrap();
    assert_eq!(plan.repair, 1);
    run.apply(&Edit::None, plan.hash).unwrap();
    run.converged();
    run.stop();
    stand.world.lawful();
}

/// C14: a plan is good for one use, for the journal's life.
#[test]
fn a_plan_is_used_once() {
    let stand = Stand::new(3);
    let run = stand.drive(Begin::Driving);
    let edit = stand.declare(&[("web", 3)]);
    let plan = run.plan(&edit).unwrap();
    run.apply(&edit, plan.hash).unwrap();
    for _ in 0..2 {
        let refusal = run.apply(&edit, plan.hash).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Stale);
        assert!(refusal.message.contains("confirmed before"), "{refusal:?}");
    }
    run.converged();
    run.stop();
    let run = stand.drive(Begin::Driving);
    let refusal = run.apply(&edit, plan.hash).unwrap_err();
    assert!(refusal.message.contains("confirmed before"), "{refusal:?}");
    run.stop();
    stand.world.lawful();
}

/// R85, P3: what moved between plan and apply makes the hash stale, says what moved, and changes nothing.
#[test]
fn a_plan_is_stale_once_the_world_moved() {
    let stand = Stand::new(3);
    stand.up(&[("web", 2)]).stop();
    let edit = counts(&[("web", 3)]);
    let plan = dry(&stand, &edit);
    stand.world.exit("web-0", 1);
    let run = stand.drive(Begin::Waiting);
    let (bytes, calls) = (run.view().generation, stand.world.with(|land| land.calls.len()));
    let refusal = run.apply(&edit, plan.hash).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Stale);
    assert!(!refusal.moved.is_empty() && refusal.hint.is_some(), "{refusal:?}");
    assert_eq!(run.view().generation, bytes);
    assert_eq!(stand.world.with(|land| land.calls.len()), calls);

    let plan = run.plan(&edit).unwrap();
    run.apply(&edit, plan.hash).unwrap();
    run.converged();
    run.stop();
    stand.world.lawful();
}

/// R90, R106: what is as declared already opens nothing and writes nothing.
#[test]
fn an_empty_plan_opens_nothing() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 2)]);
    let view = run.view();
    let written =
        || stand.journal().passes(1).unwrap().first().is_some_and(|p| p.pass == view.pass);
    eventually("the last pass is written", written);
    assert!(stand.journal().operations(10).unwrap().iter().all(|o| o.closed_at.is_some()));
    let (bytes, calls) = (stand.bytes(), stand.world.with(|land| land.calls.len()));
    for edit in [Edit::None, counts(&[("web", 2)]), stand.declare(&[("web", 2)])] {
        let plan = run.plan(&edit).unwrap();
        assert!(plan.empty && plan.steps.is_empty(), "{plan:?}");
        assert_eq!(run.apply(&edit, plan.hash).unwrap(), view.generation);
    }
    assert_eq!(run.view().state, RunState::Converged);
    assert_eq!(stand.world.with(|land| land.calls.len()), calls);
    assert!(stand.bytes() == bytes, "an empty plan was journaled");
    run.stop();
    stand.world.lawful();
}

/// R62, P7: however often a plan is asked for, the work goes on at once: no result waits for the next listing.
#[test]
fn asking_for_plans_does_not_hold_the_work_up() {
    let mut stand = Stand::new(12);
    stand.listing_period = Duration::from_hours(1);
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 12)]));
    let goes_on = Arc::new(AtomicBool::new(true));
    let askers: Vec<_> = (0..2)
        .map(|_| {
            let (handle, goes_on) = (run.handle.clone(), Arc::clone(&goes_on));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                while goes_on.load(Ordering::SeqCst) {
                    runtime.block_on(handle.plan(Edit::None)).unwrap();
                }
            })
        })
        .collect();
    run.converged();
    run.edit(&counts(&[("web", 1)]));
    run.converged();
    goes_on.store(false, Ordering::SeqCst);
    for asker in askers {
        asker.join().unwrap();
    }
    run.stop();
    stand.world.lawful();
}
