//! What agents are asked, and what they tell while their workloads run, with real processes.

use std::{fs, process::Command};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    e2e_agent::{explained, pairs, reason, web},
    world::{World, code, ended, node, send, until, until_true},
};

/// The provider of a program of the user's own, whose nodes have the agent; nothing, with its reason, where that cannot be.
fn own(world: &World, test: &str) -> Option<String> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: {test}, there is no python3");
        return None;
    }
    fs::write(world.dir().join("machines.py"), include_str!("machines.py")).unwrap();
    Some(format!(
        "[provider.own]\nkind = \"exec\"\nprogram = [\"python3\", \"machines.py\", \"machines\"]\n\
         secrets = true\nagent = \"{}\"\nlisting_period_ms = 200\n",
        env!("CARGO_BIN_EXE_levelhead")
    ))
}

/// R172: requests and connections are asked by the agent as commands are, at the ports of the node itself.
#[test]
fn an_agent_asks_over_the_network_of_its_node() {
    let probes = "[group.web.policy.probes]\n\
         startup = { tcp = \"http\", interval = \"100ms\", failures = 100 }\n\
         readiness = { http = \"/\", interval = \"100ms\", timeout = \"100ms\", failures = 1 }\n";
    let serve = r#"["{levelhead}", "node", "--port", "{port}"]"#;
    let ports = web(1, serve, probes).replace("settle", "ports = [\"http\"]\nsettle");
    let mut world = World::new(&ports);
    world.drive();
    world.until_state("converged");
    let (agent, workload) = pairs(&world, &["web-0"])["web-0"];
    let tell = |pid, signal| kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    tell(workload, Signal::STOP);
    let waits = "its readiness probe fails: no answer within 100 ms";
    until_true("it does not serve", || reason(&world, "web-0").contains(waits));
    tell(workload, Signal::CONT);
    world.until_state("converged");
    // Whoever asks is the agent: without it nobody does.
    tell(agent, Signal::STOP);
    until_true("it cannot be asked", || {
        explained(&world, "web-0").contains("it cannot be asked: its agent is not heard of")
    });
    assert_eq!(node(&world.status(), "web-0")["ready"], true, "unknown is not failure");
    tell(agent, Signal::CONT);
    until_true("it is asked again", || !explained(&world, "web-0").contains("it cannot be asked"));
    assert_eq!(pairs(&world, &["web-0"])["web-0"], (agent, workload));
}

/// D16: what a provider cannot ask by a command its nodes' agents can, and what they write is shown while they run.
#[test]
fn an_agent_asks_and_tells_where_its_provider_does_neither() {
    let test = "an_agent_asks_and_tells_where_its_provider_does_neither";
    let mut world = World::new("");
    let Some(provider) = own(&world, test) else { return };
    let well = world.dir().join("well");
    let probe = format!(
        "[group.web.policy.probes]\nreadiness = {{ exec = [\"test\", \"-e\", \"{}\"], interval = \"100ms\", failures = 1 }}\n",
        well.display()
    );
    let more = world.dir().join("more");
    let writes = format!(
        r#"["sh", "-c", "echo begun by $LEVELHEAD_SLOT; until [ -e {0} ]; do sleep 0.05; done; cat {0}; exec sleep 86393"]"#,
        more.display()
    );
    let nodes = web(1, &writes, &probe).replacen("count", "provider = \"own\"\ncount", 1);
    world.write(&(provider + &nodes));
    world.drive();
    let fails = "its readiness probe fails: the command exited with 1";
    until_true("its agent asks", || reason(&world, "web-0").contains(fails));
    fs::write(&well, "").unwrap();
    world.until_state("converged");
    let shown = until("its output is told", || {
        let shown = world.run(&["logs", "web-0", "--file", "FILE"]);
        (!shown.out.is_empty()).then_some(shown)
    });
    assert_eq!((shown.code, shown.out.as_str()), (0, "begun by web-0\n"), "{shown:?}");
    assert!(shown.err.contains("agent of web-0"), "{shown:?}");
    let mut follows = world.spawn("logs", &["logs", "web-0", "--file", "FILE", "--follow"]);
    let followed = || fs::read_to_string(world.dir().join("logs.out")).unwrap_or_default();
    until_true("what there was is shown", || followed() == "begun by web-0\n");
    fs::write(&more, "one more\nand another\n").unwrap();
    until_true("what comes is shown, and nothing twice", || {
        followed() == "begun by web-0\none more\nand another\n"
    });
    send(&follows, Signal::INT);
    assert_eq!(code(ended(&mut follows)), 130);
    world.expect(0, &["down", "FILE", "--yes"]);
    until_true("nothing is left", || world.alive().is_empty());
}

/// P5: an agent leaves a driver alone that is older than one that it has seen, and its workload goes on.
#[test]
fn an_agent_leaves_an_older_driver_alone() {
    let mut world = World::new(&web(1, r#"["sleep", "86392"]"#, ""));
    world.drive();
    world.until_state("converged");
    world.end_driver(Signal::TERM);
    let world_dir = world.dir().to_owned();
    let place = |name: &str| world_dir.join(name);
    let copy = |from: &str, to: &str| {
        let done = Command::new("cp").arg("-a").args([place(from), place(to)]).status().unwrap();
        assert!(done.success(), "{from} cannot be copied");
    };
    let rename = |from: &str, to: &str| fs::rename(place(from), place(to)).unwrap();
    copy("state", "old");
    // Two more drivers, each with a higher fence than the last.
    for nth in 2..=3 {
        world.drive();
        until_true("its agent joins", || {
            agent_log(&world, "state").matches("joined the driver").count() == nth
        });
        world.end_driver(Signal::KILL);
    }
    let before = pairs(&world, &["web-0"]);
    rename("state", "new");
    rename("old", "state");
    world.drive();
    let older = "has fence 2, and 3 was seen: it is an old one";
    until_true("it is left alone", || agent_log(&world, "new").contains(older));
    assert_eq!(pairs(&world, &["web-0"]), before);
    world.end_driver(Signal::KILL);
    rename("state", "old");
    rename("new", "state");
    world.drive();
    until_true("the newest is joined", || {
        agent_log(&world, "state").matches("joined the driver").count() == 4
    });
    world.until_state("converged");
    assert_eq!(pairs(&world, &["web-0"]), before);
}

/// P7: an agent that cannot reach its driver says so, and the failure of its node quotes it.
#[test]
fn an_agent_that_never_joins_is_quoted() {
    let policy = "restart = { attempts = 1 }\ntimeouts = { bootstrap = \"2s\" }\n";
    // Nobody listens there.
    let address = "[agent]\naddress = \"127.0.0.1:1\"\n";
    let mut world = World::new(&(address.to_owned() + &web(1, r#"["true"]"#, policy)));
    world.drive();
    until_true("its failure is told", || {
        let why = world.status()["holds"].to_string();
        why.contains("it did not join in time; its last lines: ")
            && why.contains("the driver cannot be reached: Connection refused")
    });
}

/// What the agent of the only node wrote, in the state directory that is now called `state`.
fn agent_log(world: &World, state: &str) -> String {
    let places = world.dir().join(state).join("providers/process");
    let leases = fs::read_dir(places).unwrap().map(|entry| entry.unwrap().path());
    leases.filter_map(|lease| fs::read_to_string(lease.join("stderr.log")).ok()).collect()
}
