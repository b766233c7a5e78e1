//! `levelhead validate`: checks a file, and names everything that is wrong with it.

use std::path::Path;

use driver::config::{self, Catalogue};

use super::{
    args::Global,
    exit::{Exit, Outcome},
    out,
};

/// Checks `file`.
pub(crate) fn run(file: &Path, global: &Global, catalogue: &Catalogue) -> Outcome {
    let loaded = config::load(file, catalogue)?;
    let nodes: u64 = loaded.shape.groups().map(|group| u64::from(group.count)).sum();
    let groups = loaded.shape.groups().len();
    if global.json {
        out::json(&serde_json::json!({
            "valid": true,
            "run": loaded.shape.run,
            "uuid": loaded.shape.uuid,
            "groups": groups,
            "nodes": nodes,
        }))?;
    } else {
        out::line(format!("{} is valid: {groups} groups, {nodes} nodes", file.display()));
    }
    Ok(Exit::Done)
}
