//! Times of an update that outlive drivers: neither begun anew nor cut short, however often the driver is killed.

use std::collections::BTreeMap;

use rustix::process::Signal;
use serde_json::Value;

use super::fleet::{Fleet, sleepers};
use crate::world::{node, until};

/// The times that `explain` names of a slot.
fn times(fleet: &Fleet, slot: &str) -> BTreeMap<String, u64> {
    let told = fleet.world.json(&["explain", slot, "--file", "FILE"]);
    let facts = told[0]["facts"].as_array().unwrap().clone();
    let time = |fact: Value| Some((fact["name"].as_str()?.to_owned(), fact["at"].as_u64()?));
    facts.into_iter().filter_map(time).collect()
}

/// Waits until an attempt of `slot` from the second on proves itself; gives since when it is ready, and when it will be
/// stable.
fn proves_itself(fleet: &Fleet, slot: &str) -> (u64, u64) {
    until(&format!("{slot} proves itself"), || {
        let attempt = node(&fleet.world.status(), slot)["attempt"].as_u64()?;
        let times = times(fleet, slot);
        let both = times.get("ready since").zip(times.get("stable at"));
        both.filter(|_| attempt > 1).map(|(since, at)| (*since, *at))
    })
}

/// R174, D5: the stable interval of a node that an update brought ends at the moment that was written down when it began,
/// although three drivers are killed within it.
#[test]
fn the_stable_interval_outlives_drivers() {
    const STABLE: u64 = 12_000;
    let test = "the_stable_interval_outlives_drivers";
    let file = sleepers(2).replace("\"30m\"", "\"12s\"") + "update = { max_surge = 1 }\n";
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let old = fleet.node("web-0").id;
    fleet.world.write(&file.replace("3600", "3601"));
    let (since, at) = proves_itself(&fleet, "web-0");
    assert_eq!(at - since, STABLE);
    let id = fleet.until_replaced("web-0", &old).id;
    for _ in 0..3 {
        fleet.world.end_driver(Signal::KILL);
        fleet.world.drive();
        assert_eq!(proves_itself(&fleet, "web-0"), (since, at), "it is what was written down");
    }
    // How long that takes after the moment is the machine's own affair; that it is the same moment says that it began once.
    let rests = until("it is stable", || {
        let view = fleet.world.status();
        let one = node(&view, "web-0");
        (one["stage"] == "dormant").then(|| one["since"].as_u64().unwrap())
    });
    assert!(rests >= at, "{} ms too early", at - rests);
    fleet.world.until_state("converged");
    assert_eq!(fleet.node("web-0").id, id, "the same one");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// R174: a candidate takes over when it was ready for the observation time, also where the driver that saw it become
/// ready was killed; another one is not made.
#[test]
fn the_observed_time_of_a_container_outlives_drivers() {
    const OBSERVED: u64 = 8_000;
    let test = "the_observed_time_of_a_container_outlives_drivers";
    let file = sleepers(1) + "update = { max_surge = 1, observation = \"8s\" }\n";
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let old = fleet.node("web-0").id;
    fleet.world.write(&file.replace("3600", "3601"));
    let candidate = until("a candidate serves", || {
        let view = fleet.world.status();
        let serves = node(&view, "web-0")["second"]["stage"] == "handed-off";
        let both = fleet.nodes().remove("web-0").filter(|both| serves && both.len() == 2)?;
        both.into_iter().map(|one| one.id).find(|id| *id != old)
    });
    let seen = driver::system_clock()().as_millis();
    for _ in 0..2 {
        fleet.world.end_driver(Signal::KILL);
        fleet.world.drive();
    }
    assert_eq!(fleet.until_replaced("web-0", &old).id, candidate, "the same one took over");
    let view = fleet.world.until_state("converged");
    let one = node(&view, "web-0");
    let ready = one["since"].as_u64().unwrap();
    assert_eq!((&one["attempt"], &one["stage"]), (&2.into(), &"handed-off".into()), "{view}");
    let told = fleet.world.events_of("stage", "web-0");
    let over = told.iter().find_map(|event| {
        let took = event["text"].as_str()?.contains("takes the place");
        event["at"].as_u64().filter(|_| took)
    });
    let over = over.unwrap_or_else(|| panic!("{told:?}"));
    assert!(over >= ready + OBSERVED, "it took over after {} ms", over - ready);
    assert!(ready <= seen, "the time began anew with a later driver");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}
