//! `levelhead events`: what the journal tells, oldest first.

use std::time::Duration;

use driver::view::EventView;

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
    signals::{Stops, exit_of},
    style,
};

/// Time between two looks at the journal.
const PERIOD: Duration = Duration::from_millis(250);
/// Events read at once while following.
const PAGE: u32 = 1_000;

/// Prints events.
pub(crate) async fn run(
    context: &Context,
    after: Option<u64>,
    limit: u32,
    follow: bool,
) -> Outcome {
    let mut stops = Stops::listen()?;
    let mut seen = after;
    let mut page = driver::events(&context.paths, seen, limit).map_err(Failure::from)?;
    loop {
        for event in &page {
            print(context, event)?;
        }
        seen = page.last().map(|event| event.seq).or(seen);
        if !follow || out::nobody_reads() {
            return Ok(Exit::Done);
        }
        tokio::select! {
            reason = stops.requested() => return Ok(exit_of(reason)),
            () = tokio::time::sleep(PERIOD) => {}
        }
        page = driver::events(&context.paths, seen.or(Some(0)), PAGE).map_err(Failure::from)?;
    }
}

/// Prints one event.
pub(crate) fn print(context: &Context, event: &EventView) -> Result<(), Failure> {
    if context.global.json {
        return out::json(event);
    }
    let times = if event.count > 1 { format!(" (x{})", event.count) } else { String::new() };
    out::line(format!(
        "{:>6} {} pass {:<5} {:<16} {:<9} {}{times}",
        event.seq,
        style::time(event.at),
        event.pass,
        event.subject,
        event.kind,
        event.text
    ));
    Ok(())
}
