//! `levelhead explain`: why a slot is where it is, what it read, and what it waits for.

use driver::view::NodeView;

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out, status, style,
};

/// Explains a slot, or every slot of a group.
pub(crate) async fn run(context: &Context, subject: &str) -> Outcome {
    let view = status::view(context).await?;
    let of =
        |node: &&NodeView| node.slot.to_string() == subject || node.slot.group.as_str() == subject;
    let nodes: Vec<&NodeView> = view.nodes.iter().filter(of).collect();
    if nodes.is_empty() {
        let failure = Failure::new(Exit::Invalid, format!("there is no slot or group `{subject}`"));
        return Err(failure.hint(context.command(&format!("status {}", context.file_word()))));
    }
    if context.global.json {
        out::json(&nodes)?;
        return Ok(Exit::Done);
    }
    for node in nodes {
        for line in lines(node) {
            out::line(line);
        }
    }
    Ok(Exit::Done)
}

fn lines(node: &NodeView) -> Vec<String> {
    let mut lines = vec![
        format!("{}: {}", node.slot, node.reason),
        format!("  stage     {} since {}", node.stage.as_str(), style::time(node.since)),
        format!("  attempt   {}", node.attempt),
        format!("  ready     {}", if node.ready { "yes" } else { "no" }),
    ];
    let facts = [
        ("deleting", node.deleting.then(|| "yes".to_owned())),
        ("pending", node.pending.map(|command| command.as_str().to_owned())),
        ("due", node.due.map(style::time)),
        ("hold", node.hold.map(|code| code.as_str().to_owned())),
        ("failures", (node.failures > 0).then(|| node.failures.to_string())),
        ("error", node.last_error.clone()),
        ("lease", node.lease.clone()),
        ("endpoint", node.endpoint.clone()),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            lines.push(format!("  {name:<9} {fact}"));
        }
    }
    lines
}
