//! Probes on real processes: what waits for them, what they end, and updates that they stop (R169, R172, R174, R176).

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, group, node, servers, until, until_true};

const STAYS: &str = r#"["sleep", "86398"]"#;
const QUICK: &str = "interval = \"100ms\", failures = 2";

/// `count` nodes of `command` with these lines of a policy.
fn web(count: u32, command: &str, policy: &str) -> String {
    let restart = "[group.web.policy.restart]\nattempts = 9\ninitial = \"10ms\"\ncap = \"20ms\"\n";
    format!("{}{restart}{policy}", group("web", count, command))
}

/// A probe of `kind` that passes while the file `{kind}.{slot}` is in the directory of the run.
fn by_file(world: &World, kind: &str) -> String {
    let path = world.dir().join(kind).display().to_string();
    format!("{kind} = {{ exec = [\"test\", \"-e\", \"{path}.{{slot}}\"], {QUICK} }}\n")
}

fn mark(world: &World, kind: &str, slot: &str) {
    fs::write(world.dir().join(format!("{kind}.{slot}")), "").unwrap();
}

fn unmark(world: &World, kind: &str, slot: &str) {
    fs::remove_file(world.dir().join(format!("{kind}.{slot}"))).unwrap();
}

fn reason(world: &World, slot: &str) -> String {
    node(&world.status(), slot)["reason"].as_str().unwrap_or_default().to_owned()
}

/// Startup comes first, then readiness; what waits for the group waits for both, and who stops serving stays.
#[test]
fn a_node_serves_once_its_probes_say_so() {
    let mut world = World::new("");
    let late = "[group.late]\ncount = 1\nafter = { web = \"ready\" }\n[group.late.boot]\ncommand = [\"sleep\", \"86397\"]\n";
    let probes = by_file(&world, "startup").replace("failures = 2", "failures = 100")
        + &by_file(&world, "readiness");
    world.write(&(web(2, STAYS, &format!("[group.web.policy.probes]\n{probes}")) + late));
    world.drive();
    until_true("the startup probe is waited for", || {
        reason(&world, "web-0").contains("startup probe")
    });
    for slot in ["web-0", "web-1"] {
        mark(&world, "startup", slot);
    }
    until_true("the readiness probe fails", || {
        reason(&world, "web-1").contains("its readiness probe fails: the command exited with 1")
    });
    mark(&world, "readiness", "web-0");
    until_true("one of two serves", || world.status()["ready"] == 1);
    assert!(
        reason(&world, "late-0").contains("web (1 of 2 ready)"),
        "{}",
        reason(&world, "late-0")
    );
    mark(&world, "readiness", "web-1");
    world.until_state("converged");
    let before = world.pids();
    unmark(&world, "readiness", "web-0");
    until_true("it is seen not to serve", || world.status()["state"] != "converged");
    let told = world.expect(0, &["explain", "web-0", "--file", "FILE"]).out;
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["readiness probe failing:", "startup probe passing"] {
        assert!(words.contains(part), "{told}");
    }
    mark(&world, "readiness", "web-0");
    world.until_state("converged");
    assert_eq!(world.pids(), before, "readiness ends nobody (R176)");
    let events = world.events_of("probe", "web-0");
    assert!(events.iter().any(|event| event["text"] == "the readiness probe passes"), "{events:?}");
}

