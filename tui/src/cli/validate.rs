//! `levelhead validate`: checks a file, and names everything that is wrong with it.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use driver::config::{self, Catalogue};
use reconciler_core::{desired::RunNodeGroupSpec, id::GroupId};

use super::{
    exit::{Exit, Outcome},
    global::Global,
    out,
};

/// Checks `file`.
pub(crate) fn run(file: &Path, global: &Global, catalogue: &Catalogue) -> Outcome {
    let loaded = config::load(file, catalogue)?;
    let nodes: u64 = loaded.shape.groups().map(|group| u64::from(group.count)).sum();
    let groups = loaded.shape.groups().len();
    let hooks: BTreeMap<_, Vec<_>> = loaded.shape.groups().filter_map(hooks_of).collect();
    if global.json {
        out::json(&serde_json::json!({
            "valid": true,
            "run": loaded.shape.run,
            "uuid": loaded.shape.uuid,
            "groups": groups,
            "nodes": nodes,
            "hooks": hooks,
        }))?;
    } else {
        out::line(format!("{} is valid: {groups} groups, {nodes} nodes", file.display()));
        for (group, points) in hooks {
            out::line(format!("hooks of {group}: {}", points.join(", ")));
        }
    }
    Ok(Exit::Done)
}

/// The hooks of a group by their points, if it declares any.
fn hooks_of(group: &Arc<RunNodeGroupSpec>) -> Option<(GroupId, Vec<&'static str>)> {
    let points: Vec<_> = group.policy.hooks.declared().map(|(point, _)| point.as_str()).collect();
    (!points.is_empty()).then(|| (group.group.clone(), points))
}
