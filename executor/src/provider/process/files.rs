//! What stands on disk for one lease, and how it is read and written.
//!
//! A lease is the directory `<slot>.<attempt ordinal>` in the provider's own:
//!
//! | File | Says |
//! |---|---|
//! | `owner.json` | whose lease it is; never changes, and a lease never stands without it |
//! | `starting` | a start is under way, or was when the driver died |
//! | `process.json` | which process was started, and in a second line how it ended, if the driver saw it |
//! | `hook.json` | which hook was begun last, and how it ended, if the driver saw it |
//! | `stdout.log`, `stderr.log`, `verify.log`, `hook-….log` | output; see `logs` |
//!
//! A workload that names no directory starts in that of its lease: one directory less to make for each node.
//!
//! Every file appears by a rename, so that it is whole or absent; a second line counts once its end is there: an end
//! is noted while its replacement is under way, and a line costs that less than a file. Nothing is synced to the disk: what survives
//! the death of a driver is the page cache, which needs no sync, and after a power loss the processes are gone
//! as well, and the journal, which is synced, holds every intent; a look then finds a lease with a process of
//! another boot, or no lease, and both are the truth.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStringExt,
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use reconciler_core::{
    desired::HookPoint,
    effect::{ExitStatus, HandleFacts},
    id::{AttemptOrdinal, Fence, IdempotencyKey, LogicalNodeId, SessionId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::problem::Problem;

/// The files that a node writes itself.
pub(super) const STREAMS: [&str; 2] = ["stdout.log", "stderr.log"];

/// Which process was started, and how it ended.
const PROCESS: &str = "process.json";

/// The form of these files; another one is refused, never guessed at.
const FORM: u32 = 1;
/// No file of ours is nearly as long; a longer one is not ours.
const FILE_LEN_MAX: u64 = 64 * 1024;
/// Every node of this provider is on this machine.
const HOST: &str = "127.0.0.1";

/// Whose lease a directory is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) form: u32,
    pub(super) run: Uuid,
    pub(super) slot: LogicalNodeId,
    pub(super) attempt: Uuid,
    pub(super) ordinal: AttemptOrdinal,
    pub(super) fence: Fence,
    pub(super) request: IdempotencyKey,
    pub(super) ports: BTreeMap<String, u16>,
}

/// What tells one process from every other, past and future.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// Clock ticks between boot and the start of the process.
    pub(super) start: u64,
    pub(super) boot: String,
}

/// Which process was started on a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
    pub(super) process: Process,
    pub(super) at: Timestamp,
    pub(super) session: SessionId,
    pub(super) fence: Fence,
    pub(super) key: IdempotencyKey,
    /// True if it is an agent, whose workload leads a group of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) agent: bool,
}

/// How that process ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Whose end it was; a status must never be taken for that of another process.
    pub(super) process: Process,
}

/// The hook that was begun last on a lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Begun {
    pub(super) key: IdempotencyKey,
    pub(super) point: HookPoint,
    /// Which process it is; none until that was recorded.
    pub(super) process: Option<Process>,
    /// How it ended, if that was seen.
    pub(super) status: Option<ExitStatus>,
}

impl Owner {
    /// The form of the files that this version writes.
    pub(super) const FORM: u32 = FORM;

    pub(super) fn lease(&self) -> LeaseFacts {
        let facts = BTreeMap::from([("attempt".to_owned(), self.attempt.to_string())]);
        LeaseFacts {
            id: LeaseId::new(&lease_name(&self.slot, self.ordinal)),
            fence: self.fence,
            handle: Handle::new(facts),
        }
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint { host: HOST.into(), ports: self.ports.clone().into() }
    }
}

impl Started {
    /// What the rest of the system keeps of this workload.
    pub(super) fn handle(&self) -> Handle {
        let mut facts = self.process.facts();
        facts.insert("session".to_owned(), self.session.to_string());
        Handle::new(facts)
    }
}

impl Process {
    fn facts(&self) -> HandleFacts {
        BTreeMap::from([
            ("pid".to_owned(), self.pid.to_string()),
            ("start".to_owned(), self.start.to_string()),
            ("boot".to_owned(), self.boot.clone()),
        ])
    }

    /// What the rest of the system keeps of a workload whose session was not recorded.
    pub(super) fn handle(&self) -> Handle {
        Handle::new(self.facts())
    }

