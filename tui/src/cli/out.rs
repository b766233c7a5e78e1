//! Printing: what goes to stdout and stderr, and how times and styles look.

use std::io::{self, IsTerminal as _, Write as _};

use jiff::SignedDuration;
use reconciler_core::time::Timestamp;
use serde::Serialize;

use super::exit::{Exit, Failure};

/// Prints one line of data. A reader that went away ends the printing, not the program.
pub(crate) fn line(text: impl AsRef<str>) {
    drop(writeln!(io::stdout().lock(), "{}", text.as_ref()));
}

/// Prints one line for the person at the terminal.
pub(crate) fn note(text: impl AsRef<str>) {
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
        note(value.to_string());
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

/// True if stderr shows styles.
pub(crate) fn stderr_is_styled() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stderr().is_terminal()
}

/// A time as RFC 3339 in UTC, to the millisecond.
pub(crate) fn time(at: Timestamp) -> String {
    let ms = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    let utc = jiff::Timestamp::from_millisecond(ms);
    utc.map_or_else(|_far| format!("{ms} ms"), |at| format!("{at:.3}"))
}

/// A length of time as people say it.
pub(crate) fn length(ms: u64) -> String {
    let whole = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    let secs = whole.as_secs();
    match secs {
        0 => format!("{ms}ms"),
        1..60 => format!("{secs}s"),
        60..3_600 => format!("{}m{:02}s", secs / 60, secs % 60),
        3_600..86_400 => format!("{}h{:02}m", secs / 3_600, secs % 3_600 / 60),
        _ => format!("{}d{:02}h", secs / 86_400, secs % 86_400 / 3_600),
    }
}

/// The exit code as the process ends with it.
pub(crate) fn code(exit: Exit) -> std::process::ExitCode {
    std::process::ExitCode::from(exit as u8)
}
