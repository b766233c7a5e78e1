//! How times look to a person, and whether styles are shown at all.

use std::{
    io::{self, IsTerminal as _},
    sync::OnceLock,
};

use jiff::SignedDuration;
use reconciler_core::time::Timestamp;

use super::global::When;

/// What `--color` said.
static COLOR: OnceLock<When> = OnceLock::new();

/// From now on styles are shown as `when` says; the first word counts.
pub(crate) fn decide(when: When) {
    // A process has one command line, so that a second word never comes.
    let _first = COLOR.set(when);
}

/// True if stderr shows styles: by `--color`, else by `NO_COLOR`, else by `CLICOLOR_FORCE`, else on a terminal.
pub(crate) fn stderr_is_styled() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    match COLOR.get().copied().unwrap_or(When::Auto) {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR").is_some() => false,
        When::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        When::Auto => io::stderr().is_terminal(),
    }
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
