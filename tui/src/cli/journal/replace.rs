//! `levelhead journal restore` and `quarantine`: something else in the journal's place, once that is confirmed.

use std::path::Path;

use checkpoint::care::{
    manifest::Manifest,
    replace::{Preview, ReplaceError, Replacement, Source},
};
use reconciler_core::id::PlanHash;

use super::{
    super::{
        absolute::absolute,
        exit::{Exit, Failure, Outcome, chain},
        out, style,
    },
    place::{Place, not_taken, now},
};

use crate::place::quoted;

/// Puts a backup in the journal's place.
pub(super) fn restore(place: &Place, file: &Path, confirm: Option<PlanHash>) -> Outcome {
    let words = format!("restore {}", quoted(file));
    replace(place, Source::Backup(absolute(file)?), &words, confirm)
}

/// Sets the journal aside for an empty one.
pub(super) fn quarantine(place: &Place, confirm: Option<PlanHash>) -> Outcome {
    replace(place, Source::Nothing, "quarantine", confirm)
}

fn replace(place: &Place, source: Source, words: &str, confirm: Option<PlanHash>) -> Outcome {
    let seen = place.fence_seen()?;
    let dir = place.paths.dir();
    let replacement = Replacement { dir, source, run: place.run, seen, now: now() };
    let again = place.command(words);
    let failed = |error| failure(error, place, &again);
    let Some(hash) = confirm else {
        let preview = replacement.preview().map_err(failed)?;
        if place.global.json {
            out::json(&preview)?;
        } else {
            show(&preview, place);
            out::line(format!("next: {again} --confirm {}", preview.hash));
        }
        return Ok(Exit::Done);
    };
    let quiet = place.global.json;
    let mut tell = |deed: &str| {
        if !quiet {
            out::note(deed);
        }
    };
    let replaced = replacement.confirm(hash, &mut tell).map_err(failed)?;
    if place.global.json {
        out::json(&replaced)?;
        return Ok(Exit::Done);
    }
    if let Some(aside) = &replaced.aside {
        out::line(format!("the old journal lies in {}", aside.display()));
    }
    out::line(format!("the journal has fence {} now", replaced.preview.fence));
    out::note("next: start a driver; it looks at every provider before it does anything");
    Ok(Exit::Done)
}

fn show(preview: &Preview, place: &Place) {
    let present = match (preview.present, &preview.present_is) {
        (None, _) => "there is none".to_owned(),
        (Some(integrity), None) => format!("{}; what it holds is not known", integrity.as_str()),
        (Some(integrity), Some(is)) => format!("{}; {}", integrity.as_str(), described(is)),
    };
    out::line(format!("journal   {present}"));
    match &preview.backup {
        Some(backup) => {
            let made = style::time(backup.made_at);
            out::line(format!("becomes   {}, as it was at {made}", described(backup)));
        }
        None => out::line(
            "becomes   empty: every node of the run is an orphan then, and none is destroyed",
        ),
    }
    if preview.present.is_some() {
        out::line(format!("set aside to {}", place.paths.quarantine().display()));
    }
    out::line(format!("fence     {}, above all that are known", preview.fence));
}

fn described(is: &Manifest) -> String {
    let records = is.rows.get("record").copied().unwrap_or_default();
    format!("generation {}, fence {}, {records} records", is.generation, is.fence)
}

fn failure(error: ReplaceError, place: &Place, again: &str) -> Failure {
    match error {
        ReplaceError::Journal(error) => not_taken(error, place),
        ReplaceError::Backup(error) => error.into(),
        ReplaceError::File(error) => error.into(),
        ReplaceError::Stale { .. } => {
            let message = format!("{}; nothing was changed", chain(&error));
            Failure::new(Exit::Stale, message).hint(format!("{again} shows what it is now"))
        }
        ReplaceError::UnknownRun(_) => {
            Failure::new(Exit::Journal, chain(&error)).hint("name the run's file with --file FILE")
        }
    }
}
