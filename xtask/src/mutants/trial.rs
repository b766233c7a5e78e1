//! Runs the tests with one mutant chosen, until the first of them fails.
//!
//! Limits count what a test uses, not how long it takes: what else the machine does changes no answer.

use super::{
    splice::Id,
    tree::{Built, VARIABLE},
};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use std::{
    collections::BTreeMap,
    fmt,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
};

/// How many cases a property tries, as far as it does not say so itself: a mutant is mostly noticed by the first few.
const CASES: &str = "16";
/// From where properties take their cases, so that a run says the same each time.
const SEED: &str = "7";
/// The most memory of a test binary; a mutant may collect without end.
const BYTES: u64 = 4 << 30;
/// The most seconds that it may compute: ten times what the tests take as they are.
const SECONDS: u64 = 10;

/// What came of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// This test failed, or the tests ended without an answer.
    Caught(String),
    /// The tests came to no end within their limits.
    TimedOut,
    Missed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(by) => write!(f, "caught by {by}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Missed => f.write_str("missed"),
        }
    }
}

/// Tries `ids`, as many at once as there are processors, and gives each outcome to `tell` as it comes.
pub(crate) fn all(
    built: &Built,
    ids: &[Id],
    tell: impl Fn(Id, &Outcome) -> Result<()> + Sync,
) -> Result<BTreeMap<Id, Outcome>> {
    let unchanged = one(built, 0)?;
    if unchanged != Outcome::Missed {
        bail!("without any mutant: {unchanged}; see `cargo xtask test -p reconciler-core`");
    }
    let left = Mutex::new(ids.iter().copied());
    let next = || left.lock().ok()?.next();
    let work = || -> Result<Vec<(Id, Outcome)>> {
        let mut done = Vec::new();
        while let Some(id) = next() {
            let outcome = one(built, id)?;
            tell(id, &outcome)?;
            done.push((id, outcome));
        }
        Ok(done)
    };
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes = BTreeMap::new();
    let done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    for done in done {
        let Ok(done) = done else { bail!("a worker has panicked") };
        outcomes.extend(done?);
    }
    Ok(outcomes)
}

fn one(built: &Built, id: Id) -> Result<Outcome> {
    for binary in &built.binaries {
        let outcome = run(binary, &built.folder, id)?;
        if outcome != Outcome::Missed {
            return Ok(outcome);
        }
    }
    Ok(Outcome::Missed)
}

fn run(binary: &Path, folder: &Path, id: Id) -> Result<Outcome> {
    let mut command = Command::new(binary);
    command.args(["--test-threads", "1"]).current_dir(folder);
    command.env(VARIABLE, id.to_string()).env("PROPTEST_CASES", CASES);
    command.env("PROPTEST_RNG_SEED", SEED).env("PROPTEST_MAX_SHRINK_ITERS", "0");
    command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true").env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn();
    let mut child = child.with_context(|| format!("could not start {}", binary.display()))?;
    let line = bound(&child).and_then(|()| deciding_line(&mut child));
    if !matches!(line, Ok(Line::None)) {
        child.kill().context("the tests cannot be ended")?;
    }
    let ended = child.wait().context("the tests cannot be waited for")?;
    Ok(match line? {
        Line::Failed(test) => Outcome::Caught(test),
        Line::Passed => Outcome::Missed,
        Line::None if ended.signal() == Some(Signal::XCPU.as_raw()) => Outcome::TimedOut,
        Line::None => Outcome::Caught(format!("the end of the tests ({ended})")),
    })
}

fn bound(child: &Child) -> Result<()> {
    for (resource, most) in [(Resource::As, BYTES), (Resource::Cpu, SECONDS)] {
        let limit = Rlimit { current: Some(most), maximum: None };
        prlimit(Some(Pid::from_child(child)), resource, limit).context("no limit can be set")?;
    }
    Ok(())
}

/// The line by which the answer is known.
enum Line {
    Failed(String),
    Passed,
    /// The tests ended before.
    None,
}

fn deciding_line(child: &mut Child) -> Result<Line> {
    let out = child.stdout.take().context("the tests write somewhere else")?;
    for line in BufReader::new(out).lines() {
        let line = line.context("what the tests write cannot be read")?;
        if let Some(known) = deciding(&line) {
            return Ok(known);
        }
    }
    Ok(Line::None)
}

fn deciding(line: &str) -> Option<Line> {
    let rest = line.strip_prefix("test ")?;
    let failed = || Some(Line::Failed(rest.strip_suffix(" ... FAILED")?.to_owned()));
    if rest.starts_with("result: ok.") { Some(Line::Passed) } else { failed() }
}

#[cfg(test)]
mod tests {
    use super::{Line, deciding};

    #[test]
    fn the_first_line_that_decides_is_known() {
        let failed = deciding("test laws::a_law ... FAILED");
        assert!(matches!(failed, Some(Line::Failed(test)) if test == "laws::a_law"));
        assert!(matches!(deciding("test result: ok. 3 passed; 0 failed"), Some(Line::Passed)));
        assert!(deciding("test laws::a_law ... ok").is_none());
        assert!(deciding("running 3 tests").is_none());
    }
}
