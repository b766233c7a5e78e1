//! Agents as the first process of containers: what they tell, what they survive, and what they refuse.

use bollard::{
    Docker,
    models::{NetworkConnectRequest, NetworkCreateRequest, NetworkDisconnectRequest},
    query_parameters::{InspectContainerOptions, InspectNetworkOptions, RestartContainerOptions},
};
use rustix::process::Signal;
use tokio::runtime::Runtime;

use super::{
    engine::engine,
    fleet::{Fleet, group, provider},
};
use crate::world::{node, until, until_true};

pub(super) const JOIN: &str = "join = { mode = \"agent\" }";

/// A network of the engine, removed in the end.
pub(super) struct Network {
    docker: Docker,
    runtime: Runtime,
    pub(super) name: String,
}

impl Network {
    /// Makes one, for the law called `test`; gives the engine's machine's own address on it.
    pub(super) fn new(test: &str) -> Option<(Self, String)> {
        let runtime = Runtime::new().unwrap();
        let docker = runtime.block_on(engine(test))?;
        let name = format!("levelhead-test-{}", uuid::Uuid::new_v4());
        let request = NetworkCreateRequest { name: name.clone(), ..Default::default() };
        runtime.block_on(docker.create_network(request)).unwrap();
        let network = Self { docker, runtime, name };
        let seen = network.docker.inspect_network(&network.name, None::<InspectNetworkOptions>);
        let seen = network.runtime.block_on(seen).unwrap();
        let config = seen.ipam.unwrap().config.unwrap().remove(0);
        Some((network, config.gateway.unwrap()))
    }

    pub(super) fn cut(&self, container: &str) {
        let container = container.to_owned();
        let request = NetworkDisconnectRequest { container, force: Some(true) };
        self.runtime.block_on(self.docker.disconnect_network(&self.name, request)).unwrap();
    }

    fn mend(&self, container: &str) {
        let container = container.to_owned();
        let request = NetworkConnectRequest { container, ..Default::default() };
        self.runtime.block_on(self.docker.connect_network(&self.name, request)).unwrap();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Err(error) = self.runtime.block_on(self.docker.remove_network(&self.name)) {
            eprintln!("the network {} is left: {error}", self.name);
        }
    }
}

/// A fleet whose nodes reach this machine, and the network that they are on. The program of a test needs libraries.
pub(super) fn write(fleet: &Fleet, network: &Network, gateway: &str, groups: &str) {
    let libraries =
        "binds = [\"/lib64:/lib64:ro\", \"/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu:ro\"]";
    let options = format!("networks = [\"{}\"]\n{libraries}", network.name);
    let provider = provider(&options).replace("init = true\n", "");
    let agent = format!("[agent]\nlisten = \"{gateway}:0\"\n");
    fleet.world.write(&(agent + &provider + groups));
}

