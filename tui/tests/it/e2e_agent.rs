//! Workloads that run under agents, as real processes: who is let in, what is told, and what outlives what.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::{World, code, ended, kill, node, until, until_true};

const JOIN: &str = "[group.web.join]\nmode = \"agent\"\n";
const STAYS: &str = r#"["sleep", "86395"]"#;

/// `count` nodes of `command` that join by agents, with these lines of a policy.
pub(crate) fn web(count: u32, command: &str, policy: &str) -> String {
    format!(
        "[group.web]\ncount = {count}\n{JOIN}\
         [group.web.boot]\ncommand = {command}\nsettle = \"50ms\"\nstop_grace = \"2s\"\n\
         [group.web.policy]\nstable = \"30m\"\n{policy}"
    )
}

/// The agent of a slot and its workload.
fn pair(world: &World, slot: &str) -> Option<(i32, i32)> {
    let pids = world.alive().remove(slot)?;
    let is_agent = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"agent")
    };
    let agent = pids.iter().copied().find(is_agent)?;
    Some((agent, pids.into_iter().find(|pid| *pid != agent)?))
}

pub(crate) fn pairs(world: &World, slots: &[&str]) -> BTreeMap<String, (i32, i32)> {
    let pair = |slot: &&str| {
        let what = format!("{slot} has its agent and its workload");
        ((*slot).to_owned(), until(&what, || pair(world, slot)))
    };
    slots.iter().map(pair).collect()
}

/// The environment of a process.
fn environ(pid: i32) -> BTreeMap<String, String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(crate) fn explained(world: &World, slot: &str) -> String {
    let told = world.expect(0, &["explain", slot, "--file", "FILE"]).out;
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn reason(world: &World, slot: &str) -> String {
    node(&world.status(), slot)["reason"].as_str().unwrap_or_default().to_owned()
}

/// Every file below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            all.extend(files(&path));
        } else if meta.is_file() {
            all.push(path);
        }
    }
    all
}

/// An agent with another's environment, changed by `change`; gives its exit code and what it said.
fn impostor(world: &World, of: i32, change: &[(&str, &str)]) -> (i32, String) {
    let mark = world.dir().join("impostor");
    let said = world.dir().join("impostor.err");
    let mut child = Command::new(env!("CARGO_BIN_EXE_levelhead"))
        .args(["agent", "--", "touch"])
        .arg(&mark)
        .env_clear()
        .envs(environ(of))
        .envs(change.iter().copied())
        .stdin(Stdio::null())
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let status = ended(&mut child);
    assert!(!mark.exists(), "it started its workload");
    (code(status), fs::read_to_string(said).unwrap())
}

/// R57: a node joins once its agent says that the workload runs; its token is in its environment and nowhere else.
#[test]
fn a_node_joins_by_its_agent() {
    let mut world = World::new(&web(2, STAYS, ""));
    world.drive();
    world.until_state("converged");
    let all = pairs(&world, &["web-0", "web-1"]);
    let told = explained(&world, "web-0");
    assert!(told.contains("agent of session 1"), "{told}");
    assert!(!told.contains("agent not heard since"), "{told}");
    let events = world.events_of("agent", "web-1");
    assert!(events.iter().any(|event| event["text"] == "its agent joined"), "{events:?}");
    for (agent, workload) in all.values() {
        let theirs = environ(*workload);
        assert!(!theirs.keys().any(|name| name.starts_with("LEVELHEAD_AGENT_")), "{theirs:?}");
        assert_eq!(theirs["LEVELHEAD_RUN"], world.uuid());
        let token = &environ(*agent)["LEVELHEAD_AGENT_TOKEN"];
        for path in files(world.state()) {
            let bytes = fs::read(&path).unwrap();
            let found = bytes.windows(token.len()).any(|part| part == token.as_bytes());
            assert!(!found, "the token is in {}", path.display());
        }
    }
    let identity = fs::metadata(world.state().join("agents.json")).unwrap();
    assert_eq!(identity.mode() & 0o777, 0o600);
}

/// A wrong token joins nobody, and a good one joins the first alone that shows it; neither starts anything.
#[test]
fn a_wrong_or_used_token_never_joins() {
    let mut world = World::new(&web(2, STAYS, ""));
    world.drive();
    world.until_state("converged");
    let all = pairs(&world, &["web-0", "web-1"]);
    let (agent, _) = all["web-0"];
    let (exit, said) = impostor(&world, agent, &[]);
    assert!(exit == 71 && said.contains("the token was used by another agent"), "{exit}: {said}");
    let other = environ(all["web-1"].0)["LEVELHEAD_AGENT_TOKEN"].clone();
    for wrong in ["", "00", other.as_str()] {
        let (exit, said) = impostor(&world, agent, &[("LEVELHEAD_AGENT_TOKEN", wrong)]);
        assert!(exit == 71 && said.contains("the token is not good"), "{exit}: {said}");
    }
    let (exit, said) = impostor(&world, agent, &[("LEVELHEAD_AGENT_CERT", "00")]);
    assert!(exit == 64 && said.contains("LEVELHEAD_AGENT_CERT"), "{exit}: {said}");
    assert_eq!(pairs(&world, &["web-0", "web-1"]), all, "who is there stays there");
    world.until_state("converged");
}

