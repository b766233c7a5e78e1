//! `levelhead explain`: why a slot is where it is, what was read to decide that, and what it waits for.
//!
//! The words come from the decider; only how they stand on the screen is decided here.

use driver::{
    Offline,
    api::CallError,
    system_clock,
    view::{ExplainView, Refusal},
};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out, style,
};
use crate::explained;

/// Explains a slot, or every slot of a group; with `short`, in one line each.
pub(crate) async fn run(context: &Context, subject: &str, short: bool) -> Outcome {
    let views = explained(context, subject).await?;
    let views: Vec<ExplainView> =
        views.into_iter().map(|view| context.place.explained(view)).collect();
    if context.global.json {
        out::json(&views)?;
        return Ok(Exit::Done);
    }
    if !views.iter().all(|view| view.driven) {
        out::note("nobody drives it, so nobody looks; this is what the journal says");
    }
    for view in &views {
        let shown = if short { vec![line(view)] } else { lines(view) };
        for line in shown {
            out::line(line);
        }
    }
    Ok(Exit::Done)
}

async fn explained(context: &Context, subject: &str) -> Result<Vec<ExplainView>, Failure> {
    let unknown =
        |refusal: Refusal| Failure::new(Exit::Invalid, refusal.message).hint("levelhead status");
    if let Some(link) = context.attached().await? {
        return link.explain(subject).await.map_err(|error| match error {
            CallError::Refused(refusal) => unknown(refusal),
            CallError::Socket { .. }
            | CallError::Broken(_)
            | CallError::Answer(_)
            | CallError::Call(_) => error.into(),
        });
    }
    let offline = Offline::open(&context.paths)?;
    let shape = &context.loaded.shape;
    let published = offline.published(&shape.run, shape.uuid, system_clock()());
    published.explain(subject).map_err(unknown)
}

fn line(view: &ExplainView) -> String {
    let due = view.node.due.map(|at| format!("; due {}", style::time(at)));
    format!("{}: {}{}", view.node.slot, view.node.reason, due.unwrap_or_default())
}

fn lines(view: &ExplainView) -> Vec<String> {
    let node = &view.node;
    let mut lines = vec![format!("{}: {}", node.slot, node.reason)];
    let mut add = |name: &str, value: &str| lines.push(format!("  {name:<19} {value}"));
    for (name, value) in explained::facts(view, style::time) {
        add(name, &value);
    }
    add("ready", if node.ready { "yes" } else { "no" });
    let beside = [
        ("endpoint", node.endpoint.clone()),
        ("last error", node.last_error.clone()),
        ("due", node.due.map(style::time)),
    ];
    let told = |name: &str| view.facts.iter().any(|fact| fact.name == name);
    for (name, value) in beside {
        if let Some(value) = value.filter(|_| !told(name)) {
            add(name, &value);
        }
    }
    for (name, value) in explained::obstacles(view) {
        add(name, &value);
    }
    lines
}
