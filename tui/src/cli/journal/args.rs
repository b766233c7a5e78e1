//! What can be typed after `levelhead journal`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use reconciler_core::id::PlanHash;

use super::super::values::duration;

/// Which journal.
#[derive(Clone, Debug, Args)]
pub(crate) struct Where {
    /// The desired-state file that names the run; needed only without --state-dir.
    #[arg(short, long, value_name = "FILE", env = "LEVELHEAD_FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Whether something is shown or done.
#[derive(Clone, Debug, Args)]
pub(crate) struct Sure {
    /// Show what would be done and its hash, and change nothing; so it is without --confirm.
    #[arg(long, conflicts_with = "confirm")]
    pub(crate) dry_run: bool,
    /// Do what a dry run with this hash showed.
    #[arg(long, value_name = "HASH")]
    pub(crate) confirm: Option<PlanHash>,
}

/// A verb on a journal.
#[derive(Debug, Subcommand)]
pub(crate) enum JournalVerb {
    /// Check pages, schema, every row, and what they say of each other. Writes nothing.
    Verify {
        /// A backup to check instead of the journal.
        #[arg(value_name = "BACKUP")]
        backup: Option<PathBuf>,
        #[command(flatten)]
        at: Where,
    },
    /// Copy the journal to a new file, beside a driver or without one.
    Backup {
        /// The file to make; one that exists is refused.
        #[arg(value_name = "BACKUP")]
        target: PathBuf,
        #[command(flatten)]
        at: Where,
    },
    /// Put a backup in the journal's place; the present journal is set aside. Needs that no driver runs.
    Restore {
        /// The backup.
        #[arg(value_name = "BACKUP")]
        backup: PathBuf,
        #[command(flatten)]
        sure: Sure,
        #[command(flatten)]
        at: Where,
    },
    /// Set the journal aside and begin an empty one whose fence goes on. Needs that no driver runs.
    Quarantine {
        #[command(flatten)]
        sure: Sure,
        #[command(flatten)]
        at: Where,
    },
    /// Drop history and give the room back, after a backup. Needs that no driver runs.
    Compact {
        /// Drop what is older than this.
        #[arg(long, value_name = "TIME", default_value = "7d", value_parser = age)]
        older_than: Duration,
        /// Keep at most this many of the newest rows of each kind.
        #[arg(long, value_name = "N", default_value_t = 100)]
        keep: u64,
        /// A backup of the journal as it is; without one it is made in the state directory.
        #[arg(long, value_name = "BACKUP")]
        backup: Option<PathBuf>,
        #[command(flatten)]
        sure: Sure,
        #[command(flatten)]
        at: Where,
    },
    /// Write everything as JSON, one row a line; what looks like a secret is left out.
    Export {
        /// A new file instead of stdout.
        #[arg(value_name = "TARGET")]
        target: Option<PathBuf>,
        #[command(flatten)]
        at: Where,
    },
    /// Show rows: operations, steps, events, passes, records, or all about one slot.
    Inspect {
        /// One of these words, or a slot such as `web-0`.
        #[arg(value_name = "WHAT", default_value = "records")]
        what: String,
        /// At most this many of each kind.
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
        #[command(flatten)]
        at: Where,
    },
}

/// Reads a length of time; days are written `7d`.
fn age(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    match days {
        Some(days) => Ok(Duration::from_secs(days.saturating_mul(86_400))),
        None => duration(text),
    }
}
