//! Printing: what goes to stdout and stderr. How times and styles look stands in `style`.

use std::io::{self, Write as _};

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

/// The exit code as the process ends with it.
pub(crate) fn code(exit: Exit) -> std::process::ExitCode {
    std::process::ExitCode::from(exit as u8)
}
