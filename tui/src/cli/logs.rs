//! `levelhead logs`: a node's own output, from files of this machine or, where its provider keeps it elsewhere, from
//! there (`logs_elsewhere`); where it keeps none, from the node's agent (`logs_agent`).

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use driver::{Offline, config::ProviderDecl};
use executor::{
    seam::ProviderPlace,
    secret::{Cleaner, Secrets},
};
use reconciler_core::id::{LogicalNodeId, ProviderName};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    logs_agent,
    logs_elsewhere::{self, Wish},
    logs_shown::show,
    out,
    signals::{Stops, exit_of},
};

/// Time between two looks at the files.
const PERIOD: Duration = Duration::from_millis(200);

/// One file as far as it was printed.
struct Read {
    path: PathBuf,
    end: u64,
    cleaner: Cleaner,
}

/// Prints the output of `slot`, without the secrets of its group.
pub(crate) async fn run(context: &Context, slot: &str, follow: bool, lines: usize) -> Outcome {
    let slot: LogicalNodeId = slot.parse().map_err(|error: reconciler_core::id::IdError| {
        Failure::new(Exit::Invalid, error.to_string())
    })?;
    let secrets = known_secrets(context, &slot)?;
    let mut stops = Stops::listen()?;
    let mut read: Vec<Read> = Vec::new();
    if paths(context, &slot).is_empty() {
        let elsewhere = logs_elsewhere::run(context, &slot, Wish { follow, lines }, &secrets);
        let printed = tokio::select! {
            reason = stops.requested() => return Ok(exit_of(reason)),
            printed = elsewhere => printed?,
        };
        let by_agent = logs_agent::run(context, &slot, Wish { follow, lines });
        let printed = printed
            || tokio::select! {
                reason = stops.requested() => return Ok(exit_of(reason)),
                printed = by_agent => printed?,
            };
        if !follow {
            let nothing = || Failure::new(Exit::Invalid, format!("{slot} has no output"));
            return if printed { Ok(Exit::Done) } else { Err(nothing().hint("levelhead status")) };
        }
    }
    loop {
        let paths = paths(context, &slot);
        for path in paths {
            let at = read.iter().position(|known| known.path == path);
            let known = at.map(|at| read.swap_remove(at));
            let first = known.is_none();
            let cannot = |error: io::Error| {
                let text = format!("cannot read {}: {error}", path.display());
                Failure::new(Exit::Unavailable, text)
            };
            let (mut file, text) = more(&path, known, lines, &secrets).map_err(cannot)?;
            let last = if follow { String::new() } else { file.cleaner.finish() };
            show(context, &path, &(text + &last), first);
            read.push(file);
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

/// What the nodes of `slot`'s group may have been given; refuses where that cannot be known here.
fn known_secrets(context: &Context, slot: &LogicalNodeId) -> Result<Secrets, Failure> {
    let secrets = Secrets::new(context.base_dir());
    Offline::open(&context.paths)?.expect_secrets(&secrets);
    match secrets.withheld(&slot.group) {
        None => Ok(secrets),
        Some(why) => {
            let text = format!("the output of {slot} may show a secret that is not known here");
            let failure = Failure { details: vec![why], ..Failure::new(Exit::Refused, text) };
            Err(failure.hint("run this command where the secret can be had"))
        }
    }
}

fn paths(context: &Context, slot: &LogicalNodeId) -> Vec<PathBuf> {
    let base_dir = context.base_dir();
    let of = |(name, decl): (&ProviderName, &ProviderDecl)| {
        let (state_dir, base_dir) = (context.paths.provider(name), base_dir.clone());
        let place = ProviderPlace { state_dir, base_dir, secrets: Secrets::default() };
        let factory = context.catalogue.get(&decl.kind);
        factory.map(|factory| factory.log_paths(&place, slot)).unwrap_or_default()
    };
    context.loaded.providers.iter().flat_map(of).collect()
}

/// What a file holds beyond what was printed of it, or its last lines.
fn more(
    path: &Path,
    known: Option<Read>,
    lines: usize,
    secrets: &Secrets,
) -> io::Result<(Read, String)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let (mut cleaner, start) = if let Some(Read { end, cleaner, .. }) = known {
        // A file that shrank was rotated: it is read from its beginning.
        (cleaner, if end <= length { end } else { 0 })
    } else {
        let start = last_lines(&mut file, length, lines)?;
        let mut cleaner = secrets.cleaner();
        let reach = u64::try_from(cleaner.reach()).unwrap_or(u64::MAX);
        // What stands before is read only to recognise a secret that began there.
        let _before = cleaner.push(&part(&mut file, start.saturating_sub(reach), start)?);
        (cleaner, start)
    };
    let bytes = part(&mut file, start, length)?;
    let text = cleaner.push(&bytes);
    let end = start + u64::try_from(bytes.len()).unwrap_or(0);
    Ok((Read { path: path.to_owned(), end, cleaner }, text))
}

/// The bytes of a file between two places.
fn part(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end.saturating_sub(start)).read_to_end(&mut bytes)?;
    Ok(bytes)
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
