//! Printing: what goes to stdout and stderr. How times and styles look stands in `style`.

use std::{
    io::{self, Write as _},
    sync::atomic::{AtomicBool, AtomicU8, Ordering},
};

use serde::Serialize;

use super::exit::{Exit, Failure};

/// What became of stdout: it works, its reader went away, or it takes nothing more.
static STDOUT: AtomicU8 = AtomicU8::new(WORKS);
/// True where stderr is a program's.
static QUIET: AtomicBool = AtomicBool::new(false);
const WORKS: u8 = 0;
const READER_GONE: u8 = 1;
const LOST: u8 = 2;

/// Prints one line of data. A reader that went away ends the printing, not the program.
pub(crate) fn line(text: impl AsRef<str>) {
    wrote(writeln!(io::stdout().lock(), "{}", text.as_ref()));
}

/// Prints data as it is.
pub(crate) fn raw(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    wrote(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

fn wrote(result: io::Result<()>) {
    if let Err(error) = result {
        let gone = error.kind() == io::ErrorKind::BrokenPipe;
        STDOUT.fetch_max(if gone { READER_GONE } else { LOST }, Ordering::Relaxed);
    }
}

/// True if nobody reads what is printed any more: what only prints may end.
pub(crate) fn nobody_reads() -> bool {
    STDOUT.load(Ordering::Relaxed) != WORKS
}

/// True if printed data was lost although somebody wanted it, as on a full disk.
pub(crate) fn was_lost() -> bool {
    STDOUT.load(Ordering::Relaxed) == LOST
}

/// Prints one line for the person at the terminal; nothing once stderr is a program's.
pub(crate) fn note(text: impl AsRef<str>) {
    if !QUIET.load(Ordering::Relaxed) {
        said(text);
    }
}

/// From now on stderr holds nothing but a failure: a program reads it.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

fn said(text: impl AsRef<str>) {
    drop(writeln!(io::stderr().lock(), "{}", text.as_ref()));
}

/// Prints one JSON document on one line.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::internal("the answer cannot be written", &error))?;
    line(text);
    Ok(())
}

/// Prints why a verb failed.
pub(crate) fn failure(failure: &Failure, as_json: bool) {
    if as_json {
        let value = serde_json::json!({
            "error": {
                "code": failure.exit as u8,
                "message": failure.message,
                "details": failure.json.clone().unwrap_or_else(|| failure.details.clone().into()),
                "hint": failure.hint,
            }
        });
        said(value.to_string());
        return;
    }
    for detail in &failure.details {
        note(detail);
    }
    note(format!("error: {}", failure.message));
    if let Some(hint) = &failure.hint {
        note(format!("next: {hint}"));
    }
}

/// The exit code as the process ends with it.
pub(crate) fn code(exit: Exit) -> std::process::ExitCode {
    std::process::ExitCode::from(exit as u8)
}
