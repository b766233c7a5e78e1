//! `levelhead watch`: what happens, a line each, for people, screen readers and programs.

use std::{collections::BTreeMap, time::Duration};

use driver::view::RunState;
use reconciler_core::id::LogicalNodeId;

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
    signals::{Stops, exit_of},
};

/// Least time between two looks.
const PERIOD: Duration = Duration::from_millis(100);

/// Prints changes until interrupted, or until the driver is gone.
pub(crate) async fn run(context: &Context) -> Outcome {
    let Some(link) = context.attached().await? else {
        let failure = Failure::new(Exit::Unavailable, "no driver runs, so nothing happens");
        return Err(failure.hint("levelhead driver"));
    };
    let mut stops = Stops::listen()?;
    let mut known: BTreeMap<LogicalNodeId, String> = BTreeMap::new();
    let (mut seen, mut state) = (None, None);
    loop {
        let view = tokio::select! {
            view = link.view(seen) => view?,
            reason = stops.requested() => return Ok(exit_of(reason)),
        };
        seen = Some(view.pass);
        let mut gone = std::mem::take(&mut known);
        for node in &view.nodes {
            let hold = node.hold.map(|code| format!(" held ({})", code.as_str()));
            let deleting = if node.deleting { " deleting" } else { "" };
            let text = format!("{}{deleting}{}", node.stage.as_str(), hold.unwrap_or_default());
            if gone.remove(&node.slot).as_ref() != Some(&text) {
                say(context, view.pass.get(), &node.slot.to_string(), &text, &node.reason)?;
            }
            known.insert(node.slot.clone(), text);
        }
        for slot in gone.into_keys() {
            say(context, view.pass.get(), &slot.to_string(), "gone", "")?;
        }
        if out::nobody_reads() {
            return Ok(Exit::Done);
        }
        if state != Some(view.state) {
            let counts = format!("{} of {} ready", view.ready, view.want);
            say(context, view.pass.get(), "run", word(view.state), &counts)?;
            state = Some(view.state);
        }
        tokio::select! {
            reason = stops.requested() => return Ok(exit_of(reason)),
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
}

const fn word(state: RunState) -> &'static str {
    match state {
        RunState::Converged => "converged",
        RunState::Converging => "converging",
        RunState::Held => "held",
        RunState::Unattended => "unattended",
    }
}

fn say(context: &Context, pass: u64, subject: &str, what: &str, why: &str) -> Result<(), Failure> {
    if context.global.json {
        let line = serde_json::json!({"pass": pass, "subject": subject, "what": what, "why": why});
        return out::json(&line);
    }
    let why = if why.is_empty() { String::new() } else { format!("  ({why})") };
    out::line(format!("pass {pass}: {subject} {what}{why}"));
    Ok(())
}
