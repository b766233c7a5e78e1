//! `levelhead console`: the full screen, on the driver that runs or on one of our own.

use std::{io::IsTerminal as _, time::Duration};

use driver::{
    Begin, Face, Link, Source, StopReason,
    api::{CallError, Seen},
    start, system_clock,
    view::{Refusal, RefusalKind},
};
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};

use super::{
    context::{Context, who},
    exit::{Exit, Failure, Outcome, chain},
    out,
    values::Screen,
    watch as watch_lines,
};
use crate::console::{
    self, ConsoleError,
    link::{Ask, ConsoleLink, LinkState, Reply, Request},
    options::{Color, Options, ascii_from_locale},
};

/// Least time between two snapshots: more would not be seen.
const SNAPSHOT_PERIOD: Duration = Duration::from_millis(33);
/// Time between two tries to reach a driver that is gone.
const RETRY_PERIOD: Duration = Duration::from_millis(500);

/// Opens the console.
pub(crate) async fn run(context: &Context, how: &Screen) -> Outcome {
    let read_only = how.read_only || (context.named.is_some() && !how.write);
    if how.accessible || is_set(std::env::var_os("ACCESSIBLE")) {
        return in_lines(context, how).await;
    }
    if !std::io::stdout().is_terminal() || std::env::var_os("TERM").is_none_or(|t| t == "dumb") {
        let failure = Failure::new(Exit::Usage, "the console needs a terminal");
        return Err(failure.hint("`levelhead watch` prints the same, a line each"));
    }
    let _guard = context.log()?;
    let options = |embedded| Options {
        ascii: how.ascii
            || ascii_from_locale(
                ["LC_ALL", "LC_CTYPE", "LANG"]
                    .map(|n| std::env::var(n).ok())
                    .each_ref()
                    .map(Option::as_deref),
            ),
        color: color(context),
        read_only,
        embedded,
        who: who(),
        place: context.place.clone(),
    };
    if let Some(link) = context.attached().await? {
        return shown(link, options(false)).await;
    }
    let mut driving = context.options(Begin::Driving, how.pace);
    driving.follow = Some(context.followed());
    let driver = start(driving).map_err(Failure::from)?;
    let handle = driver.handle();
    let link = Link::Embedded(handle.clone());
    let mut task = tokio::spawn(driver.run());
    let outcome = tokio::select! {
        outcome = shown(link, options(true)) => outcome,
        ended = &mut task => {
            let ended = ended.map_err(|error| Failure::internal("the driver broke off", &error))?;
            ended?;
            return Err(Failure::new(Exit::Unavailable, "the driver has stopped"));
        }
    };
    handle.stop(StopReason::Done);
    task.await.map_err(|error| Failure::internal("the driver broke off", &error))??;
    outcome
}

