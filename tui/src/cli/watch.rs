//! `levelhead watch`: what happens, a line each, for people, screen readers and programs.

use std::{collections::BTreeMap, time::Duration};

use driver::{Link, api::Seen, view::RunState};
use reconciler_core::id::LogicalNodeId;

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
    signals::{Stops, exit_of},
    status::nothing_happens,
};

/// Least time between two looks.
const PERIOD: Duration = Duration::from_millis(100);

/// Prints changes until interrupted, or until the driver is gone.
pub(crate) async fn run(context: &Context) -> Outcome {
    let Some(link) = context.attached().await? else { return Err(nothing_happens()) };
    follow(context, &link).await
}

/// The same of the driver at `link`.
pub(crate) async fn follow(context: &Context, link: &Link) -> Outcome {
    let mut looker = link.look();
    let mut stops = Stops::listen()?;
    let mut known: BTreeMap<LogicalNodeId, String> = BTreeMap::new();
    let (mut pass, mut state) = (0, None);
    loop {
        let seen = tokio::select! {
            seen = looker.next() => seen?,
            reason = stops.requested() => return Ok(exit_of(reason)),
        };
        let view = match seen {
            Seen::View(view) => view,
            Seen::Alive => continue,
            Seen::Gap(why) => {
                say(context, pass, "run", "gap", &why)?;
                continue;
            }
        };
        pass = view.pass.get();
        let mut gone = std::mem::take(&mut known);
        for node in &view.nodes {
            let hold = node.hold.map(|code| format!(" held ({})", code.as_str()));
            let deleting = if node.deleting { " deleting" } else { "" };
            let text = format!("{}{deleting}{}", node.stage.as_str(), hold.unwrap_or_default());
            if gone.remove(&node.slot).as_ref() != Some(&text) {
                let why = context.place.text(&node.reason);
                say(context, pass, &node.slot.to_string(), &text, &why)?;
            }
            known.insert(node.slot.clone(), text);
        }
        for slot in gone.into_keys() {
            say(context, pass, &slot.to_string(), "gone", "")?;
        }
        if out::nobody_reads() {
            return Ok(Exit::Done);
        }
        if state != Some(view.state) {
            let counts = format!("{} of {} ready", view.ready, view.want);
            say(context, pass, "run", word(view.state), &counts)?;
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
