//! The node of these benches: a static program that stamps its own start into a file and waits to be killed.
//!
//! Built from source with the C compiler of the machine: a static program of a few pages costs the system so little
//! to start that what is measured is the work around it. Without a compiler there is nothing to measure with.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// Each stamp is one line: monotonic nanoseconds and a process id, both of fixed width.
const SOURCE: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    const char *path = getenv("STAMPS");
    struct timespec now;
    char line[64];
    int fd, len;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!path)
        return 2;
    len = snprintf(line, sizeof line, "%019lld %010d\n",
                   (long long)now.tv_sec * 1000000000LL + now.tv_nsec, (int)getpid());
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd < 0 || write(fd, line, len) != len)
        return 3;
    close(fd);
    for (;;)
        pause();
}
"#;
const LINE_LEN: usize = 31;

/// How long anything here may take before the bench gives up.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(2);

/// The program of the nodes.
pub(crate) struct Stub {
    pub(crate) program: PathBuf,
    pub(crate) what: String,
}

impl Stub {
    /// Compiles it into `dir`.
    pub(crate) fn build(dir: &Path) -> io::Result<Self> {
        let (source, program) = (dir.join("stub.c"), dir.join("stub"));
        fs::write(&source, SOURCE)?;
        let built = Command::new("cc")
            .args(["-static", "-O2", "-o"])
            .args([&program, &source])
            .status()
            .is_ok_and(|status| status.success());
        if built {
            return Ok(Self { program, what: "a static program, built here".to_owned() });
        }
        Err(io::Error::other("a C compiler that links statically is needed: `cc -static`"))
    }
}

/// One start of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    /// Monotonic nanoseconds.
    pub(crate) at: u64,
    /// Its process.
    pub(crate) pid: i32,
}

/// The file that the nodes of one case stamp.
#[derive(Clone, Debug)]
pub(crate) struct Stamps(pub(crate) PathBuf);

impl Stamps {
    /// How many starts there were.
    pub(crate) fn count(&self) -> io::Result<usize> {
        match fs::metadata(&self.0) {
            Ok(facts) => Ok(usize::try_from(facts.len()).map_err(io::Error::other)? / LINE_LEN),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The starts from the `since`th on.
    pub(crate) fn read(&self, since: usize) -> io::Result<Vec<Stamp>> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        text.lines().skip(since).map(parse).collect()
    }

    /// Waits until there were `n` starts.
    pub(crate) fn wait_for(&self, n: usize) -> io::Result<()> {
        wait_until("nodes to start", || Ok(self.count()? >= n))
    }
}

fn parse(line: &str) -> io::Result<Stamp> {
    let bad = || io::Error::other(format!("not a stamp: {line}"));
    let (at, pid) = line.split_once(' ').ok_or_else(bad)?;
    Ok(Stamp {
        at: at.parse().map_err(io::Error::other)?,
        pid: pid.parse().map_err(io::Error::other)?,
    })
}

/// Waits until `done`, but not for ever.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !done()? {
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("waited in vain for {what}")));
        }
        thread::sleep(POLL);
    }
    Ok(())
}