/// R176, R177: a failing liveness probe has its node replaced as often as its budget allows; then the slot is held,
/// through a restart of the driver, until a person says otherwise.
#[test]
fn liveness_replaces_within_its_budget() {
    let mut world = World::new("");
    let probes = by_file(&world, "liveness") + "liveness_restarts = 1\nliveness_window = \"1h\"\n";
    world.write(&web(3, STAYS, &format!("[group.web.policy.probes]\n{probes}")));
    for slot in ["web-0", "web-1", "web-2"] {
        mark(&world, "liveness", slot);
    }
    world.drive();
    world.until_state("converged");
    let before = world.pids();
    unmark(&world, "liveness", "web-1");
    until_true("it is replaced, and held as its successor fails too", || {
        node(&world.status(), "web-1")["hold"] == "restart.crash-loop"
    });
    let view = world.status();
    assert_eq!(node(&view, "web-1")["attempt"], 2, "{view}");
    for slot in ["web-0", "web-2"] {
        assert_eq!(world.pids()[slot], before[slot], "the others are as they were");
    }
    let why = reason(&world, "web-1");
    assert!(why.contains("its liveness probe failed: the command exited with 1"), "{why}");
    let shown = world.expect(0, &["status", "FILE", "--problems"]).out;
    assert!(shown.contains("as many as its budget allows"), "{shown}");
    world.end_driver(Signal::KILL);
    world.drive();
    until_true("the hold is there again", || {
        node(&world.status(), "web-1")["hold"] == "restart.crash-loop"
    });
    assert_eq!(node(&world.status(), "web-1")["attempt"], 2, "nobody touched it meanwhile");
    assert_ne!(world.status()["state"], "converged", "what is held is not as it should be (R51)");
    let held = world.expect(72, &["wait", "FILE", "--timeout", "60s"]);
    let next = |text: &str| -> String {
        let line = text.lines().find_map(|line| line.strip_prefix("next: "));
        line.unwrap_or_else(|| panic!("what leads on: {text}")).to_owned()
    };
    let shown = world.paste(&next(&held.err));
    mark(&world, "liveness", "web-1");
    let released = world.paste(&next(&shown.out));
    assert_eq!(released.code, 0, "{released:?}");
    world.until_state("converged");
}

/// R169, D4: an update whose nodes never serve is taken back at its deadline, and what served goes on serving.
#[test]
fn an_update_that_never_becomes_ready_is_taken_back() {
    let policy = "[group.web.policy.update]\nmax_surge = 1\nprogress_deadline = \"4s\"\n\
                  [group.web.policy.probes]\nreadiness = { http = \"/\", interval = \"100ms\", failures = 1 }\n";
    let serves = servers("web", 3) + policy;
    let mut world = World::new(&serves);
    world.drive();
    world.until_state("converged");
    let before = world.pids();
    // It runs, and listens nowhere.
    world.write(&(group("web", 3, STAYS) + policy));
    let mut least = 3;
    until_true("the update is taken back", || {
        least = least.min(world.status()["ready"].as_u64().unwrap());
        let told = world.events_of("update", "group/web");
        told.iter().any(|event| event["text"].as_str().unwrap().contains("back to"))
    });
    until_true("only what served is left", || world.leases().len() == 3);
    assert_eq!((world.pids(), least), (before, 3), "what served was never missed");
    let failed = world.events_of("probe", "web-0");
    let said = |event: &Value| {
        event["text"].as_str().unwrap().contains("cannot connect")
            || event["text"].as_str().unwrap().contains("refused")
    };
    assert!(failed.iter().any(said), "{failed:?}");
}

