//! `levelhead init`: a commented starter file with a fresh identity.

use std::{fs::OpenOptions, io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use driver::config;
use reconciler_core::id::{RunName, Uuid};

use super::{
    exit::{Exit, Failure, Outcome},
    global::Global,
    out,
};
use crate::place::Place;

/// Writes a starter file to `file`, never over one that is there; with `uuid_only`, prints a UUID instead.
pub(crate) fn run(file: &Path, run: &str, uuid_only: bool, global: &Global) -> Outcome {
    let uuid = Uuid::from_bytes(*uuid::Uuid::new_v4().as_bytes());
    if uuid_only {
        out::line(uuid.to_string());
        return Ok(Exit::Done);
    }
    let run: RunName = run.parse().map_err(|error: reconciler_core::id::IdError| {
        Failure::new(Exit::Invalid, error.to_string())
    })?;
    let text = config::starter(&run, uuid);
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o644).open(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let failure =
            Failure::new(Exit::Invalid, format!("cannot write {}: {error}", file.display()));
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return failure.hint("give another name, or edit the file that is there");
        }
        failure
    })?;
    if global.json {
        out::json(&serde_json::json!({"file": file, "run": run, "uuid": uuid}))?;
        return Ok(Exit::Done);
    }
    out::note(format!("wrote {}", file.display()));
    let place = Place::new(file, global.state_dir.as_deref());
    out::note(format!("next: {}", place.command("plan")));
    Ok(Exit::Done)
}
