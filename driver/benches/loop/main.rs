//! What the loop around the decider costs: latency, idleness, restart, and the longest time without a turn.
//!
//! ST1, ST2, ST3, SC4, SD6 and SU1 run on a store in memory and a provider that answers at once, so that only the loop is
//! measured; SD8 opens a journal on disk. A line of JSON per figure goes to standard output, the table to standard
//! error. Run with `cargo bench -p driver --bench loop`.
#![expect(
    clippy::disallowed_methods,
    reason = "the bench itself starts the task of its driver, and ends it"
)]

mod ground;
mod provider;
mod rig;
mod watch;

use std::{
    io::{self, Write as _},
    time::{Duration, Instant},
};

use rig::Rig;
use rustix::time::{ClockId, clock_gettime};

const NODES: u32 = 10_000;
const EXITS: u32 = 1_000;
const RETRIES: u32 = 100;
const RESTARTS: usize = 5;
const IDLE: Duration = Duration::from_secs(6);

fn main() -> io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let begun = Instant::now();
    let rig = runtime.block_on(Rig::up(NODES))?;
    let up = begun.elapsed();
    tell(
        "SR4 10000 nodes up without disk or provider, per node",
        us(up) / f64::from(NODES),
        "us",
        None,
    )?;
    #[expect(clippy::cast_precision_loss, reason = "far fewer steps than a float counts exactly")]
    let steps = rig.steps() as f64;
    tell("SD6 the same, per step of it", us(up) / steps, "us", Some(5.7))?;
    runtime.block_on(idle(&rig))?;
    let mut waits: Vec<f64> = Vec::with_capacity(EXITS as usize);
    for n in 0..EXITS {
        waits.push(us(runtime.block_on(rig.exit_to_command(n * 7 % NODES))?));
    }
    waits.sort_by(f64::total_cmp);
    let at = |share: usize| waits.get(waits.len() * share / 100).copied().unwrap_or_default();
    tell("ST2 exit seen to command at the executor, median", at(50), "us", None)?;
    tell("ST2 the same, p99", at(99), "us", Some(1_000.0))?;
    let stall = runtime.block_on(rig.stall())? / 1e3;
    tell(
        "ST3 longest time without a turn, all of 10000 nodes end at once",
        stall,
        "ms",
        Some(50.0),
    )?;
    runtime.block_on(late(&rig))?;
    watch::consoles(&runtime, &rig)?;
    let records = rig.records();
    drop(rig);
    drop(runtime);
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut all = Vec::with_capacity(RESTARTS);
    for _ in 0..RESTARTS {
        all.push(us(rig::restart(home.path(), &records, NODES)?) / 1e3);
    }
    all.sort_by(f64::total_cmp);
    let middle = all.get(RESTARTS / 2).copied().unwrap_or_default();
    tell("SD8 restart to the first command, 10000 records", middle, "ms", Some(200.0))
}

/// ST1: how much later than due a retry comes, beside how late timers of the same runtime are.
async fn late(rig: &Rig) -> io::Result<()> {
    let mut timers = Vec::new();
    for n in 0..RETRIES {
        let due = tokio::time::Instant::now() + Duration::from_millis(800 + u64::from(n));
        timers.push(tokio::spawn(async move {
            tokio::time::sleep_until(due).await;
            us(due.elapsed())
        }));
    }
    let mut floor = Vec::new();
    for timer in timers {
        floor.push(timer.await.map_err(io::Error::other)? / 1e3);
    }
    let mut late: Vec<f64> =
        rig.late_retries(RETRIES).await?.into_iter().map(|micros| micros / 1e3).collect();
    let p99 = |all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all.get(all.len() * 99 / 100).copied().unwrap_or_default()
    };
    let (floor, late) = (p99(&mut floor), p99(&mut late));
    tell("ST1 floor: lateness of a timer, p99", floor, "ms", None)?;
    tell("ST1 lateness of a due retry, p99", late, "ms", Some(floor + 5.0))
}

/// SC4: nothing is due, and so nothing happens.
async fn idle(rig: &Rig) -> io::Result<()> {
    // What the start left behind, such as audits of what changed, is over before the measurement begins.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (passes, spent) = (rig.passes(), processor_time());
    tokio::time::sleep(IDLE).await;
    let share = processor_time().saturating_sub(spent).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    #[expect(clippy::cast_precision_loss, reason = "a handful of passes at most")]
    let more = (rig.passes() - passes) as f64;
    tell("SC4 passes with nothing due, 10000 nodes", more, "", Some(0.0))?;
    tell("SC4 processor time of that, of a core", share, "%", Some(0.1))
}

fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let nanos = u32::try_from(spent.tv_nsec).unwrap_or_default();
    Duration::new(spent.tv_sec.cast_unsigned(), nanos)
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// One figure, as a row and as JSON.
fn tell(case: &str, value: f64, unit: &str, must: Option<f64>) -> io::Result<()> {
    let (gate, mark) = match must {
        Some(must) if value > must => (format!("<= {must}"), "MISSED"),
        Some(must) => (format!("<= {must}"), "ok"),
        None => (String::new(), ""),
    };
    let figure = format!("{value:.3} {unit}");
    writeln!(io::stderr().lock(), "{case:<56}{figure:>16}{gate:>10}  {mark}")?;
    let must = must.map_or("null".to_owned(), |must| must.to_string());
    writeln!(
        io::stdout().lock(),
        "{{\"case\":\"{case}\",\"unit\":\"{unit}\",\"value\":{value:.3},\"must\":{must}}}"
    )
}