/// P2: an agent outlives its driver, its workload does not notice, and the next driver knows it.
#[test]
fn an_agent_and_its_workload_outlive_their_driver() {
    let mut world = World::new(&web(2, STAYS, ""));
    world.drive();
    world.until_state("converged");
    let before = pairs(&world, &["web-0", "web-1"]);
    for _ in 0..2 {
        world.end_driver(Signal::KILL);
        world.drive();
    }
    world.until_state("converged");
    let joined = |pid: i32| {
        let log = world.leases().into_iter().map(|lease| {
            let place = world.state().join("providers/process").join(lease).join("stderr.log");
            fs::read_to_string(place).unwrap_or_default()
        });
        log.filter(|text| text.matches("joined the driver").count() >= 2).count() >= 2 && pid > 0
    };
    until_true("both joined the new driver", || joined(before["web-0"].0));
    assert_eq!(pairs(&world, &["web-0", "web-1"]), before);
    let (agent, _) = before["web-0"];
    let (exit, said) = impostor(&world, agent, &[]);
    assert!(exit == 71 && said.contains("used by another agent"), "{exit}: {said}");
}

/// R59: how a workload ended is told as it was, by code or by signal.
#[test]
fn the_end_of_a_workload_is_told() {
    let restart = "[group.web.policy.restart]\nattempts = 1\n";
    for (command, said) in [
        (r#"["sh", "-c", "echo last words >&2; sleep 0.3; exit 7"]"#, "7"),
        (r#"["sh", "-c", "echo last words >&2; sleep 0.3; kill -SEGV $$"]"#, "signal 11"),
        (r#"["no-such-program-at-all"]"#, "was not found in PATH"),
    ] {
        let mut world = World::new(&web(1, command, restart));
        world.drive();
        until_true("it failed", || !node(&world.status(), "web-0")["hold"].is_null());
        let why = reason(&world, "web-0");
        assert!(why.contains(said), "{why}");
        assert!(why.contains("last words") || said.contains("PATH"), "{why}");
    }
}

/// A job that ends while no driver runs is not run twice: its agent keeps the end until a driver wrote it down.
#[test]
fn the_end_of_a_job_waits_for_a_driver() {
    let mut world = World::new("");
    let go = world.dir().join("go");
    let runs = world.dir().join("runs");
    let command = format!(
        r#"["sh", "-c", "echo x >> {}; while [ ! -e {} ]; do sleep 0.05; done"]"#,
        runs.display(),
        go.display()
    );
    let job = web(1, &command, "").replacen("count = 1\n", "count = 1\nkind = \"job\"\n", 1);
    world.write(&job);
    world.drive();
    until_true("the job runs", || reason(&world, "web-0").contains("job runs"));
    let (agent, workload) = pairs(&world, &["web-0"])["web-0"];
    world.end_driver(Signal::KILL);
    fs::write(go, "").unwrap();
    until_true("the job ended", || !Path::new(&format!("/proc/{workload}/environ")).exists());
    assert!(Path::new(&format!("/proc/{agent}")).exists(), "its agent waits");
    world.drive();
    world.until_state("converged");
    assert!(reason(&world, "web-0").contains("completed"), "{}", reason(&world, "web-0"));
    until_true("its agent is gone", || world.alive().is_empty());
    assert_eq!(fs::read_to_string(runs).unwrap(), "x\n");
}

/// A stop is passed on, and gets its grace; who does not heed it is ended.
#[test]
fn a_stop_is_passed_on_with_its_grace() {
    let mut world = World::new("");
    let polite = world.dir().join("polite");
    let command = format!(
        r#"["sh", "-c", "trap 'echo told > {}; exit 0' TERM; while true; do sleep 0.05; done"]"#,
        polite.display()
    );
    world.write(&web(1, &command, ""));
    world.drive();
    world.until_state("converged");
    world.expect(0, &["scale", "web=0", "--yes", "--file", "FILE"]);
    assert_eq!(fs::read_to_string(&polite).unwrap(), "told\n");
    until_true("nothing is left", || world.alive().is_empty());
    world.write(&web(1, r#"["sh", "-c", "trap '' TERM; while true; do sleep 0.05; done"]"#, ""));
    world.until_state("converged");
    world.expect(0, &["scale", "web=0", "--yes", "--file", "FILE"]);
    until_true("nothing is left", || world.alive().is_empty());
}

/// What the workload leaves behind ends below its agent, which lets it go.
#[test]
fn what_a_workload_leaves_behind_is_reaped() {
    let leaves =
        r#"["sh", "-c", "(sh -c 'sleep 0.1 & sleep 0.1 & sleep 0.1 &'); exec sleep 86394"]"#;
    let mut world = World::new(&web(1, leaves, ""));
    world.drive();
    world.until_state("converged");
    let (agent, workload) = pairs(&world, &["web-0"])["web-0"];
    until_true("only the workload is below the agent", || children(agent) == [workload]);
}

/// The children of a process, zombies included.
fn children(of: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// An agent that is killed takes no workload with it unseen: the attempt is over, and a fresh one follows.
#[test]
fn an_agent_that_is_killed_is_replaced_with_its_workload() {
    let mut world = World::new(&web(1, STAYS, ""));
    world.drive();
    world.until_state("converged");
    let before = pairs(&world, &["web-0"])["web-0"];
    kill(before.0);
    until_true("another attempt serves", || {
        let view: Value = world.status();
        node(&view, "web-0")["attempt"] == 2 && view["state"] == "converged"
    });
    let after = pairs(&world, &["web-0"])["web-0"];
    assert!(after.0 != before.0 && after.1 != before.1);
    assert_eq!(world.alive()["web-0"].len(), 2, "nothing of the first is left");
}

/// R172: what an agent asks counts as any answer; where it is not heard, nothing is known and nobody is ended.
#[test]
fn an_agent_asks_its_workload() {
    let mut world = World::new("");
    let mark = world.dir().join("well");
    let probe = format!(
        "[group.web.policy.probes]\nreadiness = {{ exec = [\"test\", \"-e\", \"{}.{{slot}}\"], interval = \"100ms\", failures = 1 }}\n",
        mark.display()
    );
    world.write(&web(1, STAYS, &probe));
    world.drive();
    let waits = "its readiness probe fails: the command exited with 1";
    until_true("it is asked, and does not serve", || reason(&world, "web-0").contains(waits));
    fs::write(format!("{}.web-0", mark.display()), "").unwrap();
    world.until_state("converged");
    let (agent, workload) = pairs(&world, &["web-0"])["web-0"];
    let tell = |signal| kill_process(Pid::from_raw(agent).unwrap(), signal).unwrap();
    tell(Signal::STOP);
    until_true("it is missed", || explained(&world, "web-0").contains("agent not heard since"));
    let told = explained(&world, "web-0");
    assert!(told.contains("it cannot be asked: its agent is not heard of"), "{told}");
    assert_eq!(node(&world.status(), "web-0")["ready"], true, "unknown is not failure");
    tell(Signal::CONT);
    until_true("it is back", || !explained(&world, "web-0").contains("agent not heard since"));
    assert_eq!(pairs(&world, &["web-0"])["web-0"], (agent, workload));
}

/// A node of a program of the user's own joins as any other; the program gets the token with the secrets.
#[test]
fn a_node_of_an_exec_provider_joins_by_its_agent() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: a_node_of_an_exec_provider_joins_by_its_agent, there is no python3");
        return;
    }
    let mut world = World::new("");
    fs::write(world.dir().join("machines.py"), include_str!("machines.py")).unwrap();
    let provider = format!(
        "[provider.own]\nkind = \"exec\"\nprogram = [\"python3\", \"machines.py\", \"machines\"]\n\
         secrets = true\nagent = \"{}\"\nlisting_period_ms = 200\n",
        env!("CARGO_BIN_EXE_levelhead")
    );
    let nodes = web(1, STAYS, "").replacen("count", "provider = \"own\"\ncount", 1);
    world.write(&(provider + &nodes));
    world.drive();
    world.until_state("converged");
    pairs(&world, &["web-0"]);
    assert!(explained(&world, "web-0").contains("agent of session 1"));
    let request = fs::read_to_string(world.dir().join("machines/start.json")).unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    assert!(request["secrets"]["LEVELHEAD_AGENT_TOKEN"].is_string(), "{request}");
    assert!(request["spec"]["boot"]["env"]["LEVELHEAD_AGENT_TOKEN"].is_null(), "{request}");
    world.expect(0, &["down", "FILE", "--yes"]);
    until_true("nothing is left", || world.alive().is_empty());
}
