//! `levelhead export`: the live counts, written into the file with its comments kept.

use std::{collections::BTreeMap, fs, io::Write as _, path::Path};

use driver::config;
use reconciler_core::id::GroupId;

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome, chain},
    out, status,
};

/// Prints the file with the live counts, or writes it.
pub(crate) async fn run(context: &Context, write: bool) -> Outcome {
    let view = status::view(context).await?;
    let source =
        config::read(&context.file).map_err(|error| Failure::new(Exit::Invalid, chain(&error)))?;
    let declared = |group: &GroupId| context.loaded.shape.group(group).is_some();
    let groups = view.groups.iter().filter(|group| declared(&group.group));
    let counts: BTreeMap<GroupId, u32> = groups.map(|g| (g.group.clone(), g.want)).collect();
    let text = config::with_counts(&source.text, &counts)
        .map_err(|error| Failure::new(Exit::Invalid, chain(&error)))?;
    if context.global.json {
        out::json(&serde_json::json!({"file": context.file, "counts": counts, "text": text}))?;
    }
    if !write && context.global.json {
        return Ok(Exit::Done);
    }
    if !write {
        out::raw(text.as_bytes());
        return Ok(Exit::Done);
    }
    if text == source.text {
        out::note(format!("{} has the live counts already", context.file.display()));
        return Ok(Exit::Done);
    }
    replace(&context.file, &text).map_err(|error| {
        Failure::new(Exit::Invalid, format!("cannot write {}: {error}", context.file.display()))
    })?;
    out::note(format!("wrote the live counts into {}", context.file.display()));
    Ok(Exit::Done)
}

/// Puts `text` in the place of `file` in one step, so that a reader sees the old or the new one.
pub(crate) fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let beside = file.with_extension("toml.new");
    let mut new = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let written = new.write_all(text.as_bytes()).and_then(|()| new.sync_all());
    let placed = written
        .and_then(|()| fs::set_permissions(&beside, fs::metadata(file)?.permissions()))
        .and_then(|()| fs::rename(&beside, file));
    if placed.is_err() {
        fs::remove_file(&beside)?;
    }
    placed
}
