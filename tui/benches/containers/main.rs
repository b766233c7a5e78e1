//! What nodes on a Docker Engine cost beside the engine's own time (SK1) and beside what else brings containers about
//! (SK2): up and down for 10, 50 and 100, a tenth more, one killed container replaced, and what the driver takes while
//! 100 idle.
//!
//! The floor is the same number of containers of the same image, made, started, stopped and removed with as many
//! calls at once and nobody who reconciles. Each floor, each peer and the figure are taken in turns. Medians of five.
//! Run with `cargo bench -p tui --bench containers`. Behind `--` stand the sizes if not all three are wanted, and the
//! peers, `compose` and `swarm`, if not both are. Without an engine it says so and measures nothing; a peer that is not
//! there is left out, and that is said.

#[path = "../../../executor/tests/it/docker/engine.rs"]
#[expect(
    dead_code,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "it is a part of tests: they use the rest of it, and fail by panics"
)]
mod engine;
mod floor;
mod peers;
#[path = "../processes/report.rs"]
mod report;
mod rig;

use std::{io, path::Path, time::Instant};

use floor::Floor;
use peers::{Compose, Peer, Swarm};
use report::{Report, median};
use rig::Rig;

/// How often each case is measured; its median counts.
const ROUNDS: usize = 5;
/// The largest size.
const MANY: usize = 100;
/// Our time over the engine's own, at most (SK1).
const SK1: f64 = 1.15;
/// Our time over that of a peer, at most, and over swarm mode's for many at once (SK2).
const SK2: (f64, f64) = (1.0, 0.5);
/// Most share of a core, in percent, and most memory, in MiB, while 100 containers idle.
const IDLE: (f64, f64) = (0.2, 30.0);

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let Some(docker) = runtime.block_on(engine::engine("the bench of containers")) else {
        return Ok(());
    };
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let floor = Floor { docker: &docker, runtime: &runtime };
    let mut rig = Rig::new(home.path())?;
    let mut report = Report::default();
    rig.drive()?;
    let version = runtime.block_on(docker.version()).map_err(io::Error::other)?.version;
    let (engine, at_once) = (version.unwrap_or_default(), rig::PARALLELISM);
    report.note(format!("Docker Engine {engine}; {at_once} calls at once on both sides"));
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Vec<usize> = wanted.iter().filter_map(|word| word.parse().ok()).collect();
    let is_wanted = |n: &usize| sizes.is_empty() || sizes.contains(n);
    let peers = peers(&wanted, home.path(), &mut report)?;
    for names in CASES.iter().filter(|names| is_wanted(&names.n)) {
        let mut times = Times::of(&peers);
        for _ in 0..ROUNDS {
            times.round(names.n, &rig, &floor, &peers)?;
        }
        times.tell(names, &mut report);
    }
    if is_wanted(&MANY) {
        idle_and_lost(&mut report, &rig, &floor, &peers)?;
    }
    report.write(&mut io::stdout().lock(), &mut io::stderr().lock())
}

/// How the figures of one size are called.
struct Names {
    n: usize,
    up: &'static str,
    more: &'static str,
    down: &'static str,
}

const CASES: [Names; 3] = [
    Names {
        n: 10,
        up: "10 containers from nothing to ready",
        more: "1 more than 10",
        down: "10 containers back to nothing",
    },
    Names {
        n: 50,
        up: "50 containers from nothing to ready",
        more: "5 more than 50",
        down: "50 containers back to nothing",
    },
    Names {
        n: 100,
        up: "100 containers from nothing to ready",
        more: "10 more than 100",
        down: "100 containers back to nothing",
    },
];

/// The peers that are wanted and are there.
fn peers(wanted: &[String], home: &Path, report: &mut Report) -> io::Result<Vec<Box<dyn Peer>>> {
    let all = !wanted.iter().any(|word| ["none", "compose", "swarm"].contains(&word.as_str()));
    let is_wanted = |name: &str| all || wanted.iter().any(|word| word == name);
    let mut peers: Vec<Box<dyn Peer>> = Vec::new();
    if is_wanted("compose") {
        match Compose::new(home)? {
            Some(compose) => peers.push(Box::new(compose)),
            None => report.note("Compose is left out: there is no `docker-compose`".to_owned()),
        }
    }
    if is_wanted("swarm") {
        match Swarm::new() {
            Some(swarm) => peers.push(Box::new(swarm)),
            None => report.note("swarm mode is left out: no swarm could be made".to_owned()),
        }
    }
    Ok(peers)
}

