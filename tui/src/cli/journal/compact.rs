//! `levelhead journal compact`: history dropped and room given back, once that is confirmed.

use std::{path::PathBuf, time::Duration};

use checkpoint::care::compact::{CompactError, Compaction, Preview};
use reconciler_core::{id::PlanHash, time::Millis};

use super::{
    super::{
        absolute::absolute,
        exit::{Exit, Failure, Outcome, chain},
        out,
    },
    place::{Place, not_taken, now, unsound},
};

use crate::place::quoted;

/// What is to go.
pub(super) struct Scope {
    pub(super) older_than: Duration,
    pub(super) keep: u64,
    pub(super) backup: Option<PathBuf>,
}

/// Shows what would go, or drops it.
pub(super) fn run(place: &Place, what: &Scope, confirm: Option<PlanHash>) -> Outcome {
    let named = what.backup.as_deref().map(|backup| format!(" --backup {}", quoted(backup)));
    let again = place.command(&format!(
        "compact --older-than {}s --keep {}{}",
        what.older_than.as_secs(),
        what.keep,
        named.unwrap_or_default()
    ));
    let compaction = Compaction {
        dir: place.paths.dir(),
        older_than: Millis::new(u64::try_from(what.older_than.as_millis()).unwrap_or(u64::MAX)),
        keep: what.keep,
        backup: what.backup.as_deref().map(absolute).transpose()?,
        now: now(),
    };
    let failed = |error| failure(error, place, &again);
    let Some(hash) = confirm else {
        let preview = compaction.preview().map_err(failed)?;
        if place.global.json {
            out::json(&preview)?;
        } else {
            show(&preview);
            out::line(format!("next: {again} --confirm {}", preview.hash));
        }
        return Ok(Exit::Done);
    };
    let done = compaction.confirm(hash).map_err(failed)?;
    if place.global.json {
        out::json(&done)?;
    } else {
        show(&done.preview);
        out::line(format!("the backup is {}", done.backup.display()));
        out::line(format!(
            "the journal is {}, and has {} bytes",
            done.integrity.as_str(),
            done.bytes
        ));
    }
    Ok(Exit::Done)
}

fn show(preview: &Preview) {
    let drops: Vec<String> = preview.drops.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    out::line(format!("drops {}", drops.join(", ")));
    out::line(format!("of a journal of {} bytes", preview.bytes));
}

fn failure(error: CompactError, place: &Place, again: &str) -> Failure {
    match error {
        CompactError::Journal(error) => not_taken(error, place),
        CompactError::Backup(error) => error.into(),
        CompactError::Unsound(report) => unsound(&report),
        CompactError::OtherContent(_) => {
            let message = format!("{}; nothing was changed", chain(&error));
            Failure::new(Exit::Refused, message).hint("make a new one, or leave --backup out")
        }
        CompactError::Stale { .. } => {
            let message = format!("{}; nothing was changed", chain(&error));
            Failure::new(Exit::Stale, message).hint(format!("{again} shows what it is now"))
        }
    }
}
