//! Whether a process is the one that was started, from what the kernel says of it.
//!
//! A process is known by its id, its start time and the boot that both belong to, never by its id alone: ids
//! come again. The attempt's UUID in its environment is asked as well, but only to contradict: programs may
//! overwrite their environment, and one that did is still the process that was started. Where nothing was
//! recorded (the driver died between spawn and record) that UUID is all there is, and `scan` looks for it.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read as _},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use reconciler_core::id::Uuid;
use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, getpid, pidfd_open},
};

use super::{files::Process, problem::Problem};

/// The variable that carries the attempt's UUID.
pub(super) const ATTEMPT_VAR: &str = "LEVELHEAD_ATTEMPT";
/// The variable that carries the place of the lease: attempts of two state directories may share their UUID.
pub(super) const LEASE_VAR: &str = "LEVELHEAD_LEASE";
/// Set for verify commands, hooks and probes, so that none is ever taken for a workload.
pub(super) const VERIFY_VAR: &str = "LEVELHEAD_VERIFY";
/// What that variable says in a probe.
pub(super) const PROBES: &str = "probe";
/// Which hook a hook is, for the program itself.
pub(super) const HOOK_VAR: &str = "LEVELHEAD_HOOK";

/// Bytes of a process' `stat`: some fifty numbers and a name.
const STAT_LEN: usize = 512;
/// Bytes of an environment that is not large.
const ENVIRON_LEN: usize = 4_096;

/// How long a scan waits in all for processes that are only forming.
const FORMING_MAX: Duration = Duration::from_secs(1);

/// What became of a process that was started.
#[derive(Debug)]
pub(super) enum Standing {
    /// It runs; the descriptor refers to it and nothing else, whatever its id is used for later.
    Running(OwnedFd),
    /// It ended and waits to be reaped.
    Zombie(OwnedFd),
    /// It is gone; its id is free or belongs to another.
    Gone,
}

/// The part of `/proc/PID/stat` that tells one process from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) dead: bool,
    pub(super) session: i32,
    pub(super) start: u64,
    /// It just executed its program and has no environment yet.
    forming: bool,
}

/// What a process of an attempt is there for; what it starts is there for the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Workload,
    /// A verify command or a hook.
    Errand,
    Probe,
}

/// A process whose environment carries an attempt's UUID.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carrier {
    pub(super) pid: Pid,
    pub(super) stat: Stat,
    pub(super) role: Role,
}

/// The id of this boot.
pub(super) fn boot_id() -> Result<&'static str, Problem> {
    static BOOT: OnceLock<String> = OnceLock::new();
    if let Some(boot) = BOOT.get() {
        return Ok(boot);
    }
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    let text = fs::read_to_string(path).map_err(Problem::io("read", path))?;
    Ok(BOOT.get_or_init(|| text.trim().to_owned()))
}

/// Finds out what became of `process`.
pub(super) fn standing(process: &Process, attempt: Uuid) -> Result<Standing, Problem> {
    let Some(pid) = Some(process.pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) else {
        return Ok(Standing::Gone);
    };
    if process.boot != boot_id()? {
        return Ok(Standing::Gone);
    }
    let Some(fd) = open(pid)? else { return Ok(Standing::Gone) };
    // Only what is read after the descriptor was opened is about the process that it refers to, and only if
    // the process is still there then: its id cannot pass on while the start time is the same.
    let Some(stat) = stat(pid)?.filter(|stat| stat.start == process.start) else {
        return Ok(Standing::Gone);
    };
    if stat.dead {
        return Ok(Standing::Zombie(fd));
    }
    let contradicted = environment(pid).is_some_and(|env| Marks::of(&env).contradicts(attempt));
    Ok(if contradicted { Standing::Gone } else { Standing::Running(fd) })
}

/// Opens a descriptor of a process; `None` if there is no such process.
pub(super) fn open(pid: Pid) -> Result<Option<OwnedFd>, Problem> {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        // A thread that leads no process is no process.
        Err(Errno::SRCH | Errno::INVAL) => Ok(None),
        Err(error) => Err(Problem::io("watch", proc_path(pid, ""))(error.into())),
    }
}

/// Reads what tells a process from others; `None` if there is no such process.
pub(super) fn stat(pid: Pid) -> Result<Option<Stat>, Problem> {
    let path = proc_path(pid, "stat");
    match read_whole(&path, STAT_LEN) {
        Ok(bytes) => parse_stat(&bytes).map(Some).ok_or_else(|| Problem::Garbled {
            path: path.into(),
            source: io::Error::from(io::ErrorKind::InvalidData),
        }),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(Problem::io("read", path)(error)),
    }
}

/// The id of every process that there is, zombies too.
pub(super) fn processes() -> Result<impl Iterator<Item = Result<Pid, Problem>>, Problem> {
    let root = Path::new("/proc");
    let entries = fs::read_dir(root).map_err(Problem::io("read", root))?;
    Ok(entries.filter_map(move |entry| match entry {
        Ok(entry) => entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw).map(Ok),
        Err(error) => Some(Err(Problem::io("read", root)(error))),
    }))
}

/// Finds every live process whose environment carries `attempt` and no other place than `lease`. Reads all of
/// `/proc`: only for gaps.
pub(super) fn scan(lease: &[u8], attempt: Uuid) -> Result<Vec<Carrier>, Problem> {
    let all = processes()?.collect::<Result<Vec<_>, _>>()?;
    carriers(&all, lease, attempt)
}

