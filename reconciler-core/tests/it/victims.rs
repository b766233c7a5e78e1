//! Whom a change of counts and names touches: victims by their number, never by chance (C11, C12, D9).

use reconciler_core::{
    effect::{Listing, Look, OwnedLease, WorkloadState},
    observed::{Handle, StageName},
    reconcile::{Rung, reconcile},
};

use crate::{
    fleet::{FENCE, T0, at, group, in_stage, looked, of, present, shape, slot, stage, state},
    laws_single::records,
    world::{GRACE, World},
};

/// C11, D9: of five nodes in whatever stages the two of the highest numbers go, and the same two each time.
#[test]
fn the_highest_numbers_go_whatever_the_nodes_are_doing() {
    let five = shape(&[("web", 5)]);
    for low in StageName::ALL {
        for high in [StageName::New, StageName::Dormant, StageName::Failed] {
            let stage_of = |n: u32| stage(if n < 2 { low } else { high });
            let record = |n: u32| in_stage(&five, &format!("web-{n}"), stage_of(n));
            let state = state((0..5).map(record));
            let three = shape(&[("web", 3)]);
            let plan = reconcile(&state, &three, at(0));
            assert_eq!(plan.to_destroy, [slot("web-3"), slot("web-4")], "{low:?} {high:?}");
            assert_eq!(reconcile(&state, &three, at(0)), plan, "the same input, the same victims");
            let kept: Vec<_> = plan.reasons.iter().filter(|(slot, _)| slot.index < 3).collect();
            let leaves = |rung: &Rung| matches!(rung, Rung::BeginDelete(reason) if *reason != reconciler_core::observed::DeleteReason::Failed);
            assert!(kept.iter().all(|(_, reason)| !leaves(&reason.rung)), "{kept:?}");
        }
    }
}

/// C12: a group of another name is another group: all of the old one goes, and the new one begins from nothing.
#[test]
fn a_group_under_another_name_is_another_group() {
    let mut world = World::new(shape(&[("web", 2)]), T0);
    assert!(world.settle().is_some());
    let old: Vec<_> = records(&world.state).iter().map(|record| record.attempt.uuid).collect();
    world.reshape(shape(&[("site", 2)]));
    let plan = reconcile(&world.state, &world.shape, world.now);
    assert_eq!(plan.to_destroy, [slot("web-0"), slot("web-1")]);
    let starts: Vec<_> = plan.to_start.iter().map(|start| start.slot.clone()).collect();
    assert_eq!(starts, [slot("site-0"), slot("site-1")]);
    assert!(world.settle().is_some());
    let new = records(&world.state);
    assert!(new.iter().all(|record| !old.contains(&record.attempt.uuid)), "none is taken over");
    assert!(world.things.keys().all(|uuid| !old.contains(uuid)));
}

/// C12: what comes in the place of a lost node has its number, and is another attempt with another identity.
#[test]
fn a_replacement_has_the_number_and_not_the_identity() {
    let mut world = World::new(shape(&[("web", 2)]), T0);
    assert!(world.settle().is_some());
    let lost = of(&world.state, "web-1").attempt;
    world.things.remove(&lost.uuid);
    let _verdict = looked(&mut world.state, "web-1", Look::Absent, world.now);
    assert!(world.settle().is_some());
    let next = of(&world.state, "web-1").attempt;
    assert_eq!(next.ordinal, lost.ordinal.next());
    assert_ne!(next.uuid, lost.uuid);
    assert_eq!(records(&world.state).len(), 2);
}

/// C12, C4: a label that was edited by hand makes a thing of ours one that nobody accounts for: it is counted, nothing
/// is made in its place, nothing is ended, and a look at its lease says that its node is there.
#[test]
fn an_edited_label_makes_and_ends_nothing() {
    let mut world = World::new(shape(&[("web", 2)]), T0);
    assert!(world.settle().is_some());
    let edited = |world: &World| -> Vec<OwnedLease> {
        let mut all = world.inventory();
        for owned in all.iter_mut().filter(|owned| owned.slot == slot("web-1")) {
            owned.slot = slot("web-7");
        }
        all
    };
    for _ in 0..4 {
        world.advance(GRACE);
        world.list(Listing::Complete(edited(&world)));
        let running = WorkloadState::Running { workload: Handle::default() };
        for (missing, _) in world.state.missing() {
            let id = of(&world.state, &missing.to_string())
                .stage
                .lease()
                .expect("a lease")
                .id
                .to_string();
            let _verdict = looked(
                &mut world.state,
                &missing.to_string(),
                present(&id, running.clone()),
                world.now,
            );
        }
        let orphans = world.state.group(&group("web")).map(|group| group.orphans().count());
        assert_eq!(orphans, Some(1), "it is counted");
        let plan = world.pass();
        assert!(plan.is_empty(), "{plan:?}");
    }
    assert!(world.state.missing().is_empty(), "its lease was seen");
    assert_eq!(world.things.len(), 2);
    assert!(world.inventory().iter().all(|owned| owned.fence == FENCE));
}
