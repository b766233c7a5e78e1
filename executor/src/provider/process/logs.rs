//! The output of nodes: where it is, and its last lines.
//!
//! A node appends to its files by itself, so output is not lost while no driver runs. How the files are kept from
//! filling the disk stands in `rotation`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use reconciler_core::{desired::HookPoint, id::LogicalNodeId, redact::Redacted};

use super::files::{LeaseDir, STREAMS, hook_log_name, parse_lease_name};
use crate::{
    provider::last_lines::clean,
    secret::{Needles, Secrets},
};

/// Size of one output file before it is rotated, unless the options say otherwise.
pub(super) const LOG_BYTES_DEFAULT: u64 = 10 * 1024 * 1024;
/// How much of a file's end is read for its last lines.
const TAIL_READ: u64 = 4 * 1024;

/// Where the output of `slot`'s last failed attempt is.
pub(super) fn place_of(state_dir: &Path, slot: &LogicalNodeId) -> PathBuf {
    state_dir.join(format!(".last.{slot}"))
}

/// Every output file of a slot, the oldest attempt first, each rotated file before its successor.
pub(super) fn log_paths(state_dir: &Path, slot: &LogicalNodeId) -> Vec<PathBuf> {
    let places = [place_of(state_dir, slot), state_dir.to_owned()];
    let mut attempts: Vec<_> = places
        .iter()
        .filter_map(|place| fs::read_dir(place).ok())
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let (other, ordinal) = parse_lease_name(entry.file_name().to_str()?)?;
            (other == *slot).then(|| (ordinal, entry.path()))
        })
        .collect();
    attempts.sort_unstable();
    let names = output_names();
    attempts
        .iter()
        .flat_map(|(_, dir)| names.iter().map(|name| dir.join(name)))
        .filter(|path| path.is_file())
        .collect()
}

/// The names of a lease's output files, each rotated file before its successor.
pub(super) fn output_names() -> Vec<String> {
    let names = STREAMS.iter().flat_map(|name| [format!("{name}.1"), (*name).to_owned()]);
    names.chain(["verify.log".to_owned()]).chain(HookPoint::ALL.map(hook_log_name)).collect()
}

/// The last lines that a workload wrote: of its errors if it wrote any, else of its output.
pub(super) fn tail(dir: &LeaseDir, secrets: &Secrets) -> Redacted {
    let errors = tail_of(&dir.file("stderr.log"), secrets);
    if errors.as_str().trim().is_empty() {
        return tail_of(&dir.file("stdout.log"), secrets);
    }
    errors
}

/// The last lines of one file, cleaned; empty if it cannot be read.
pub(super) fn tail_of(path: &Path, secrets: &Secrets) -> Redacted {
    match last_part(path, &secrets.needles()) {
        Ok((text, whole)) => clean(&text, whole),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "cannot read the last lines of an output file");
            }
            Redacted::default()
        }
    }
}

/// The last part of a file without secrets, and whether that is all of it.
///
/// So much more is read that a secret which began before that part is recognised as well.
fn last_part(path: &Path, needles: &Needles) -> io::Result<(String, bool)> {
    let most = TAIL_READ.saturating_add(u64::try_from(needles.reach()).unwrap_or(u64::MAX));
    let mut file: File = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
    let len = file.metadata()?.len();
    let start = len.saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let mut text = needles.cleaned(&String::from_utf8_lossy(&bytes));
    let surplus = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_sub(TAIL_READ);
    let mut cut = usize::try_from(surplus).unwrap_or(0);
    while !text.is_char_boundary(cut) {
        cut = cut.saturating_add(1);
    }
    text.drain(..cut);
    Ok((text, start == 0 && cut == 0))
}
