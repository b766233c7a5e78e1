//! `levelhead logs`: a node's own output, where its provider keeps it on this machine.

use std::{
    fs::File,
    io::{self, BufReader, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    time::Duration,
};

use driver::config::ProviderDecl;
use executor::seam::ProviderPlace;
use reconciler_core::id::{LogicalNodeId, ProviderName};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
    signals::{Stops, exit_of},
};

/// Time between two looks at the files.
const PERIOD: Duration = Duration::from_millis(200);

/// Prints the output of `slot`.
pub(crate) async fn run(context: &Context, slot: &str, follow: bool, lines: usize) -> Outcome {
    let slot: LogicalNodeId = slot.parse().map_err(|error: reconciler_core::id::IdError| {
        Failure::new(Exit::Invalid, error.to_string())
    })?;
    let mut stops = Stops::listen()?;
    let mut read: Vec<(PathBuf, u64)> = Vec::new();
    loop {
        let paths = paths(context, &slot);
        if paths.is_empty() && !follow {
            let failure =
                Failure::new(Exit::Invalid, format!("{slot} has no output on this machine"));
            return Err(failure.hint("levelhead status"));
        }
        for path in paths {
            let from = read.iter().find(|(known, _)| *known == path).map(|(_, at)| *at);
            let end = print(context, &path, from, lines).map_err(|error| {
                Failure::new(Exit::Unavailable, format!("cannot read {}: {error}", path.display()))
            })?;
            read.retain(|(known, _)| *known != path);
            read.push((path, end));
        }
        if !follow || out::nobody_reads() {
            return Ok(Exit::Done);
        }
        tokio::select! {
            reason = stops.requested() => return Ok(exit_of(reason)),
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
}

fn paths(context: &Context, slot: &LogicalNodeId) -> Vec<PathBuf> {
    let base_dir = context.base_dir();
    let of = |(name, decl): (&ProviderName, &ProviderDecl)| {
        let state_dir = context.paths.provider(name);
        let place = ProviderPlace { state_dir, base_dir: base_dir.clone() };
        let factory = context.catalogue.get(&decl.kind);
        factory.map(|factory| factory.log_paths(&place, slot)).unwrap_or_default()
    };
    context.loaded.providers.iter().flat_map(of).collect()
}

/// Prints a file from `from` on, or its last lines; returns where it ended.
fn print(context: &Context, path: &PathBuf, from: Option<u64>, lines: usize) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    // A file that shrank was rotated: it is read from its beginning.
    let start = match from {
        Some(at) if at <= length => at,
        Some(_) => 0,
        None => last_lines(&mut file, length, lines)?,
    };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    BufReader::new(file.take(length.saturating_sub(start))).read_to_end(&mut bytes)?;
    let end = start + u64::try_from(bytes.len()).unwrap_or(0);
    if context.global.json {
        for line in plain(&bytes).lines() {
            out::line(serde_json::json!({"file": path, "line": line}).to_string());
        }
        return Ok(end);
    }
    if from.is_none() && !bytes.is_empty() {
        out::note(format!("== {}", path.display()));
    }
    out::raw(plain(&bytes).as_bytes());
    Ok(end)
}

/// Text that cannot move a cursor or colour a terminal; line ends and tabs stay.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    text.chars().filter(|c| (!c.is_control() && !turns(*c)) || matches!(c, '\n' | '\t')).collect()
}

/// Where the last `lines` lines of a file begin; looks at its last mebibyte at most.
fn last_lines(file: &mut File, length: u64, lines: usize) -> io::Result<u64> {
    let start = length.saturating_sub(1 << 20);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length - start).read_to_end(&mut bytes)?;
    let ends = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let cut =
        ends.map(|(at, _)| at + 1).filter(|at| *at < bytes.len()).nth(lines.saturating_sub(1));
    Ok(start + u64::try_from(cut.unwrap_or(0)).unwrap_or(0))
}
