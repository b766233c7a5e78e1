//! What the system says of processes: memory, processor time, life, and the clock that stamps use.

use std::{fs, io, time::Duration};

use rustix::{
    process::{Pid, Signal, kill_process},
    time::{ClockId, clock_gettime},
};

/// Clock ticks per second of the processor times in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// Monotonic nanoseconds.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Milliseconds between two moments.
pub(crate) fn ms_between(from: u64, to: u64) -> f64 {
    Duration::from_nanos(to.saturating_sub(from)).as_secs_f64() * 1e3
}

/// The load of the machine.
pub(crate) fn load() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/loadavg")?.trim().to_owned())
}

/// The proportional memory of a process, in MiB.
pub(crate) fn pss_mib(pid: u32) -> io::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map(|kib| kib / 1_024.0).ok_or_else(|| io::Error::other("no Pss in smaps_rollup"))
}

/// The processor time that a process has used, in seconds.
pub(crate) fn cpu_seconds(pid: u32) -> io::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = text.rsplit(')').next().unwrap_or_default();
    let ticks: f64 =
        rest.split_ascii_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS_PER_SECOND)
}

/// True if the process runs; one that ended and was not reaped does not.
pub(crate) fn runs(pid: i32) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = text.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

/// Kills a process that this bench made.
pub(crate) fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // One that ended by itself is as dead.
        kill_process(pid, Signal::KILL).unwrap_or_default();
    }
}
