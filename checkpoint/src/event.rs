//! Events and passes: what happened, for people.
//!
//! An event that repeats the newest one of its subject raises that one's count instead of adding a row (C18).

use std::{borrow::Cow, fmt};

use reconciler_core::{
    id::{GroupId, LogicalNodeId, PassNumber, ProviderName},
    redact::Redacted,
    time::Timestamp,
};
use rusqlite::Row;

use crate::codec::number;

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The run as a whole; written `run`.
    Run,
    /// A node group; written `group/<name>`.
    Group(GroupId),
    /// A slot; written as the slot.
    Slot(LogicalNodeId),
    /// A provider; written `provider/<name>`.
    Provider(ProviderName),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("run"),
            Self::Group(group) => write!(f, "group/{group}"),
            Self::Slot(slot) => write!(f, "{slot}"),
            Self::Provider(provider) => write!(f, "provider/{provider}"),
        }
    }
}

/// An event to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventWrite {
    /// What it is about.
    pub subject: Subject,
    /// Which kind, a stable word.
    pub kind: Cow<'static, str>,
    /// What happened.
    pub text: Redacted,
    /// When.
    pub at: Timestamp,
    /// In which pass.
    pub pass: PassNumber,
}

/// An event as it stands in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number; rises with every new row.
    pub seq: u64,
    /// When it first happened.
    pub first_at: Timestamp,
    /// When it last happened.
    pub at: Timestamp,
    /// In which pass it last happened.
    pub pass: PassNumber,
    /// What it is about, see [`Subject`].
    pub subject: String,
    /// Which kind.
    pub kind: String,
    /// What happened.
    pub text: Redacted,
    /// How often in a row.
    pub count: u64,
}

impl EventRow {
    pub(crate) const COLUMNS: &str = "seq, first_at, at, pass, subject, kind, text, count";

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: number(row, "seq")?,
            first_at: Timestamp::from_millis(number(row, "first_at")?),
            at: Timestamp::from_millis(number(row, "at")?),
            pass: PassNumber::new(number(row, "pass")?),
            subject: row.get("subject")?,
            kind: row.get("kind")?,
            text: Redacted::from(row.get::<_, String>("text")?),
            count: number(row, "count")?,
        })
    }
}

/// One pass, for the history that the console shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassRow {
    /// Its number.
    pub pass: PassNumber,
    /// When it began.
    pub at: Timestamp,
    /// What woke it.
    pub trigger: Redacted,
    /// How many facts were folded before it.
    pub facts: u32,
    /// How many transitions it made.
    pub transitions: u32,
    /// How many effects it sent.
    pub effects: u32,
    /// How many failures were among the facts.
    pub failures: u32,
    /// How long it took, in microseconds.
    pub micros: u64,
}

impl PassRow {
    pub(crate) const COLUMNS: &str =
        "number, at, cause, facts, transitions, effects, failures, micros";

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            pass: PassNumber::new(number(row, "number")?),
            at: Timestamp::from_millis(number(row, "at")?),
            trigger: Redacted::from(row.get::<_, String>("cause")?),
            facts: row.get("facts")?,
            transitions: row.get("transitions")?,
            effects: row.get("effects")?,
            failures: row.get("failures")?,
            micros: number(row, "micros")?,
        })
    }
}
