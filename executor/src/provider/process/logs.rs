//! The output of nodes: where it is, its last lines, and how it is kept from filling the disk.
//!
//! A node appends to its files by itself, so output is not lost while no driver runs. A file over its cap is
//! rotated by copy and truncate, the only way that needs nothing of the node: its last part up to the cap moves
//! to `NAME.1`, and lines that are written between copy and truncation are lost. Rotation happens when a lease
//! is looked at or listed; there is no timer per node.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use reconciler_core::{desired::HookPoint, id::LogicalNodeId, redact::Redacted};

use super::{
    files::{LeaseDir, hook_log_name, parse_lease_name},
    problem::Problem,
};

/// Size of one output file before it is rotated, unless the options say otherwise.
pub(super) const LOG_BYTES_DEFAULT: u64 = 10 * 1024 * 1024;
/// How much of a file's end is read for its last lines.
const TAIL_READ: u64 = 4 * 1024;
/// How many last lines are kept.
const TAIL_LINES: usize = 20;
/// How many bytes of them; a little less than what free text may have, so that the last line is never cut.
const TAIL_BYTES: usize = reconciler_core::limits::TEXT_LEN_MAX - 24;

/// The files that a node writes itself.
const STREAMS: [&str; 2] = ["stdout.log", "stderr.log"];

/// Every output file of a slot, the oldest attempt first, each rotated file before its successor.
pub(super) fn log_paths(state_dir: &Path, slot: &LogicalNodeId) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(state_dir) else { return Vec::new() };
    let mut attempts: Vec<_> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let (other, ordinal) = parse_lease_name(entry.file_name().to_str()?)?;
            (other == *slot).then(|| (ordinal, entry.path()))
        })
        .collect();
    attempts.sort_unstable();
    let names = STREAMS.iter().flat_map(|name| [format!("{name}.1"), (*name).to_owned()]);
    let hooks = HookPoint::ALL.map(hook_log_name);
    let names: Vec<_> = names.chain(["verify.log".to_owned()]).chain(hooks).collect();
    attempts
        .iter()
        .flat_map(|(_, dir)| names.iter().map(|name| dir.join(name)))
        .filter(|path| path.is_file())
        .collect()
}

/// Rotates output files, one at a time: two who rotate the same file would lose what they both copied.
#[derive(Debug)]
pub(super) struct Rotation {
    cap: u64,
    one_at_a_time: Mutex<()>,
}

impl Rotation {
    pub(super) const fn new(cap: u64) -> Self {
        Self { cap, one_at_a_time: Mutex::new(()) }
    }

    /// Rotates the output files of a lease that are over the cap.
    pub(super) fn apply(&self, dir: &LeaseDir) -> Result<(), Problem> {
        for name in STREAMS {
            let path = dir.file(name);
            if self.is_over(&path)? {
                let _guard = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
                if self.is_over(&path)? {
                    rotate_one(&path, self.cap)?;
                }
            }
        }
        Ok(())
    }

    fn is_over(&self, path: &Path) -> Result<bool, Problem> {
        match fs::symlink_metadata(path) {
            Ok(facts) => Ok(facts.is_file() && facts.len() > self.cap),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Problem::io("look at", path)(error)),
        }
    }
}

fn rotate_one(path: &Path, cap: u64) -> Result<(), Problem> {
    let fails = |error| Problem::io("rotate", path)(error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW);
    let mut from = options.open(path).map_err(fails)?;
    let len = from.metadata().map_err(fails)?.len();
    from.seek(SeekFrom::Start(len.saturating_sub(cap))).map_err(fails)?;
    let old = suffixed(path, ".1");
    let temporary = suffixed(path, ".1.new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let mut to = options.open(&temporary).map_err(fails)?;
    io::copy(&mut from, &mut to).map_err(fails)?;
    from.set_len(0).map_err(fails)?;
    fs::rename(&temporary, &old).map_err(fails)
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The last lines that a workload wrote: of its errors if it wrote any, else of its output.
pub(super) fn tail(dir: &LeaseDir) -> Redacted {
    let errors = tail_of(&dir.file("stderr.log"));
    if errors.as_str().trim().is_empty() { tail_of(&dir.file("stdout.log")) } else { errors }
}

/// The last lines of one file, cleaned; empty if it cannot be read.
pub(super) fn tail_of(path: &Path) -> Redacted {
    match last_part(path) {
        Ok((text, whole)) => clean(&text, whole),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "cannot read the last lines of an output file");
            }
            Redacted::default()
        }
    }
}

fn last_part(path: &Path) -> io::Result<(String, bool)> {
    let mut file: File = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
    let len = file.metadata()?.len();
    let start = len.saturating_sub(TAIL_READ);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_READ).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), start == 0))
}

/// Each line is cleaned whole before lines are dropped, since a cut in the middle could part a secret from the
/// word that marks it as one. What may have lost its beginning to the read is dropped for the same reason: the
/// first line, or, in one long line, the first two words.
fn clean(text: &str, whole: bool) -> Redacted {
    let text = if whole { text } else { without_torn_start(text) };
    let mut kept: Vec<String> = Vec::new();
    let mut len = 0_usize;
    for line in text.lines().rev().filter(|line| !line.trim().is_empty()).take(TAIL_LINES) {
        let line = Redacted::new(line.trim_end());
        len = len.saturating_add(line.as_str().len()).saturating_add(1);
        if len > TAIL_BYTES && !kept.is_empty() {
            break;
        }
        kept.push(line.as_str().to_owned());
    }
    kept.reverse();
    Redacted::from(kept.join("\n"))
}

fn without_torn_start(text: &str) -> &str {
    match text.trim_end().split_once('\n') {
        Some((_, rest)) => rest,
        None => text.splitn(3, char::is_whitespace).nth(2).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_lines_and_no_secret_or_escape() {
        let text = "old\nred \u{1b}[31malarm\u{7}\ntoken=abc123 Bearer xyz789\nlast line\n";
        let tail = clean(text, true);
        assert_eq!(tail.as_str(), "old red [31malarm token=[redacted] Bearer [redacted] last line");
    }

    #[test]
    fn what_may_have_lost_its_beginning_is_not_shown() {
        assert_eq!(clean("23secret\nnext\n", false).as_str(), "next");
        assert_eq!(clean("earer abc123 rest of it", false).as_str(), "rest of it");
        assert_eq!(clean("noend", false).as_str(), "");
    }

    #[test]
    fn the_last_line_survives_a_long_tail() {
        let text = format!("{}\n{}\nthe end\n", "a".repeat(900), "b".repeat(900));
        assert!(clean(&text, true).as_str().ends_with("the end"));
    }
}
