//! Containers that come back after another one serves in their place (C9): ended before that where the engine can end
//! them, and otherwise told, counted, turned away and left to a person; never a second live attempt of a slot.

use bollard::{
    models::{ContainerCreateBody, ContainerInspectResponse, NetworkConnectRequest},
    query_parameters::{CreateContainerOptions, StartContainerOptions},
};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    agent::{JOIN, Network, explained, write},
    engine::remove,
    fleet::{Fleet, group, provider, sleepers},
};
use crate::world::{node, until, until_true};

fn inspected(fleet: &Fleet, id: &str) -> ContainerInspectResponse {
    fleet.ask(fleet.docker.inspect_container(id, None)).unwrap()
}

/// Makes a container anew that was removed, and starts it, as who restores a machine does; gives its id.
fn restored(fleet: &Fleet, old: &ContainerInspectResponse) -> String {
    let mut body = serde_json::to_value(&old.config).unwrap();
    body["HostConfig"] = serde_json::to_value(&old.host_config).unwrap();
    let body: ContainerCreateBody = serde_json::from_value(body).unwrap();
    let name = old.name.as_ref().unwrap().trim_start_matches('/').to_owned();
    let options = CreateContainerOptions { name: Some(name), ..Default::default() };
    let id = fleet.ask(fleet.docker.create_container(Some(options), body)).unwrap().id;
    fleet.ask(fleet.docker.start_container(&id, None::<StartContainerOptions>)).unwrap();
    id
}

/// Waits until `lease` is told of as one that no record accounts for; gives how the run stands.
fn until_told(fleet: &Fleet, lease: &str) -> Value {
    until("it is told of", || {
        let view = fleet.world.status();
        let orphans = view["orphans"].as_array().unwrap();
        orphans.iter().any(|one| one["lease"] == lease).then(|| view.clone())
    })
}

/// Has another driver begin, which looks at all there is.
fn drive_anew(fleet: &mut Fleet) {
    fleet.world.end_driver(Signal::KILL);
    fleet.world.drive();
}