/// Those of `pids` that live and whose environment carries `attempt` and no other place than `lease`.
pub(super) fn carriers(pids: &[Pid], lease: &[u8], attempt: Uuid) -> Result<Vec<Carrier>, Problem> {
    marked(pids, |marks| marks.carries(attempt) && marks.lease.is_none_or(|place| place == lease))
}

/// Finds every live probe of the leases in `place`. Reads all of `/proc`.
pub(super) fn probes_in(place: &Path) -> Result<Vec<Carrier>, Problem> {
    let all = processes()?.collect::<Result<Vec<_>, _>>()?;
    let within = |lease: &[u8]| Path::new(OsStr::from_bytes(lease)).parent() == Some(place);
    marked(&all, |marks| marks.role == Role::Probe && marks.lease.is_some_and(within))
}

fn marked(pids: &[Pid], wanted: impl Fn(&Marks<'_>) -> bool) -> Result<Vec<Carrier>, Problem> {
    let patience = Instant::now() + FORMING_MAX;
    let mut found = Vec::new();
    // A driver that runs within a node carries that node's identity and is none of its workload.
    for pid in pids.iter().copied().filter(|pid| *pid != getpid()) {
        let Some(env) = formed_environment(pid, patience)? else { continue };
        let marks = Marks::of(&env);
        if !wanted(&marks) {
            continue;
        }
        if let Some(stat) = stat(pid)?.filter(|stat| !stat.dead) {
            found.push(Carrier { pid, stat, role: marks.role });
        }
    }
    Ok(found)
}

/// The environment of a process, once it has one: between the execution of its program and the moment in which
/// the kernel lays its environment out, a process on a busy machine may stand for long.
fn formed_environment(pid: Pid, patience: Instant) -> Result<Option<Vec<u8>>, Problem> {
    loop {
        let env = environment(pid);
        if env.as_ref().is_none_or(|env| !env.is_empty()) {
            return Ok(env);
        }
        if !stat(pid)?.is_some_and(|stat| stat.forming) {
            // It may have formed between the two looks.
            return Ok(environment(pid));
        }
        if Instant::now() >= patience {
            return Ok(env);
        }
        thread::yield_now();
    }
}

/// A process of another user keeps its environment to itself, and so is not one of ours.
fn environment(pid: Pid) -> Option<Vec<u8>> {
    read_whole(&proc_path(pid, "environ"), ENVIRON_LEN).ok()
}

/// Reads a file of `/proc`, whose length nobody knows beforehand; `usual` is as much as it mostly holds, so that one
/// read takes it and one finds its end.
fn read_whole(path: &str, usual: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usual];
    let mut file = fs::File::open(path)?;
    let mut filled = 0;
    loop {
        match file.read(bytes.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => filled = filled.saturating_add(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if filled == bytes.len() {
            bytes.resize(bytes.len().saturating_mul(2), 0);
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// What the environment of a process says of it.
#[derive(Default)]
struct Marks<'a> {
    /// Mostly one: a program may set a variable twice.
    attempts: Vec<&'a [u8]>,
    role: Role,
    lease: Option<&'a [u8]>,
}

impl<'a> Marks<'a> {
    fn of(env: &'a [u8]) -> Self {
        let mut marks = Self::default();
        for entry in env.split(|byte| *byte == 0) {
            let mut halves = entry.splitn(2, |byte| *byte == b'=');
            let (Some(name), Some(value)) = (halves.next(), halves.next()) else { continue };
            if name == ATTEMPT_VAR.as_bytes() {
                marks.attempts.push(value);
            } else if name == VERIFY_VAR.as_bytes() {
                let probes = value == PROBES.as_bytes();
                marks.role = if probes { Role::Probe } else { Role::Errand };
            } else if name == LEASE_VAR.as_bytes() {
                marks.lease = Some(value);
            }
        }
        marks
    }

    fn carries(&self, attempt: Uuid) -> bool {
        let attempt = attempt.to_string();
        self.attempts.contains(&attempt.as_bytes())
    }

    fn contradicts(&self, attempt: Uuid) -> bool {
        let attempt = attempt.to_string();
        self.attempts.iter().any(|known| *known != attempt.as_bytes())
    }
}

fn proc_path(pid: Pid, file: &str) -> String {
    format!("/proc/{}/{file}", pid.as_raw_nonzero())
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// The name of a process stands in parentheses and may hold anything, also parentheses: the last one ends it.
fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(bytes.get(end.checked_add(1)?..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let session = fields.nth(2)?.parse().ok()?;
    let start = fields.nth(15)?.parse().ok()?;
    // No memory: a kernel thread. Memory, and an environment that ends nowhere: not laid out yet.
    let memory: u64 = fields.next()?.parse().ok()?;
    let forming = memory > 0 && fields.nth(27) == Some("0");
    Some(Stat { dead: matches!(state, "Z" | "X" | "x"), session, start, forming })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_process_name_does_not_shift_the_fields() {
        let line = b"7 (a) Z 9 (b)) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1\n";
        assert_eq!(
            parse_stat(line),
            Some(Stat { dead: false, session: 7, start: 4242, forming: false })
        );
    }

    #[test]
    fn our_own_process_is_found_by_its_own_start_time() {
        let me = rustix::process::getpid();
        let first = stat(me).unwrap().unwrap();
        assert_eq!(stat(me).unwrap().unwrap(), first);
        assert!(first.start > 0 && !first.dead && !first.forming);
    }
}
