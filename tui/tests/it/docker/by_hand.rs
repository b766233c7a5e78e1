//! What is done to containers behind a live driver's back: lost ones come back, doubtful ones are left alone.

use std::collections::HashMap;

use bollard::{
    models::ContainerCreateBody,
    query_parameters::{CreateContainerOptions, KillContainerOptions, RenameContainerOptions},
};
use serde_json::Value;

use super::{
    engine::remove,
    fleet::{Fleet, IMAGE, sleepers},
};
use crate::world::{node, until, until_true};

/// C1 to C5, C12: `docker kill` and `docker rm -f` cost a node its attempt; a new name and a pause cost nothing.
#[test]
fn what_is_lost_is_replaced_and_what_is_renamed_or_paused_is_not() {
    let test = "what_is_lost_is_replaced_and_what_is_renamed_or_paused_is_not";
    let Some(mut fleet) = Fleet::new(test, &sleepers(5)) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    let kill = KillContainerOptions { signal: "KILL".to_owned() };
    fleet.ask(fleet.docker.kill_container(&before["web-0"], Some(kill))).unwrap();
    fleet.ask(remove(&fleet.docker, &before["web-1"]));
    let name = format!("by-hand-{}", fleet.world.uuid());
    let rename = RenameContainerOptions { name };
    fleet.ask(fleet.docker.rename_container(&before["web-2"], rename)).unwrap();
    fleet.ask(fleet.docker.pause_container(&before["web-3"])).unwrap();
    for slot in ["web-0", "web-1"] {
        fleet.until_replaced(slot, &before[slot]);
    }
    fleet.world.until_state("converged");
    let after = fleet.ids();
    for slot in ["web-2", "web-3", "web-4"] {
        assert_eq!(after[slot], before[slot], "{slot}");
    }
    let view = fleet.world.status();
    assert_eq!(view["holds"], Value::Array(Vec::new()));
    assert_eq!(node(&view, "web-0")["attempt"], 2, "{view}");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// C12, R150: a container of somebody else in a node's place holds that slot alone, is told of, and is not touched.
#[test]
fn a_foreign_container_in_a_node_s_place_holds_its_slot() {
    let test = "a_foreign_container_in_a_node_s_place_holds_its_slot";
    let Some(mut fleet) = Fleet::new(test, &sleepers(2)) else { return };
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        cmd: Some(vec!["sleep".to_owned(), "60".to_owned()]),
        labels: Some(HashMap::new()),
        ..ContainerCreateBody::default()
    };
    let options =
        CreateContainerOptions { name: Some(fleet.first_name("web-0")), ..Default::default() };
    let foreign = fleet.ask(fleet.docker.create_container(Some(options), body)).unwrap().id;
    fleet.world.drive();
    let held = until("web-0 is held", || {
        let view = fleet.world.status();
        let held = view["holds"].as_array().unwrap().first().cloned();
        held.filter(|_| node(&view, "web-1")["ready"] == true)
    });
    assert_eq!(held["code"], "effect.refused", "{held}");
    assert!(held["text"].as_str().unwrap().contains("belongs to somebody else"), "{held}");
    fleet.ask(fleet.docker.inspect_container(&foreign, None)).unwrap();
    fleet.ask(remove(&fleet.docker, &foreign));
    let shown = fleet.world.expect(0, &["release", "web-0", "--file", "FILE"]);
    let all = format!("{}{}", shown.out, shown.err);
    let next = all.lines().find_map(|line| line.strip_prefix("next: ")).expect("a way out");
    assert_eq!(fleet.world.paste(next).code, 0, "{next}");
    until_true("web-0 is there", || fleet.nodes().contains_key("web-0"));
    fleet.world.until_state("converged");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}