    /// Reads a handle of this provider back.
    pub(super) fn from_handle(handle: &Handle) -> Option<Self> {
        let pid = handle.get("pid")?.parse().ok()?;
        let start = handle.get("start")?.parse().ok()?;
        Some(Self { pid, start, boot: handle.get("boot")?.to_owned() })
    }
}

/// The name of the file that one hook writes into.
pub(super) fn hook_log_name(point: HookPoint) -> String {
    format!("hook-{}.log", point.as_str())
}

/// The name of a lease's directory, which is its id too.
pub(super) fn lease_name(slot: &LogicalNodeId, ordinal: AttemptOrdinal) -> String {
    format!("{slot}.{ordinal}")
}

/// Reads a lease's name; `None` if it is none, so that no text can lead out of the provider's directory.
pub(super) fn parse_lease_name(name: &str) -> Option<(LogicalNodeId, AttemptOrdinal)> {
    let (slot, ordinal) = name.rsplit_once('.')?;
    let slot: LogicalNodeId = slot.parse().ok()?;
    let ordinal = AttemptOrdinal::new(ordinal.parse().ok()?);
    (lease_name(&slot, ordinal) == name).then_some((slot, ordinal))
}

/// The directory of one lease.
#[derive(Clone, Debug)]
pub(super) struct LeaseDir(PathBuf);

impl LeaseDir {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The place as its processes carry it.
    pub(super) fn mark(&self) -> Vec<u8> {
        self.0.clone().into_os_string().into_vec()
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The files in it, and how long each is.
    pub(super) fn files(&self) -> Result<Vec<(String, u64)>, Problem> {
        let read = || -> io::Result<Vec<_>> {
            let entries = fs::read_dir(&self.0)?;
            let named = |entry: fs::DirEntry| {
                let len = entry.metadata()?.len();
                Ok((entry.file_name().to_string_lossy().into_owned(), len))
            };
            entries.map(|entry| entry.and_then(named)).collect()
        };
        read().map_err(Problem::io("read", &self.0))
    }

    /// Whose it is; `None` if there is no such directory.
    pub(super) fn owner(&self) -> Result<Option<Owner>, Problem> {
        let path = self.file("owner.json");
        let owner: Option<Owner> = read(&path)?;
        match owner {
            Some(owner) if owner.form != FORM => Err(Problem::Garbled {
                path,
                source: io::Error::other(format!("its form is {}, not {FORM}", owner.form)),
            }),
            Some(owner) => Ok(Some(owner)),
            None if exists(&self.0)? => {
                Err(Problem::Garbled { path, source: io::Error::from(io::ErrorKind::NotFound) })
            }
            None => Ok(None),
        }
    }

    pub(super) fn started(&self) -> Result<Option<Started>, Problem> {
        let path = self.file(PROCESS);
        let Some(bytes) = read_bytes(&path)? else { return Ok(None) };
        parse(&path, lines(&bytes).0).map(Some)
    }

    /// How `process` ended, if that was seen.
    pub(super) fn ended(&self, process: &Process) -> Result<Option<ExitStatus>, Problem> {
        let path = self.file(PROCESS);
        let Some(bytes) = read_bytes(&path)? else { return Ok(None) };
        let Some(line) = lines(&bytes).1 else { return Ok(None) };
        let ended: Ended = parse(&path, line)?;
        Ok((ended.process == *process).then_some(ended.status))
    }

    /// True if a start is under way or was broken off.
    pub(super) fn is_starting(&self) -> Result<bool, Problem> {
        exists(&self.file("starting"))
    }

    /// Marks that a start is under way.
    pub(super) fn mark_starting(&self) -> Result<File, Problem> {
        let path = self.file("starting");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&path).map_err(Problem::io("create", path))
    }

    pub(super) fn unmark_starting(&self) -> Result<(), Problem> {
        remove(&self.file("starting"))
    }

    /// Turns the mark of a start into the record of what it started.
    pub(super) fn record_started(&self, mut mark: File, started: &Started) -> Result<(), Problem> {
        let path = self.file("starting");
        mark.write_all(&to_line(started, &path)?).map_err(Problem::io("write", &path))?;
        fs::rename(&path, self.file(PROCESS)).map_err(Problem::io("rename", path))
    }

