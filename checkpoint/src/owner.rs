//! Who owns a run: an OS lock on an open file, which dies with its process, and a record with the fence.
//!
//! The lock keeps two drivers apart on one machine. The fence, one higher with each claim, makes the writes of
//! a driver that lost the lock without noticing fail (C16, D11).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    thread,
    time::Duration,
};

use reconciler_core::{
    id::{Fence, RunName, Uuid},
    ownership::ControllerId,
    time::Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};

use crate::{
    codec::{num, number, parsed, time},
    sum::{self, sum},
};

/// Tries for the lock: somebody who only asks whether it is held holds it for an instant.
const LOCK_TRIES: u32 = 6;
/// Time between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(15);

/// Who wants to own the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerClaim {
    /// The run.
    pub run: Uuid,
    /// Its name.
    pub name: RunName,
    /// The process.
    pub pid: u32,
    /// When the process started to drive.
    pub started: Timestamp,
    /// The host.
    pub host: String,
    /// The machine, by a name that stays over its starts; empty if nobody knows. A lock that is free here proves
    /// the end of whoever had it here, and of nobody elsewhere.
    pub machine: String,
}

impl OwnerClaim {
    /// The name under which it holds leases.
    pub fn controller(&self) -> ControllerId {
        ControllerId::of_process(self.pid, &self.host)
    }
}

/// This machine, by the name that stays over its starts; where it has none, as in a container, by this start of its
/// kernel; empty where neither can be read.
pub fn this_machine() -> String {
    let named = |path| fs::read_to_string(path).ok().and_then(|text| machine_name(&text));
    named("/etc/machine-id")
        .or_else(|| named("/proc/sys/kernel/random/boot_id"))
        .unwrap_or_default()
}

/// The name in such a file; an image that is still to be started for the first time has a placeholder there.
fn machine_name(text: &str) -> Option<String> {
    let name = text.trim();
    (!name.is_empty() && name != "uninitialized").then(|| name.to_owned())
}

/// Who owned the run last, or owns it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRecord {
    /// The run.
    pub run: Uuid,
    /// Its name.
    pub name: RunName,
    /// The process.
    pub pid: u32,
    /// When the process started to drive.
    pub started: Timestamp,
    /// The host.
    pub host: String,
    /// Its fence.
    pub fence: Fence,
}

impl OwnerRecord {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            run: parsed(row, "run")?,
            name: parsed(row, "name")?,
            pid: row.get("pid")?,
            started: Timestamp::from_millis(number(row, "started_at")?),
            host: row.get("host")?,
            fence: Fence::new(number(row, "fence")?),
        })
    }

    /// The present owner, if there ever was one.
    ///
    /// The sum is checked where it is there: a file of an older schema has no such column, and is asked as well.
    pub(crate) fn find(conn: &Connection) -> rusqlite::Result<Option<Self>> {
        let mut statement = conn.prepare("SELECT * FROM owner")?;
        let has_sum = statement.column_index("sum").is_ok();
        let read = |row: &Row<'_>| {
            let owner = Self::read(row)?;
            if has_sum {
                sum::check(row, &owner.parts().each_ref().map(Vec::as_slice))?;
            }
            Ok(owner)
        };
        statement.query_row([], read).optional()
    }

    /// What the row's sum is over.
    fn parts(&self) -> [Vec<u8>; 6] {
        [
            self.run.as_bytes().to_vec(),
            self.name.as_str().into(),
            self.pid.to_le_bytes().to_vec(),
            self.started.as_millis().to_le_bytes().to_vec(),
            self.host.as_bytes().to_vec(),
            self.fence.get().to_le_bytes().to_vec(),
        ]
    }

    /// Makes this the owner.
    pub(crate) fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute(
            "INSERT OR REPLACE INTO owner (only_row, run, name, pid, started_at, host, fence, sum) \
             VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                self.run.to_string(),
                self.name.as_str(),
                self.pid,
                time(self.started),
                self.host,
                num(self.fence.get()),
                sum(&self.parts().each_ref().map(Vec::as_slice)),
            ],
        )
        .map(drop)
    }
}