/// R170: all old nodes go before the first new one comes, and the new ones count once they are ready.
#[test]
fn recreate_waits_for_readiness() {
    let mut world = World::new("");
    let policy = |world: &World| {
        format!(
            "[group.web.policy.update]\nmode = \"recreate\"\n[group.web.policy.probes]\n{}",
            by_file(world, "readiness")
        )
    };
    for slot in ["web-0", "web-1"] {
        mark(&world, "readiness", slot);
    }
    world.write(&web(2, STAYS, &policy(&world)));
    world.drive();
    world.until_state("converged");
    unmark(&world, "readiness", "web-1");
    until_true("one does not serve", || world.status()["ready"] == 1);
    world.write(&web(2, r#"["sleep", "86396"]"#, &policy(&world)));
    until_true("both are anew, and one does not serve", || {
        let view = world.status();
        let all = view["nodes"].as_array().unwrap();
        all.iter().all(|node| node["attempt"] == 2) && view["ready"] == 1
    });
    assert_eq!(world.status()["state"], "converging", "the update is not over");
    mark(&world, "readiness", "web-1");
    world.until_state("converged");
}

/// R174: the time for which a candidate has to serve goes on where a driver that was killed left it, with the same one.
#[test]
fn the_observed_time_survives_a_driver() {
    let policy = |observation: &str| {
        format!(
            "[group.web.policy.update]\nmax_surge = 1\nobservation = \"{observation}\"\n\
             [group.web.policy.probes]\nreadiness = {{ http = \"/\", interval = \"100ms\" }}\n"
        )
    };
    let serves = |colour: &str, observation: &str| {
        let env = format!("env = {{ COLOUR = \"{colour}\" }}\nsettle");
        servers("web", 1).replacen("settle", &env, 1) + &policy(observation)
    };
    let mut world = World::new(&serves("blue", "3s"));
    world.drive();
    world.until_state("converged");
    world.write(&serves("green", "3s"));
    let candidate = until("a candidate serves", || {
        let pids = world.alive();
        let view = world.status();
        let joined = node(&view, "web-0")["second"]["stage"] == "handed-off";
        (joined && pids["web-0"].len() == 2).then(|| pids["web-0"].clone())
    });
    world.end_driver(Signal::KILL);
    world.drive();
    world.until_state("converged");
    let view = world.status();
    assert_eq!(node(&view, "web-0")["attempt"], 2, "no other candidate was made: {view}");
    assert!(candidate.contains(&world.pids()["web-0"]), "the same one took over");
}

/// D10: three servers change one after another, behind a client that asks every one that is said to serve, and that
/// takes who drains off its list before it lets it end: not one request is lost.
#[test]
fn no_request_is_lost_during_a_rolling_update() {
    let mut world = World::new("");
    let dir = world.dir().display().to_string();
    let drain = format!(
        "touch {dir}/draining.$LEVELHEAD_SLOT.$LEVELHEAD_ORDINAL; \
         while [ ! -e {dir}/drained.$LEVELHEAD_SLOT.$LEVELHEAD_ORDINAL ]; do sleep 0.02; done"
    );
    let policy = format!(
        "[group.web.policy.update]\nmax_surge = 1\nmax_unavailable = 0\n\
         [group.web.policy.hooks]\npre_stop = {{ command = [\"sh\", \"-c\", '{drain}'], timeout = \"5m\" }}\n\
         [group.web.policy.probes]\nreadiness = {{ http = \"/\", interval = \"100ms\" }}\n"
    );
    let serves = |colour: &str| {
        let env = format!("env = {{ COLOUR = \"{colour}\" }}\nsettle");
        servers("web", 3).replacen("settle", &env, 1) + &policy
    };
    world.write(&serves("blue"));
    world.drive();
    world.until_state("converged");
    world.write(&serves("green"));
    let mut asked = 0;
    until_true("every server is another one", || {
        let drained = let_drained_end(world.dir());
        let view = world.status();
        let serving: Vec<_> = endpoints(&view, &drained);
        assert!(serving.len() >= 3, "with one beside and none missing, three serve: {view}");
        for (slot, host, port) in &serving {
            assert_eq!(page(host, *port).as_deref(), Ok(slot.as_str()), "request {asked}");
            asked += 1;
        }
        let all = view["nodes"].as_array().unwrap();
        view["state"] == "converged" && all.iter().all(|node| node["attempt"] == 2)
    });
    assert!(asked > 9, "{asked} requests");
    // Nobody asks any more: what drains from here on may end at once, and no hook outlives the test.
    for slot in ["web-0", "web-1", "web-2"] {
        fs::write(world.dir().join(format!("drained.{slot}.2")), "").unwrap();
    }
    world.expect(0, &["down", "--yes", "FILE"]);
}

/// Lets everything end that drains: from here on it is not asked any more.
fn let_drained_end(dir: &Path) -> Vec<(String, u64)> {
    let mut drained = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(who) = name.strip_prefix("draining.") else { continue };
        let (slot, ordinal) = who.split_once('.').unwrap();
        fs::write(dir.join(format!("drained.{who}")), "").unwrap();
        drained.push((slot.to_owned(), ordinal.parse().unwrap()));
    }
    drained
}

/// Where the nodes are reached that serve and do not drain.
fn endpoints(view: &Value, drained: &[(String, u64)]) -> Vec<(String, String, u16)> {
    let ready = view["nodes"].as_array().unwrap().iter().filter(|node| node["ready"] == true);
    let endpoint = |node: &Value| {
        let slot = node["slot"].as_str()?.to_owned();
        let gone = drained.iter().any(|(of, ordinal)| *of == slot && node["attempt"] == *ordinal);
        let (host, port) = node["endpoint"].as_str()?.strip_prefix("http=")?.rsplit_once(':')?;
        (!gone).then_some(())?;
        Some((slot, host.to_owned(), port.parse().ok()?))
    };
    ready.filter_map(endpoint).collect()
}

/// The page of a server, which is its name.
fn page(host: &str, port: u16) -> Result<String, String> {
    let asked = || {
        let mut stream = TcpStream::connect((host, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<String, std::io::Error>(answer)
    };
    let answer = asked().map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the answer breaks off")?;
    if head.starts_with("HTTP/1.1 200") { Ok(body.trim().to_owned()) } else { Err(head.to_owned()) }
}