    /// The hook that was begun last.
    pub(super) fn hook(&self) -> Result<Option<Begun>, Problem> {
        read(&self.file("hook.json"))
    }

    pub(super) fn record_hook(&self, begun: &Begun) -> Result<(), Problem> {
        self.replace("hook.json", begun)
    }

    /// The output of the last run of one hook; made by the run itself, so that it tells whether there was one.
    pub(super) fn hook_log(&self, point: HookPoint) -> PathBuf {
        self.file(&hook_log_name(point))
    }

    pub(super) fn forget_hook_log(&self, point: HookPoint) -> Result<(), Problem> {
        remove(&self.hook_log(point))
    }

    /// Notes how the recorded process ended; of two who saw the same end, the first one's line counts.
    pub(super) fn record_ended(&self, ended: &Ended) -> Result<(), Problem> {
        let path = self.file(PROCESS);
        let mut options = OpenOptions::new();
        let file = options.append(true).custom_flags(libc::O_NOFOLLOW).open(&path);
        let mut file = file.map_err(Problem::io("open", &path))?;
        file.write_all(&to_line(ended, &path)?).map_err(Problem::io("write", path))
    }

    fn replace(&self, name: &str, value: &impl Serialize) -> Result<(), Problem> {
        let path = self.file(name);
        let temporary = self.file(&format!("{name}.new"));
        let bytes = to_json(value, &path)?;
        write_private(&temporary, &bytes)?;
        match fs::rename(&temporary, &path) {
            // Two who saw the same end write the same text; the first one's rename is enough.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Problem::io("rename", temporary)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Fills a directory that nobody sees yet with what a lease never lacks.
    pub(super) fn fill(&self, owner: &Owner) -> Result<(), Problem> {
        make_private_dir(&self.0)?;
        let path = self.file("owner.json");
        write_private(&path, &to_json(owner, &path)?)
    }
}

/// Makes a directory that only its owner can enter.
pub(super) fn make_private_dir(path: &Path) -> Result<(), Problem> {
    DirBuilder::new().mode(0o700).create(path).map_err(Problem::io("create", path))
}

/// Whether something stands at `path`, without following a link.
pub(super) fn exists(path: &Path) -> Result<bool, Problem> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Problem::io("look at", path)(error)),
    }
}

fn remove(path: &Path) -> Result<(), Problem> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Problem::io("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path).map_err(Problem::io("create", path))?;
    file.write_all(bytes).map_err(Problem::io("write", path))
}

fn to_json(value: &impl Serialize, path: &Path) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value).map_err(|source| Problem::io("write", path)(source.into()))
}

/// One line of a file that has more than one value.
fn to_line(value: &impl Serialize, path: &Path) -> Result<Vec<u8>, Problem> {
    let mut line = to_json(value, path)?;
    line.push(b'\n');
    Ok(line)
}

/// The first line, and the second one if it was written to its end.
fn lines(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut rest = bytes.splitn(3, |byte| *byte == b'\n');
    let first = rest.next().unwrap_or_default();
    let second = rest.next().filter(|_| rest.next().is_some());
    (first, second)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Problem> {
    read_bytes(path)?.map(|bytes| parse(path, &bytes)).transpose()
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes)
        .map_err(|source| Problem::Garbled { path: path.to_owned(), source: source.into() })
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    let file = match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Problem::io("read", path)(error)),
    };
    let mut bytes = Vec::with_capacity(512);
    file.take(FILE_LEN_MAX).read_to_end(&mut bytes).map_err(Problem::io("read", path))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver that dies while it notes an end leaves the record of the process as it was.
    #[test]
    fn an_end_counts_once_it_is_written_to_its_end() {
        assert_eq!(lines(b"{1}"), (&b"{1}"[..], None));
        assert_eq!(lines(b"{1}\n"), (&b"{1}"[..], None));
        assert_eq!(lines(b"{1}\n{2"), (&b"{1}"[..], None));
        assert_eq!(lines(b"{1}\n{2}\n"), (&b"{1}"[..], Some(&b"{2}"[..])));
        assert_eq!(lines(b"{1}\n{2}\n{3}\n"), (&b"{1}"[..], Some(&b"{2}"[..])));
    }
}
