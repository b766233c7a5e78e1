//! What the machine can do at all: plain spawns of the same program, and one durable append.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{
    report::median,
    stub::{Stamps, Stub},
};

/// The file that the nodes of the floors stamp.
const STAMPS: &str = "floor-stamps";
const SYNCS: usize = 60;
const RESTARTS: usize = 40;
/// How long a sleeper sleeps before it is killed.
const REST: Duration = Duration::from_millis(3);

fn plain(stub: &Stub, dir: &Path) -> Command {
    let mut command = Command::new(&stub.program);
    command.env_clear().env("STAMPS", dir.join(STAMPS));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn end(children: Vec<Child>) -> io::Result<()> {
    for mut child in children {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

/// Milliseconds for `n` spawns in a row, all left running, until the last spawn returned.
pub(crate) fn spawns(stub: &Stub, dir: &Path, n: usize) -> io::Result<f64> {
    let stamps = Stamps(dir.join(STAMPS));
    let had = stamps.count()?;
    let begun = Instant::now();
    let children: Vec<Child> =
        (0..n).map(|_| plain(stub, dir).spawn()).collect::<io::Result<_>>()?;
    let taken = begun.elapsed().as_secs_f64() * 1e3;
    // None is ended before it came up: the next case would pay for it.
    stamps.wait_for(had + n)?;
    end(children)?;
    Ok(taken)
}

/// Milliseconds from the kill of a sleeping program over the notice of its end and its reaping to the return of the
/// spawn of another; the median. The least that any supervisor can take, as SP3 defines it: the
/// figure beside it ends later, when the new program has stamped its start.
pub(crate) fn restart() -> io::Result<f64> {
    let sleeper = || {
        let mut command = Command::new("/bin/sleep");
        command.arg("1000");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    };
    let mut all = Vec::with_capacity(RESTARTS);
    for _ in 0..RESTARTS {
        let mut child = sleeper()?;
        let fd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        thread::sleep(REST);
        let begun = Instant::now();
        child.kill()?;
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], None)?;
        child.wait()?;
        let next = sleeper()?;
        all.push(begun.elapsed().as_secs_f64() * 1e3);
        end(vec![next])?;
    }
    Ok(median(all))
}

/// Milliseconds of each of some appends that are synced one by one.
pub(crate) fn syncs(dir: &Path) -> io::Result<Vec<f64>> {
    let mut file = File::create(dir.join("floor-sync"))?;
    let mut once = || {
        let begun = Instant::now();
        file.write_all(&[0x5a; 256])?;
        file.sync_data()?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    (0..SYNCS).map(|_| once()).collect()
}

/// Those times as text.
pub(crate) fn sync_text(dir: &Path) -> io::Result<String> {
    let mut all = syncs(dir)?;
    all.sort_by(f64::total_cmp);
    let at = |place: usize| all.get(place).copied().unwrap_or_default();
    Ok(format!("{:.2} / {:.2} / {:.2} ms min/median/max", at(0), at(SYNCS / 2), at(SYNCS - 1)))
}

/// What kind of file system the state is on.
pub(crate) fn medium(dir: &Path) -> io::Result<&'static str> {
    const TMPFS: u64 = 0x0102_1994;
    let kind = rustix::fs::statfs(dir)?.f_type;
    Ok(if u64::try_from(kind).is_ok_and(|kind| kind == TMPFS) {
        "in memory: durable figures mean nothing"
    } else {
        "on a disk"
    })
}
