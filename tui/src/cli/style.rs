//! How times look to a person, and whether styles are shown at all.

use std::io::{self, IsTerminal as _};

use jiff::SignedDuration;
use reconciler_core::time::Timestamp;

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