/// Writes `claim` as the owner after `previous`, with the next fence.
pub(crate) fn take(
    conn: &Connection,
    claim: &OwnerClaim,
    previous: Option<&OwnerRecord>,
) -> rusqlite::Result<Fence> {
    let fence = previous.map_or(Fence::new(1), |owner| owner.fence.next());
    let OwnerClaim { run, name, pid, started, host, machine: _ } = claim.clone();
    OwnerRecord { run, name, pid, started, host, fence }.write(conn)?;
    Ok(fence)
}

/// The fence of the present owner.
pub(crate) fn fence(conn: &Connection) -> rusqlite::Result<Fence> {
    let mut statement = conn.prepare_cached("SELECT fence FROM owner")?;
    statement.query_row([], |row| number(row, "fence")).map(Fence::new)
}

/// The lock of a run, held while this lives.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock; nothing if somebody else has it.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)?;
        for left in (0..LOCK_TRIES).rev() {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Self { file })),
                Err(Errno::WOULDBLOCK) if left > 0 => thread::sleep(LOCK_PAUSE),
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// True if a journal was made under this lock before.
    ///
    /// A database that is empty all the same was lost, and must not pass for a new one (C15).
    pub(crate) fn was_used(&self) -> io::Result<bool> {
        let mut first = [0];
        (&self.file).read(&mut first).map(|n| n > 0)
    }

    /// The run that a journal was made for under the lock at `path`, if one was.
    pub(crate) fn run(path: &Path) -> io::Result<Option<Uuid>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let first = text.lines().next().and_then(|line| line.strip_prefix("levelhead "));
        Ok(first.and_then(|run| run.parse().ok()))
    }

    /// Notes that a journal of `run` stands beside this lock.
    pub(crate) fn mark_used(&self, run: Uuid) -> io::Result<()> {
        (&self.file).write_all(format!("levelhead {run}\n").as_bytes())?;
        self.file.sync_all()
    }

    /// True if the process that holds the lock at `path` is the one with this number, or if nobody can say which one it
    /// is and that process lives.
    pub(crate) fn is_of(path: &Path, pid: u32) -> bool {
        let Ok(inode) = fs::metadata(path).map(|found| found.ino()) else { return false };
        let table = fs::read_to_string("/proc/locks").unwrap_or_default();
        match holders(&table, inode).as_slice() {
            [] => Path::new("/proc").join(pid.to_string()).exists(),
            known => known.contains(&pid),
        }
    }

    /// True if a driver holds the lock now; asked without keeping it.
    pub(crate) fn is_held(path: &Path) -> io::Result<bool> {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// The processes that the kernel's table of locks names for a lock of this kind on the file with that inode; none where
/// they are of another namespace.
fn holders(table: &str, inode: u64) -> Vec<u32> {
    let of = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let held = words.next()? == "FLOCK" && words.next().is_some() && words.next()? == "WRITE";
        let pid = words.next()?.parse::<u32>().ok().filter(|pid| *pid > 0)?;
        let found = words.next()?.rsplit(':').next()?.parse::<u64>().ok()?;
        (held && found == inode).then_some(pid)
    };
    table.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::{RunLock, holders};

    #[test]
    fn the_holder_of_a_lock_is_the_one_that_the_kernel_names() {
        let table = "1: POSIX  ADVISORY  WRITE 7 08:01:42 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 8 08:01:42 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 11 08:01:42 0 EOF\n\
                     3: FLOCK  ADVISORY  READ 9 08:01:42 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 10 08:01:43 0 EOF\n";
        assert_eq!(holders(table, 42), [8]);
        assert!(holders(table, 44).is_empty());
    }

    /// R189: who took the lock and has written nothing yet is not called by the name of the owner before it.
    #[test]
    fn a_lock_is_of_the_process_that_holds_it_and_of_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let _held = RunLock::take(&path).unwrap().unwrap();
        assert!(RunLock::is_of(&path, std::process::id()));
        assert!(!RunLock::is_of(&path, u32::MAX));
    }
}