pub(super) fn explained(fleet: &Fleet, slot: &str) -> String {
    let told = fleet.world.expect(0, &["explain", slot, "--file", "FILE"]).out;
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// C9: an agent behind a network that is cut is noted and comes back; its node is neither ended nor replaced meanwhile.
#[test]
fn a_cut_network_ends_nobody() {
    let test = "a_cut_network_ends_nobody";
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    let probe =
        "[group.web.policy.probes]\nreadiness = { exec = [\"true\"], interval = \"200ms\" }\n";
    let web = group("web", 1, r#"["sleep", "3600"]"#, JOIN) + probe;
    write(&fleet, &network, &gateway, &web);
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.node("web-0");
    let inspected = fleet.docker.inspect_container(&before.id, None::<InspectContainerOptions>);
    let mut seen = fleet.ask(inspected).unwrap();
    let env = seen.config.as_mut().unwrap().env.take().unwrap();
    let token = env.iter().find_map(|line| line.strip_prefix("LEVELHEAD_AGENT_TOKEN=")).unwrap();
    assert!(!serde_json::to_string(&seen).unwrap().contains(token), "it is elsewhere too");
    network.cut(&before.id);
    until_true("its agent is missed", || {
        explained(&fleet, "web-0").contains("agent not heard since")
    });
    let view = fleet.world.status();
    assert_eq!(
        (&node(&view, "web-0")["ready"], &node(&view, "web-0")["attempt"]),
        (&true.into(), &1.into())
    );
    network.mend(&before.id);
    until_true("its agent is back", || {
        !explained(&fleet, "web-0").contains("agent not heard since")
    });
    let after = fleet.node("web-0");
    assert!(after.id == before.id && after.runs, "{after:?}");
    let told = fleet.world.events_of("agent", "web-0");
    let texts: Vec<_> = told.iter().map(|event| event["text"].as_str().unwrap()).collect();
    assert!(texts.contains(&"its agent is heard of again"), "{texts:?}");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
}

/// P2: an agent in a container and its workload outlive a driver that is killed, and the next driver is told by the same
/// agent how they fare.
#[test]
fn an_agent_in_a_container_outlives_its_driver() {
    let test = "an_agent_in_a_container_outlives_its_driver";
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    let probe = "[group.web.policy.probes]\n\
        readiness = { exec = [\"test\", \"!\", \"-e\", \"/tmp/closed\"], interval = \"200ms\" }\n";
    let web = group("web", 1, r#"["sleep", "3600"]"#, JOIN) + probe;
    write(&fleet, &network, &gateway, &web);
    fleet.world.drive();
    fleet.world.until_state("converged");
    let before = fleet.node("web-0");
    fleet.world.end_driver(Signal::KILL);
    assert_eq!(fleet.node("web-0"), before, "it goes on without a driver");
    fleet.world.drive();
    let is_ready = |fleet: &Fleet| node(&fleet.world.status(), "web-0")["ready"] == true;
    fleet.run_in(&before.id, &["touch", "/tmp/closed"]);
    until_true("the next driver is told that it does not serve", || !is_ready(&fleet));
    fleet.run_in(&before.id, &["rm", "/tmp/closed"]);
    until_true("and that it serves again", || is_ready(&fleet));
    assert_eq!(fleet.node("web-0"), before);
    assert_eq!(node(&fleet.world.status(), "web-0")["attempt"], 1);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// R172: an agent asks at the node's own ports, which nobody else reaches on its network.
#[test]
fn an_agent_asks_within_its_container() {
    let test = "an_agent_asks_within_its_container";
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    let serve = r#"["sh", "-c", "until [ -e /tmp/begun ]; do sleep 0.1; done; exec httpd -f -p {port} -h /etc"]"#;
    let web = group("web", 1, serve, JOIN).replace("settle", "ports = [\"http\"]\nsettle")
        + "[group.web.policy.probes]\n\
           startup = { tcp = \"http\", interval = \"500ms\", failures = 100 }\n\
           readiness = { http = \"/image\", interval = \"100ms\" }\n";
    write(&fleet, &network, &gateway, &web);
    let file = std::fs::read_to_string(fleet.world.file()).unwrap();
    fleet.world.write_raw(&file.replacen("networks", "ports.http = 80\nnetworks", 1));
    fleet.world.drive();
    let waits = |fleet: &Fleet, what: &str| {
        let view = fleet.world.status();
        node(&view, "web-0")["reason"].as_str().is_some_and(|why| why.contains(what))
    };
    until_true("its agent asks in vain", || waits(&fleet, "startup probe"));
    let id = fleet.node("web-0").id;
    fleet.run_in(&id, &["touch", "/tmp/begun"]);
    fleet.world.until_state("converged");
    assert_eq!(fleet.node("web-0").id, id);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// A container that somebody starts again shows a token that was used: its agent starts nothing, and ends with 71.
#[test]
fn an_agent_that_is_started_again_by_hand_is_turned_away() {
    let test = "an_agent_that_is_started_again_by_hand_is_turned_away";
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(mut fleet) = Fleet::new(test, "") else { return };
    // What ends unseen holds a job, so that its container stays to be looked at.
    let job = group("job", 1, r#"["sleep", "3600"]"#, &format!("kind = \"job\"\n{JOIN}"));
    write(&fleet, &network, &gateway, &job);
    fleet.world.drive();
    let runs = |fleet: &Fleet| {
        let view = fleet.world.status();
        node(&view, "job-0")["reason"].as_str().is_some_and(|why| why.contains("job runs"))
    };
    until_true("the job runs", || runs(&fleet));
    let id = fleet.node("job-0").id;
    fleet.world.end_driver(Signal::KILL);
    let at_once = RestartContainerOptions { signal: None, t: Some(0) };
    fleet.ask(fleet.docker.restart_container(&id, Some(at_once))).unwrap();
    fleet.world.drive();
    let code = until("its agent has ended", || {
        let seen = fleet.docker.inspect_container(&id, None::<InspectContainerOptions>);
        let state = fleet.ask(seen).unwrap().state.unwrap();
        state.exit_code.filter(|_| state.running == Some(false))
    });
    assert_eq!(code, 71);
    let view = fleet.world.status();
    assert_eq!(node(&view, "job-0")["attempt"], 1, "{view}");
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}

/// R180: as the first process an agent reaps what is left to it, and the end of its job is told as it was.
#[test]
fn the_first_process_reaps_and_tells_the_end() {
    let test = "the_first_process_reaps_and_tells_the_end";
    let Some((network, gateway)) = Network::new(test) else { return };
    let Some(fleet) = Fleet::new(test, "") else { return };
    let script = "(sh -c 'sleep 0.1 & sleep 0.1 & sleep 0.1 &'); sleep 1; \
                  [ $(cat /proc/1/comm) = .levelhead-agen ] || exit 8; \
                  grep -l 'State:.Z' /proc/[0-9]*/status && exit 9; exit 0";
    let job = group(
        "job",
        1,
        &format!("[\"sh\", \"-c\", {script:?}]"),
        &format!("kind = \"job\"\n{JOIN}"),
    );
    write(&fleet, &network, &gateway, &job);
    fleet.world.expect(0, &["up", "FILE", "--yes"]);
    until_true("it is completed", || {
        let view = fleet.world.status();
        node(&view, "job-0")["reason"].as_str().is_some_and(|why| why.contains("completed"))
    });
    assert_eq!(node(&fleet.world.status(), "job-0")["attempt"], 1);
    fleet.world.expect(0, &["down", "FILE", "--yes"]);
    fleet.is_bare();
}
