//! What people would use instead, on the same engine with the same image: Compose, and swarm mode.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use bollard::{
    Docker,
    models::{ContainerSummary, ContainerSummaryStateEnum as State},
    query_parameters::ListContainersOptions,
};
use tokio::runtime::Runtime;

use crate::{engine::IMAGE, millis, rig::PARALLELISM};

/// How long anything may take.
const PATIENCE: u64 = 120;
/// The network by which a swarm's machines are reached.
const BRIDGE: &str = "docker_gwbridge";
/// The only service of a project.
const SERVICE: &str = "levelhead-bench";

/// Another who brings a number of containers about.
pub(crate) trait Peer {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// Has it bring about `n`; it may come back before they run.
    fn scale(&self, n: usize) -> io::Result<()>;
    /// Has it take all away; it may come back before they are gone.
    fn down(&self) -> io::Result<()>;
    /// The label and its value by which its containers are found.
    fn label(&self) -> String;
}

/// Asks a peer, and waits until so many of its containers run and no other one is there; gives the milliseconds.
pub(crate) fn timed(
    peer: &dyn Peer,
    (docker, runtime): (&Docker, &Runtime),
    n: usize,
) -> io::Result<f64> {
    let begun = Instant::now();
    if n == 0 {
        peer.down()?;
    } else {
        peer.scale(n)?;
    }
    runtime.block_on(until(docker, &peer.label(), |all| {
        let running = all.iter().filter(|one| one.state == Some(State::RUNNING)).count();
        (running, all.len()) == (n, n)
    }))?;
    Ok(millis(begun))
}

/// Has one of `n` containers of a peer killed, and waits until another one runs; gives the milliseconds.
pub(crate) fn replaced(
    peer: &dyn Peer,
    (docker, runtime): (&Docker, &Runtime),
    n: usize,
) -> io::Result<f64> {
    let label = peer.label();
    let all = runtime.block_on(labelled(docker, &label))?;
    let old = all.into_iter().find_map(|one| one.id).ok_or_else(|| io::Error::other("none"))?;
    let begun = Instant::now();
    let kill = bollard::query_parameters::KillContainerOptions { signal: "KILL".to_owned() };
    runtime.block_on(docker.kill_container(&old, Some(kill))).map_err(io::Error::other)?;
    runtime.block_on(until(docker, &label, |all| {
        let runs = |one: &&ContainerSummary| one.state == Some(State::RUNNING);
        let others = all.iter().filter(runs).filter(|one| one.id.as_deref() != Some(&old));
        others.count() == n
    }))?;
    Ok(millis(begun))
}

async fn labelled(docker: &Docker, label: &str) -> io::Result<Vec<ContainerSummary>> {
    let filters = [("label".to_owned(), vec![label.to_owned()])].into();
    let options = ListContainersOptions { all: true, filters: Some(filters), ..Default::default() };
    docker.list_containers(Some(options)).await.map_err(io::Error::other)
}

async fn until(
    docker: &Docker,
    label: &str,
    so: impl Fn(&[ContainerSummary]) -> bool,
) -> io::Result<()> {
    let begun = Instant::now();
    while begun.elapsed().as_secs() < PATIENCE {
        if so(&labelled(docker, label).await?) {
            return Ok(());
        }
        // A look is not free for who is measured.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    Err(io::Error::other(format!("the containers with {label} did not come to what was asked for")))
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{command:?}: {said}")))
}

/// `docker-compose up --scale`.
pub(crate) struct Compose {
    file: PathBuf,
    /// Its name, which its containers carry.
    project: String,
}

impl Compose {
    /// One in `home`; nothing, with its reason, where there is no Compose.
    pub(crate) fn new(home: &Path) -> io::Result<Option<Self>> {
        let found = Command::new("docker-compose").arg("version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            return Ok(None);
        }
        let file = home.join("compose.yaml");
        let text = format!(
            "version: \"3.7\"\nservices:\n  {SERVICE}:\n    image: {IMAGE}\n    command: [sleep, \"3600\"]\n    \
             init: true\n    network_mode: host\n    stop_grace_period: 2s\n"
        );
        fs::write(&file, text)?;
        let project = format!("lh{}", uuid::Uuid::new_v4().simple());
        Ok(Some(Self { file, project }))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("docker-compose");
        command.arg("-p").arg(&self.project).arg("-f").arg(&self.file);
        command.env("COMPOSE_PARALLEL_LIMIT", PARALLELISM.to_string());
        command
    }
}

impl Peer for Compose {
    fn name(&self) -> &'static str {
        "compose"
    }

    fn scale(&self, n: usize) -> io::Result<()> {
        let scale = format!("{SERVICE}={n}");
        run(self.command().args(["up", "-d", "--no-recreate", "--scale", &scale]))
    }

    fn down(&self) -> io::Result<()> {
        run(self.command().args(["down", "-t", "2"]))
    }

    fn label(&self) -> String {
        format!("com.docker.compose.project={}", self.project)
    }
}

/// `docker service create`, in a swarm of one machine that is made for it and left afterwards.
pub(crate) struct Swarm {
    name: String,
    /// True if the network that a swarm makes, and leaves behind, was there before.
    had_bridge: bool,
}

impl Swarm {
    /// One; nothing where there is no `docker` command, or the machine is of a swarm already.
    pub(crate) fn new() -> Option<Self> {
        let bridge = ["network", "inspect", BRIDGE];
        let had_bridge = run(Command::new("docker").args(bridge)).is_ok();
        let init = ["swarm", "init", "--advertise-addr", "127.0.0.1", "--listen-addr"];
        let made = run(Command::new("docker").args(init).arg("127.0.0.1:2377"));
        let name = format!("lh{}", uuid::Uuid::new_v4().simple());
        made.is_ok().then_some(Self { name, had_bridge })
    }

    fn exists(&self) -> bool {
        run(Command::new("docker").args(["service", "inspect", &self.name])).is_ok()
    }
}

impl Peer for Swarm {
    fn name(&self) -> &'static str {
        "swarm"
    }

    fn scale(&self, n: usize) -> io::Result<()> {
        if self.exists() {
            let scale = format!("{}={n}", self.name);
            return run(Command::new("docker").args(["service", "scale", "-d", &scale]));
        }
        let mut command = Command::new("docker");
        command.args(["service", "create", "-d", "--init", "--no-resolve-image"]);
        command.args(["--name", &self.name, "--replicas", &n.to_string()]);
        // A service cannot be without a network, so that all others have the machine's own as well.
        command.args(["--network", "host", "--stop-grace-period", "2s", "--restart-delay", "0s"]);
        run(command.args([IMAGE, "sleep", "3600"]))
    }

    fn down(&self) -> io::Result<()> {
        run(Command::new("docker").args(["service", "rm", &self.name]))
    }

    fn label(&self) -> String {
        format!("com.docker.swarm.service.name={}", self.name)
    }
}

impl Drop for Swarm {
    fn drop(&mut self) {
        // What is left of the service goes with the swarm.
        drop(run(Command::new("docker").args(["swarm", "leave", "--force"])));
        if !self.had_bridge {
            drop(run(Command::new("docker").args(["network", "rm", BRIDGE])));
        }
    }
}

impl Drop for Compose {
    fn drop(&mut self) {
        drop(self.down());
    }
}
