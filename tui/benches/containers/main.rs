//! What nodes on a Docker Engine cost beside the engine's own time (SK1): up and down for 10, 50 and 100, one killed
//! container replaced, and what the driver takes while 100 idle.
//!
//! The floor is the same number of containers of the same image, made, started, stopped and removed with as many
//! calls at once and nobody who reconciles, taken in turns with the figure. Medians of five. Run with
//! `cargo bench -p tui --bench containers`, behind `--` the sizes if not all three are wanted; without an engine it
//! says so and measures nothing.

#[path = "../../../executor/tests/it/docker/engine.rs"]
#[expect(
    dead_code,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "it is a part of tests: they use the rest of it, and fail by panics"
)]
mod engine;
mod floor;
#[path = "../processes/report.rs"]
mod report;
mod rig;

use std::{io, time::Instant};

use floor::Floor;
use report::{Report, median};
use rig::Rig;

/// How often each case is measured; its median counts.
const ROUNDS: usize = 5;
/// The largest size.
const MANY: usize = 100;
/// Our time over the engine's own, at most (SK1).
const SK1: f64 = 1.15;
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
    let cases = [
        (10, "10 containers from nothing to ready", "10 containers back to nothing"),
        (50, "50 containers from nothing to ready", "50 containers back to nothing"),
        (100, "100 containers from nothing to ready", "100 containers back to nothing"),
    ];
    let wanted: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let is_wanted = |n: &usize| wanted.is_empty() || wanted.contains(n);
    for (n, up, down) in cases.into_iter().filter(|(n, ..)| is_wanted(n)) {
        let [mut ups, mut downs, mut floor_ups, mut floor_downs] = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            let ids = floor.up(n, &mut floor_ups)?;
            floor.down(&ids, &mut floor_downs)?;
            ups.push(rig.scale(n)?);
            downs.push(rig.scale(0)?);
        }
        report.against(up, median(ups), median(floor_ups), SK1);
        report.against(down, median(downs), median(floor_downs), SK1);
    }
    if is_wanted(&MANY) {
        idle_and_lost(&mut report, &rig, &floor)?;
    }
    report.write(&mut io::stdout().lock(), &mut io::stderr().lock())
}

/// What the driver takes over many containers that idle, and how soon one that is killed is replaced.
fn idle_and_lost(report: &mut Report, rig: &Rig, floor: &Floor<'_>) -> io::Result<()> {
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
    report.against(
        "one of 100 killed, replaced and running",
        median(replaced),
        median(floor_one),
        None,
    );
    rig.scale(0).map(drop)
}

/// Milliseconds since `begun`.
fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1_000.0
}
