//! `levelhead events`: what the journal tells, oldest first.

use std::time::Duration;

use driver::{api::Client, view::EventView};

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
    if let Some(named) = &context.named {
        if after.is_some() {
            let failure =
                Failure::new(Exit::Usage, "--after counts in the journal of this machine");
            return Err(failure.hint("leave out --attach where the driver is, or --after"));
        }
        return elsewhere(context, &named.client, limit, follow).await;
    }
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

/// Prints events of a driver that was named: its journal is not here.
async fn elsewhere(context: &Context, client: &Client, limit: u32, follow: bool) -> Outcome {
    let mut stops = Stops::listen()?;
    let mut page = client.events(None, limit, false).await?;
    loop {
        if let Some(gap) = &page.gap {
            out::note(format!("warning: {gap}"));
        }
        for event in &page.events {
            print(context, event)?;
        }
        if !follow || out::nobody_reads() {
            return Ok(Exit::Done);
        }
        let cursor = page.cursor;
        page = tokio::select! {
            page = client.events(Some(&cursor), PAGE, true) => page?,
            reason = stops.requested() => return Ok(exit_of(reason)),
        };
    }
}

/// Prints one event.
pub(crate) fn print(context: &Context, event: &EventView) -> Result<(), Failure> {
    let event = &EventView { text: context.place.text(&event.text), ..event.clone() };
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
