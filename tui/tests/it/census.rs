//! Who is alive: the processes of one run as `/proc` shows them, told by the run's UUID in their environment.

use std::{collections::BTreeMap, fs};

use rustix::process::{Pid, Signal, kill_process};

/// Leading processes by slot.
pub(crate) type Census = BTreeMap<String, Vec<i32>>;

struct Process {
    pid: i32,
    slot: String,
    leads: bool,
}

/// The processes of the run, one for each workload: those that lead their process group.
pub(crate) fn census(run: &str) -> Census {
    let mut census = Census::new();
    for process in processes(run).into_iter().filter(|process| process.leads) {
        census.entry(process.slot).or_default().push(process.pid);
    }
    census
}

/// Kills whatever of the run is alive, by its process ids.
pub(crate) fn kill_all(run: &str) {
    for process in processes(run) {
        // It may have ended since it was seen.
        if let Err(error) = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL) {
            eprintln!("{} is gone: {error}", process.pid);
        }
    }
}

fn processes(run: &str) -> Vec<Process> {
    let wanted = format!("LEVELHEAD_RUN={run}");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| process(pid, &wanted)).collect()
}

fn process(pid: i32, wanted: &str) -> Option<Process> {
    // A process may end while it is looked at, and a zombie has no environment left.
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let variables: Vec<&[u8]> = environ.split(|byte| *byte == 0).collect();
    let is_ours = variables.contains(&wanted.as_bytes());
    let verifies = variables.iter().any(|variable| variable.starts_with(b"LEVELHEAD_VERIFY="));
    if !is_ours || verifies {
        return None;
    }
    let slot = variables.iter().find_map(|variable| variable.strip_prefix(b"LEVELHEAD_SLOT="))?;
    let slot = String::from_utf8(slot.to_vec()).ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let (state, group) = (fields.next()?, fields.nth(1)?.parse::<i32>().ok()?);
    (state != "Z" && state != "X").then_some(Process { pid, slot, leads: group == pid })
}
