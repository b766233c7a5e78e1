//! What is wrong with a journal, and how bad that is.

use reconciler_core::redact::Redacted;
use serde::Serialize;

/// How whole a journal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Integrity {
    /// Nothing is wrong.
    Healthy,
    /// A driver takes it: what is bad is history, or is looked for at the providers before anything is done.
    Degraded,
    /// A driver refuses it, or must not be given it.
    Unrecoverable,
}

impl Integrity {
    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unrecoverable => "unrecoverable",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it makes of the journal.
    pub integrity: Integrity,
    /// The table, or `pages` or `schema`.
    pub place: &'static str,
    /// The row's key as it stands there; empty where it is no row.
    pub key: String,
    /// What is wrong, and what becomes of it.
    pub what: Redacted,
}