/// C9, R176: a container that is paused, and one whose network is cut, are ended before others serve in their places; who
/// wants them back by hand finds nothing.
#[test]
fn who_is_paused_or_cut_off_is_gone_when_another_one_serves() {
    let test = "who_is_paused_or_cut_off_is_gone_when_another_one_serves";
    let Some((network, _gateway)) = Network::new(test) else { return };
    let serve = r#"["httpd", "-f", "-p", "{port}", "-h", "/etc"]"#;
    // Two of five may be believed to be broken by signs that prove nothing.
    let file = provider(&format!("networks = [\"{}\"]", network.name))
        + &group("web", 5, serve, "").replace("settle", "ports = [\"http\"]\nsettle")
        + "[group.web.policy.probes]\n\
           liveness = { http = \"/image\", interval = \"1s\", timeout = \"1s\", failures = 3 }\n";
    let Some(mut fleet) = Fleet::new(test, &file) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    fleet.ask(fleet.docker.pause_container(&before["web-0"])).unwrap();
    network.cut(&before["web-1"]);
    until_true("both are replaced", || {
        let nodes = fleet.nodes();
        assert!(nodes.values().all(|found| found.len() == 1), "two for a slot: {nodes:?}");
        let is_new = |slot: &str| {
            let found = nodes.get(slot).and_then(|found| found.first());
            found.is_some_and(|one| one.runs && one.id != before[slot])
        };
        is_new("web-0") && is_new("web-1")
    });
    let view = fleet.world.until_state("converged");
    assert!(fleet.ask(fleet.docker.unpause_container(&before["web-0"])).is_err());
    let container = before["web-1"].clone();
    let back = NetworkConnectRequest { container, ..Default::default() };
    assert!(fleet.ask(fleet.docker.connect_network(&network.name, back)).is_err());
    let after = fleet.ids();
    for slot in ["web-0", "web-1"] {
        assert_eq!(node(&view, slot)["attempt"], 2, "{view}");
    }
    for slot in ["web-2", "web-3", "web-4"] {
        assert_eq!(after[slot], before[slot], "{slot}");
    }
    assert_eq!((&view["holds"], &view["orphans"]), (&json!([]), &json!([])));
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// C9, C4: a container that was proven gone and runs again is none of the slot's, also to another driver: who serves goes on
/// serving, it takes a place so that none is made beyond the count, and nobody ends it but a person.
#[test]
fn a_container_that_comes_back_is_told_of_and_not_adopted() {
    let test = "a_container_that_comes_back_is_told_of_and_not_adopted";
    let Some(mut fleet) = Fleet::new(test, &sleepers(2)) else { return };
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.ids();
    let old = inspected(&fleet, &before["web-0"]);
    fleet.ask(remove(&fleet.docker, &before["web-0"]));
    let new = fleet.until_replaced("web-0", &before["web-0"]);
    fleet.world.until_state("converged");
    let back = restored(&fleet, &old);
    drive_anew(&mut fleet);
    let view = until_told(&fleet, &back);
    let one = node(&view, "web-0");
    assert_eq!((&one["attempt"], &one["ready"]), (&2.into(), &true.into()), "{view}");
    assert_eq!(one["lease"], new.id, "who served serves");
    // One that is lost meanwhile waits: with the one that came back there are as many as wanted.
    fleet.ask(remove(&fleet.docker, &before["web-1"]));
    until_true("web-1 waits for room", || {
        let view = fleet.world.status();
        node(&view, "web-1")["reason"]
            .as_str()
            .is_some_and(|why| why.contains("would be one too many"))
    });
    let slots: Vec<_> = fleet.nodes().into_keys().collect();
    assert_eq!(slots, ["web-0"], "nothing is made beyond the count");
    assert!(inspected(&fleet, &back).state.unwrap().running.unwrap(), "and nobody is ended");
    fleet.ask(remove(&fleet.docker, &back));
    drive_anew(&mut fleet);
    fleet.until_replaced("web-1", &before["web-1"]);
    let view = fleet.world.until_state("converged");
    assert_eq!((&view["orphans"], fleet.node("web-0").id), (&json!([]), new.id));
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// C9: an agent that was cut off, was lost with its container and comes back after that was replaced shows the token of an
/// attempt that is over: it is turned away, starts nothing, and ends with 71.
#[test]
fn an_agent_that_comes_back_after_its_replacement_is_turned_away() {
    let test = "an_agent_that_comes_back_after_its_replacement_is_turned_away";
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    let web = group("web", 1, r#"["sh", "-c", "echo begun; exec sleep 3600"]"#, JOIN);
    write(&fleet, &network, &gateway, &web);
    fleet.world.drive();
    fleet.world.until_state("converged");
    let first = fleet.node("web-0").id;
    let old = inspected(&fleet, &first);
    network.cut(&first);
    until_true("its agent is missed", || {
        explained(&fleet, "web-0").contains("agent not heard since")
    });
    assert_eq!(fleet.node("web-0").id, first, "that alone ends nobody");
    fleet.ask(remove(&fleet.docker, &first));
    let new = fleet.until_replaced("web-0", &first);
    fleet.world.until_state("converged");
    let back = restored(&fleet, &old);
    let code = until("its agent has ended", || {
        let state = inspected(&fleet, &back).state.unwrap();
        state.exit_code.filter(|_| state.running == Some(false))
    });
    assert_eq!(code, 71);
    let view = until_told(&fleet, &back);
    let one = node(&view, "web-0");
    assert_eq!((&one["attempt"], &one["ready"]), (&2.into(), &true.into()), "{view}");
    let running: Vec<_> = fleet.nodes().remove("web-0").unwrap();
    let running: Vec<_> = running.iter().filter(|one| one.runs).map(|one| &one.id).collect();
    assert_eq!(running, [&new.id], "one runs for the slot");
    fleet.ask(remove(&fleet.docker, &back));
    drive_anew(&mut fleet);
    until_true("nothing is told of it any more", || fleet.world.status()["orphans"] == json!([]));
    fleet.world.until_state("converged");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}
