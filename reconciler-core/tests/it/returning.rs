//! A node that was proven lost and comes back once another one serves in its place (C4, C9).

use reconciler_core::{
    effect::Listing,
    observed::StageName,
    reconcile::{group_converged, outlook, reconcile},
    time::Millis,
};

use crate::{
    fleet::{T0, group, of, shape},
    world::{Fate, World},
};

/// An hour goes by, and what is decided is done, but nobody helps.
fn alone(world: &mut World) {
    world.advance(Millis::from_secs(3_600));
    world.look_missing();
    world.list(Listing::Complete(world.inventory()));
    let _plan = world.pass();
    while !world.flights.is_empty() {
        world.deliver(0, Fate::Succeed);
    }
}

/// C9, C4: the one that is declared and serves is kept; the one that came back is told of, takes a place and is ended
/// by nobody but a person, whatever else happens to its slot. Once it is gone all is as it should be.
#[test]
fn who_comes_back_after_its_replacement_is_left_to_a_person() {
    let mut world = World::new(shape(&[("web", 5)]), T0);
    assert!(world.settle().is_some());
    let old = of(&world.state, "web-1").attempt;
    let away = world.things.remove(&old.uuid).expect("it is there");
    assert!(world.settle().is_some());
    let new = of(&world.state, "web-1").attempt;
    assert!(new.ordinal > old.ordinal, "it was proven lost and replaced");

    world.things.insert(old.uuid, away);
    let before: Vec<_> = world.things.keys().copied().collect();
    for _ in 0..5 {
        alone(&mut world);
        assert!(world.things.keys().copied().eq(before.iter().copied()), "nobody is ended or made");
    }
    let record = of(&world.state, "web-1");
    assert_eq!((record.attempt, record.stage.name()), (new, StageName::Dormant));
    let seen = world.state.group(&group("web")).expect("the group");
    let wanted = world.shape.group(&group("web")).expect("declared");
    assert_eq!(seen.orphans().count(), 1);
    assert!(!group_converged(Some(seen), Some(wanted)), "somebody else runs for the slot");
    let plan = reconcile(&world.state, &world.shape, world.now);
    assert!(outlook(&world.state, &world.shape, &plan, world.now).is_stuck(), "a person is told");

    // One that is lost meanwhile is not made anew: with the one that came back there are five.
    let lost = of(&world.state, "web-2").attempt.uuid;
    world.things.remove(&lost).expect("it is there");
    for _ in 0..5 {
        alone(&mut world);
        assert!(world.things.len() <= 5, "never more than the count");
    }
    assert!(world.things.contains_key(&old.uuid) && world.things.contains_key(&new.uuid));

    world.things.remove(&old.uuid).expect("nobody ended it");
    assert!(world.settle().is_some());
    assert_eq!(of(&world.state, "web-1").attempt, new, "who served serves");
    assert_eq!(world.things.len(), 5);
}