/// Times of going up, of a tenth more, and of going down.
type Three = [Vec<f64>; 3];

/// All times of one size.
struct Times {
    ours: Three,
    floor: Three,
    peers: Vec<(&'static str, Three)>,
}

impl Times {
    fn of(peers: &[Box<dyn Peer>]) -> Self {
        let none = || [const { Vec::new() }; 3];
        let peers = peers.iter().map(|peer| (peer.name(), none())).collect();
        Self { ours: none(), floor: none(), peers }
    }

    fn round(
        &mut self,
        n: usize,
        rig: &Rig,
        floor: &Floor<'_>,
        peers: &[Box<dyn Peer>],
    ) -> io::Result<()> {
        let more = (n / 10).max(1);
        let [up, tenth, down] = &mut self.floor;
        let ids = floor.up(n, up)?;
        let beside = floor.up(more, tenth)?;
        floor.down(&beside, &mut Vec::new())?;
        floor.down(&ids, down)?;
        let [up, tenth, down] = &mut self.ours;
        up.push(rig.scale(n)?);
        tenth.push(rig.scale(n + more)?);
        rig.scale(n)?;
        down.push(rig.scale(0)?);
        let engine = (floor.docker, floor.runtime);
        for (peer, (_, times)) in peers.iter().zip(&mut self.peers) {
            let [up, tenth, down] = times;
            up.push(peers::timed(&**peer, engine, n)?);
            tenth.push(peers::timed(&**peer, engine, n + more)?);
            down.push(peers::timed(&**peer, engine, 0)?);
        }
        Ok(())
    }

    fn tell(self, names: &Names, report: &mut Report) {
        let cases = [names.up, names.more, names.down];
        let ours = self.ours.map(median);
        for ((case, ours), floor) in cases.iter().zip(&ours).zip(self.floor) {
            report.against(case, *ours, median(floor), SK1);
        }
        for (name, times) in self.peers {
            for ((case, ours), peer) in cases.iter().zip(&ours).zip(times) {
                let many = name == "swarm" && *case == names.up && names.n == MANY;
                let must = if many { SK2.1 } else { SK2.0 };
                report.against(&format!("{case}; {name}"), *ours, median(peer), must);
            }
        }
    }
}

/// The case of one that is lost.
const LOST: &str = "one of 100 killed, replaced and running";

/// What the driver takes over many containers that idle, and how soon one that is killed is replaced.
fn idle_and_lost(
    report: &mut Report,
    rig: &Rig,
    floor: &Floor<'_>,
    peers: &[Box<dyn Peer>],
) -> io::Result<()> {
    let Floor { docker, runtime } = floor;
    rig.scale(MANY)?;
    let (share, memory) = rig.idle()?;
    report.plain("driver over 100 idle containers, processor", share, "%", IDLE.0);
    report.plain("driver over 100 idle containers, memory", memory, "MiB", IDLE.1);
    let [mut replaced, mut floor_one] = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        let ids = floor.up(1, &mut floor_one)?;
        floor.down(&ids, &mut Vec::new())?;
        let begun = Instant::now();
        let old = runtime.block_on(floor::kill_one(docker, &rig.run))?;
        runtime.block_on(floor::until_replaced(docker, &rig.run, &old, MANY))?;
        replaced.push(millis(begun));
    }
    let ours = median(replaced);
    report.against(LOST, ours, median(floor_one), None);
    rig.scale(0)?;
    // Compose replaces nobody.
    for peer in peers.iter().filter(|peer| peer.name() == "swarm") {
        let engine = (*docker, *runtime);
        peers::timed(&**peer, engine, MANY)?;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            times.push(peers::replaced(&**peer, engine, MANY)?);
        }
        peers::timed(&**peer, engine, 0)?;
        report.against(&format!("{LOST}; {}", peer.name()), ours, median(times), SK2.0);
    }
    Ok(())
}

/// Milliseconds since `begun`.
fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1_000.0
}
