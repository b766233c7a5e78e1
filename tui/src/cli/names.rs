//! `levelhead names`: what there is, for a shell that completes a word.

use std::time::Duration;

use super::{
    context::Context,
    exit::{Exit, Outcome},
    out, status,
    values::Named,
};

/// How long a driver may take to tell: somebody waits for the key that was pressed.
const PATIENCE: Duration = Duration::from_millis(500);

/// Prints the names, as the driver that runs knows them, else as the journal and the file do.
pub(crate) async fn run(context: &Context, what: Named) -> Outcome {
    let told = tokio::time::timeout(PATIENCE, status::view(context)).await;
    let view = match told {
        Ok(view) => view?,
        Err(_late) => status::journaled(context)?,
    };
    let groups = view.groups.iter().map(|group| group.group.to_string());
    let nodes = view.nodes.iter().map(|node| node.slot.to_string());
    let names: Vec<String> = match what {
        Named::Groups => groups.collect(),
        Named::Nodes => nodes.collect(),
        Named::Subjects => groups.chain(nodes).collect(),
        Named::Holds => view.holds.iter().map(|hold| hold.subject.clone()).collect(),
    };
    for name in names {
        out::line(name);
    }
    Ok(Exit::Done)
}