/// True for a variable that says yes.
fn is_set(value: Option<std::ffi::OsString>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

/// The console without a screen: the same driver, and a line for each change, none of which is ever drawn over.
async fn in_lines(context: &Context, how: &Screen) -> Outcome {
    let _guard = context.log()?;
    let scale = context.command("scale GROUP=N");
    out::note(format!(
        "a line for each change; Ctrl-C ends it; `{scale}` elsewhere changes counts"
    ));
    if let Some(link) = context.attached().await? {
        return watch_lines::follow(context, &link).await;
    }
    let mut driving = context.options(Begin::Driving, how.pace);
    driving.follow = Some(context.followed());
    let driver = start(driving).map_err(Failure::from)?;
    let handle = driver.handle();
    let link = Link::Embedded(handle.clone());
    let mut task = tokio::spawn(driver.run());
    let outcome = tokio::select! {
        outcome = watch_lines::follow(context, &link) => outcome,
        ended = &mut task => {
            ended.map_err(|error| Failure::internal("the driver broke off", &error))??;
            return Err(Failure::new(Exit::Unavailable, "the driver has stopped"));
        }
    };
    handle.stop(StopReason::Done);
    task.await.map_err(|error| Failure::internal("the driver broke off", &error))??;
    outcome
}

fn color(context: &Context) -> Color {
    use super::args::When;
    match context.global.color {
        When::Always => Color::Sixteen,
        When::Never => Color::Mono,
        When::Auto => {
            let (no_color, term) = (std::env::var("NO_COLOR").ok(), std::env::var("TERM").ok());
            Color::from_env(no_color.as_deref(), term.as_deref())
        }
    }
}

async fn shown(link: Link, options: Options) -> Outcome {
    let (shown, snapshots) = watch::channel(LinkState::Connecting);
    let (requests, asked) = mpsc::unbounded_channel();
    let (answers, replies) = mpsc::unbounded_channel();
    let source = Source { face: Face::Console, who: options.who.clone() };
    let mut feed = tokio::spawn(feed(link.clone(), shown));
    let mut serve = tokio::spawn(serve(link, source, asked, answers));
    let cable = ConsoleLink { snapshots, requests, replies };
    let ended = console::run(cable, options).await;
    feed.abort();
    serve.abort();
    // Both were told to end; that they did so early is no error.
    drop(((&mut feed).await, (&mut serve).await));
    match ended {
        Ok(()) => Ok(Exit::Done),
        Err(ConsoleError::Signalled(number)) if number == Signal::INT.as_raw() => {
            Ok(Exit::Interrupted)
        }
        // A terminal that hung up and a request to stop both end a console that did its work.
        Err(ConsoleError::Signalled(_) | ConsoleError::HungUp) => Ok(Exit::Terminated),
        Err(error @ ConsoleError::NotATerminal) => Err(Failure::new(Exit::Usage, chain(&error))),
        Err(error @ ConsoleError::Terminal(_)) => Err(Failure::new(Exit::Internal, chain(&error))),
    }
}

/// Brings snapshots to the console; the newest wins.
async fn feed(link: Link, shown: watch::Sender<LinkState>) {
    let clock = system_clock();
    let mut looker = link.look();
    loop {
        match looker.next().await {
            Ok(Seen::View(view)) => {
                if shown.send(LinkState::Live(view)).is_err() {
                    return;
                }
                tokio::time::sleep(SNAPSHOT_PERIOD).await;
            }
            // The screen shows the present, whatever was missed.
            Ok(Seen::Gap(why)) => tracing::debug!(why, "the console missed changes"),
            Err(error) => {
                let lost_before = matches!(*shown.borrow(), LinkState::Lost { .. });
                let state = LinkState::Lost { since: clock(), why: chain(&error) };
                if !lost_before && shown.send(state).is_err() {
                    return;
                }
                tokio::time::sleep(RETRY_PERIOD).await;
            }
        }
    }
}

/// Answers what the console asks, in order.
async fn serve(
    link: Link,
    source: Source,
    mut asked: mpsc::UnboundedReceiver<Request>,
    answers: mpsc::UnboundedSender<Reply>,
) {
    while let Some(Request { id, ask }) = asked.recv().await {
        let reply = match ask {
            Ask::Plan(edit) => {
                Reply::Plan(id, link.plan(edit).await.map(Box::new).map_err(refusal))
            }
            Ask::Apply { edit, hash } => {
                Reply::Applied(id, link.apply(edit, hash, source.clone()).await.map_err(refusal))
            }
        };
        if answers.send(reply).is_err() {
            return;
        }
    }
}

fn refusal(error: CallError) -> Refusal {
    match error {
        CallError::Refused(refusal) => refusal,
        error @ (CallError::Socket { .. }
        | CallError::Broken(_)
        | CallError::Answer(_)
        | CallError::Call(_)) => Refusal {
            kind: RefusalKind::Unavailable,
            message: chain(&error),
            moved: Vec::new(),
            hint: Some("look again before you try again".to_owned()),
        },
    }
}
