//! `levelhead journal backup`: the journal in one file that vouches for itself.

use std::path::Path;

use checkpoint::care::backup;

use super::{
    super::{
        exit::{Exit, Outcome},
        out,
    },
    place::{Place, now},
};

use crate::place::quoted;

/// Makes a backup.
pub(super) fn run(place: &Place, target: &Path) -> Outcome {
    let manifest = backup::make(place.paths.dir(), target, now())?;
    if place.global.json {
        out::json(&serde_json::json!({"file": target, "manifest": manifest}))?;
        return Ok(Exit::Done);
    }
    out::line(format!(
        "{}: run {}, generation {}, fence {}, {} records",
        target.display(),
        manifest.name,
        manifest.generation,
        manifest.fence,
        manifest.rows.get("record").copied().unwrap_or_default()
    ));
    out::line(format!("sha256 {}", manifest.sha256));
    let words = format!("restore {}", quoted(target));
    out::note(format!("next: {} puts it in the journal's place", place.command(&words)));
    Ok(Exit::Done)
}
