//! The cases: an empty fleet, a hundred nodes from a cold start, and the life of a thousand.

use std::{io, path::Path, thread, time::Duration};

use crate::{
    floor,
    proc::{self, cpu_seconds, ms_between, pss_mib},
    report::{Report, median},
    rig::{Rig, Settle},
    stub::{Stub, wait_until},
};

const MANY: usize = 1_000;
const SOME: usize = 100;
const COLD_ROUNDS: usize = 5;
const KILL_ROUNDS: usize = 9;
/// The system counts processor time in ticks of 10 ms: one of them is 0.02 % of a core here.
const IDLE: Duration = Duration::from_secs(50);
/// By when every node has proven itself.
const PROVEN: Duration = Duration::from_secs(15);
/// After this long everything that a start left behind has come to rest, and every node has a healthy history.
const REST: Duration = Duration::from_millis(2_500);

/// SM3: a driver with nothing to do.
pub(crate) fn empty(report: &mut Report, home: &Path, stub: &Stub) -> io::Result<()> {
    let mut rig = Rig::new(home, "empty", stub, 0, Settle::None)?;
    rig.drive()?;
    rig.wait_up(0)?;
    thread::sleep(REST);
    report.plain("SM3 memory with an empty fleet, PSS", pss_mib(rig.driver_pid()?)?, "MiB", 15.0);
    Ok(())
}

/// SP2: `levelhead up` with a hundred nodes, the whole process.
pub(crate) fn hundred(report: &mut Report, home: &Path, stub: &Stub) -> io::Result<()> {
    let (mut started, mut ended, mut floors) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..COLD_ROUNDS {
        floors.push(floor::spawns(stub, home, SOME)?);
        let rig = Rig::new(home, &format!("cold{round}"), stub, SOME, Settle::None)?;
        let begun = proc::now();
        let status = rig.command(&["up", "--yes", "cluster.toml"])?.status()?;
        ended.push(ms_between(begun, proc::now()));
        let stamps = rig.stamps.read(0)?;
        if !status.success() || stamps.len() != SOME {
            return Err(io::Error::other(format!("up: {status}, {} started", stamps.len())));
        }
        let last = stamps.iter().map(|stamp| stamp.at).max().unwrap_or(begun);
        started.push(ms_between(begun, last));
    }
    let floor = median(floors);
    report.against("SP2 100 up, cold start to the last start", median(started), floor, None);
    report.against("    the same to the end of the command", median(ended), floor, None);
    Ok(())
}

/// SP1, SP3, SP4, SP6 to SP8 and SP10 on one fleet of a thousand.
pub(crate) fn thousand(report: &mut Report, home: &Path, stub: &Stub) -> io::Result<()> {
    let spawns = floor::spawns(stub, home, MANY)?;
    let mut rig = Rig::new(home, "many", stub, MANY, Settle::None)?;
    let (up, ready) = bring_up(&mut rig)?;
    let spawns = spawns.midpoint(floor::spawns(stub, home, MANY)?);
    report.against("SP1 1000 up, last start", up, spawns, 2.5);
    report.against("    the same until all are ready and journaled", ready, spawns, None);
    thread::sleep(REST);
    idle(report, &rig)?;
    restart(report, &rig)?;
    mass(report, &rig, home, stub)?;
    takeover(report, &mut rig)?;
    let taken = down(&rig)?;
    drop(rig);
    let mut rig = Rig::new(home, "settled", stub, MANY, Settle::Default)?;
    let (_, ready) = bring_up(&mut rig)?;
    report.plain("SP8 1000 stopped and their leases given back", down(&rig)?, "ms", 2_000.0);
    report.plain("    the same where another driver had started them", taken, "ms", None);
    report.against("    1000 ready at the default settle time", ready, spawns, None);
    Ok(())
}

/// Milliseconds from the start of a driver to the last start of a node, and until all are ready.
fn bring_up(rig: &mut Rig) -> io::Result<(f64, f64)> {
    let begun = rig.drive()?;
    rig.stamps.wait_for(MANY)?;
    let last = rig.stamps.read(0)?.iter().map(|stamp| stamp.at).max().unwrap_or(begun);
    rig.wait_up(MANY)?;
    Ok((ms_between(begun, last), ms_between(begun, proc::now())))
}

/// SP6 and SP7. That a node has proven itself is written ten seconds after it is ready, and is work of its start.
fn idle(report: &mut Report, rig: &Rig) -> io::Result<()> {
    let pid = rig.driver_pid()?;
    thread::sleep(PROVEN);
    report.plain("SP6 own memory with 1000 nodes, PSS", pss_mib(pid)?, "MiB", 25.0);
    let before = cpu_seconds(pid)?;
    thread::sleep(IDLE);
    let share = (cpu_seconds(pid)? - before) / IDLE.as_secs_f64() * 100.0;
    report.plain("SP7 idle with 1000 nodes, of a core", share, "%", 0.1);
    Ok(())
}

/// SP3: one node with a healthy history is killed.
fn restart(report: &mut Report, rig: &Rig) -> io::Result<()> {
    let before = floor::restart()?;
    let mut all = Vec::with_capacity(KILL_ROUNDS);
    for round in 0..KILL_ROUNDS {
        let alive = rig.alive()?;
        // Never one that was just replaced: those stand at the end and have no history yet.
        let victims = alive.get(round * alive.len() / 2 / KILL_ROUNDS..).unwrap_or_default();
        all.push(kill_and_wait(rig, victims.get(..1).unwrap_or_default())?);
        rig.wait_up(MANY)?;
    }
    let floor = before.midpoint(floor::restart()?);
    report.against("SP3 one killed to its replacement's start", median(all), floor, 20.0);
    Ok(())
}

/// SP4: a tenth is killed at once.
fn mass(report: &mut Report, rig: &Rig, home: &Path, stub: &Stub) -> io::Result<()> {
    let before = floor::spawns(stub, home, SOME)?;
    let mut all = Vec::new();
    for round in 0..3 {
        let alive = rig.alive()?;
        let victims: Vec<i32> = alive.iter().skip(round).step_by(8).take(SOME).copied().collect();
        all.push(kill_and_wait(rig, &victims)?);
        rig.wait_up(MANY)?;
        thread::sleep(REST);
    }
    let floor = before.midpoint(floor::spawns(stub, home, SOME)?);
    report.against("SP4 100 of 1000 killed to the last replacement", median(all), floor, 3.0);
    Ok(())
}

/// Milliseconds from the first kill to the start of the last replacement.
fn kill_and_wait(rig: &Rig, victims: &[i32]) -> io::Result<f64> {
    let had = rig.stamps.count()?;
    let begun = proc::now();
    victims.iter().copied().for_each(proc::kill);
    rig.stamps.wait_for(had + victims.len())?;
    let last = rig.stamps.read(had)?.iter().map(|stamp| stamp.at).max().unwrap_or(begun);
    Ok(ms_between(begun, last))
}

/// SP10: the driver is killed and another one takes over what runs.
fn takeover(report: &mut Report, rig: &mut Rig) -> io::Result<()> {
    let had = rig.stamps.count()?;
    rig.kill_driver()?;
    let left = rig.alive()?.len();
    let begun = rig.drive()?;
    let view = rig.wait_up(MANY)?;
    let taken = ms_between(begun, proc::now());
    thread::sleep(REST);
    let (again, alive) = (rig.stamps.count()? - had, rig.alive()?.len());
    report.plain("SP10 killed driver, restart until all are adopted", taken, "ms", 1_000.0);
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    report.plain("    started a second time", count(again), "", 0.0);
    report.plain("    orphans", count(view.orphans.len() + alive.abs_diff(left)), "", 0.0);
    Ok(())
}

/// SP8: milliseconds in which the fleet is stopped through the driver.
fn down(rig: &Rig) -> io::Result<f64> {
    let begun = proc::now();
    let status = rig.command(&["down", "--yes", "cluster.toml"])?.status()?;
    let taken = ms_between(begun, proc::now());
    if !status.success() {
        return Err(io::Error::other(format!("down: {status}")));
    }
    wait_until("the nodes to be gone", || Ok(rig.alive()?.is_empty()))?;
    Ok(taken)
}
