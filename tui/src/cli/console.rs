//! `levelhead console`: the full screen, on the driver that runs or on one of our own.

use std::{
    fs::File,
    io::{BufReader, ErrorKind, IsTerminal as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Arc,
};

use driver::{
    Begin, Face, Link, Source, StopReason,
    api::CallError,
    start,
    view::{ExplainView, Refusal, RefusalKind},
};
use reconciler_core::id::LogicalNodeId;
use rustix::process::Signal;
use tokio::sync::{Notify, mpsc, watch};

use super::{
    context::{Context, who},
    exit::{Exit, Failure, Outcome, chain},
    feed,
    global::Global,
    ground::Ground,
    linear, settings,
    values::{Palette, Screen},
    watch as watch_lines,
};
use crate::console::{
    self, ConsoleError,
    keymap::Keymap,
    link::{Ask, ConsoleLink, LinkState, Reply, Request},
    options::{Color, Options, ascii_from_locale},
    tape::{Player, TapeError},
};
use crate::place::Place;

/// Opens the console.
pub(crate) async fn run(context: &Context, how: &Screen) -> Outcome {
    let read_only = how.read_only || (context.named.is_some() && !how.write);
    if how.accessible || is_set(std::env::var_os("ACCESSIBLE")) {
        return in_lines(context, how, read_only).await;
    }
    if !std::io::stdout().is_terminal() || std::env::var_os("TERM").is_none_or(|t| t == "dumb") {
        let failure = Failure::new(Exit::Usage, "the console needs a terminal");
        return Err(failure.hint("`levelhead watch` prints the same, a line each"));
    }
    let keys = settings::read(&how.settings.origin())?.keys;
    let record = how.record.as_deref().map(fresh).transpose()?;
    let ground = Ground::of(context);
    let _guard = context.log()?;
    let options = |embedded| Options {
        ascii: ascii(how),
        color: color(&context.global, how),
        read_only,
        embedded,
        offset: offset(),
        who: who(),
        place: context.place.clone(),
        keys: keys.clone(),
        sync: !how.no_sync,
    };
    if let Some(link) = context.attached().await? {
        return shown(link, ground, options(false), record).await;
    }
    let mut driving = context.options(Begin::Driving, how.pace);
    driving.follow = Some(context.followed());
    let driver = start(driving).map_err(Failure::from)?;
    let handle = driver.handle();
    let link = Link::Embedded(handle.clone());
    let mut task = tokio::spawn(driver.run());
    let outcome = tokio::select! {
        outcome = shown(link, ground, options(true), record) => outcome,
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

/// The console without a screen: the same driver, a line for each change, and numbered questions.
async fn in_lines(context: &Context, how: &Screen, read_only: bool) -> Outcome {
    let _guard = context.log()?;
    if let Some(link) = context.attached().await? {
        return lines(context, &link, read_only).await;
    }
    let mut driving = context.options(Begin::Driving, how.pace);
    driving.follow = Some(context.followed());
    let driver = start(driving).map_err(Failure::from)?;
    let handle = driver.handle();
    let link = Link::Embedded(handle.clone());
    let mut task = tokio::spawn(driver.run());
    let outcome = tokio::select! {
        outcome = lines(context, &link, read_only) => outcome,
        ended = &mut task => {
            ended.map_err(|error| Failure::internal("the driver broke off", &error))??;
            return Err(Failure::new(Exit::Unavailable, "the driver has stopped"));
        }
    };
    handle.stop(StopReason::Done);
    task.await.map_err(|error| Failure::internal("the driver broke off", &error))??;
    outcome
}

/// Prints what changes, and answers who asks.
async fn lines(context: &Context, link: &Link, read_only: bool) -> Outcome {
    tokio::select! {
        outcome = watch_lines::follow(context, link) => outcome,
        outcome = linear::talk(context, link, read_only) => outcome,
    }
}

/// Where a record goes: a file that was not there, and that nobody else reads.
fn fresh(path: &Path) -> Result<File, Failure> {
    let made = File::options().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| {
        let shown = path.display();
        if error.kind() == ErrorKind::AlreadyExists {
            let failure = Failure::new(Exit::Invalid, format!("{shown} exists, and is kept"));
            return failure.hint("name a file that does not exist");
        }
        let failure = Failure::new(Exit::Invalid, format!("cannot record into {shown}: {error}"));
        failure.hint("name a file in a directory that exists and that you can write to")
    })
}

/// Shows what a record holds; no driver is asked.
pub(crate) async fn replay(global: &Global, file: &Path, how: &Screen, record: &Path) -> Outcome {
    let options = Options {
        ascii: ascii(how),
        color: color(global, how),
        read_only: false,
        embedded: false,
        offset: offset(),
        who: who(),
        place: Place::new(file, global.state_dir.as_deref()),
        // Those of the record count.
        keys: Keymap::default(),
        sync: !how.no_sync,
    };
    let read = |screen| {
        let file = File::open(record).map_err(TapeError::from)?;
        Player::read(BufReader::new(file), options, screen)
    };
    let played = console::replay(read).await.map_err(|error| {
        let text = format!("{}: {}", record.display(), chain(&error));
        Failure::new(Exit::Invalid, text).hint("name a file that `console --record` wrote")
    })?;
    ended(played)
}

/// How far from Greenwich times of day are told here, in seconds.
fn offset() -> i32 {
    jiff::tz::TimeZone::system().to_offset(jiff::Timestamp::now()).seconds()
}

fn ascii(how: &Screen) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).ok());
    how.ascii || !how.unicode && ascii_from_locale(locale.each_ref().map(Option::as_deref))
}

fn color(global: &Global, how: &Screen) -> Color {
    let color = when(global);
    match (how.palette, color) {
        (_, Color::Mono) | (Palette::Mono, _) => Color::Mono,
        (Palette::Ansi, color) => color,
        (Palette::Blind, _) => Color::Blind,
    }
}

fn when(global: &Global) -> Color {
    use super::global::When;
    match global.color {
        When::Always => Color::Sixteen,
        When::Never => Color::Mono,
        When::Auto => {
            let [refused, forced, term] =
                ["NO_COLOR", "CLICOLOR_FORCE", "TERM"].map(|name| std::env::var(name).ok());
            Color::from_env(refused.as_deref(), forced.as_deref(), term.as_deref())
        }
    }
}

async fn shown(link: Link, ground: Ground, options: Options, record: Option<File>) -> Outcome {
    let (shown, snapshots) = watch::channel(LinkState::Connecting);
    let (requests, asked) = mpsc::unbounded_channel();
    let (answers, replies) = mpsc::unbounded_channel();
    let source = Source { face: Face::Console, who: options.who.clone(), typed: None };
    let again = Arc::new(Notify::new());
    let mut feed = tokio::spawn(feed::feed(link.clone(), shown, Arc::clone(&again)));
    let mut serve = tokio::spawn(serve(link, ground, source, asked, answers));
    let cable = ConsoleLink { snapshots, requests, replies, again };
    let ended = console::run(cable, options, record).await;
    feed.abort();
    serve.abort();
    // Both were told to end; that they did so early is no error.
    drop(((&mut feed).await, (&mut serve).await));
    self::ended(ended)
}

fn ended(ended: Result<(), ConsoleError>) -> Outcome {
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

/// Answers what the console asks, in order.
async fn serve(
    link: Link,
    ground: Ground,
    source: Source,
    mut asked: mpsc::UnboundedReceiver<Request>,
    answers: mpsc::UnboundedSender<Reply>,
) {
    while let Some(Request { id, ask }) = asked.recv().await {
        let reply = match ask {
            Ask::Plan(edit) => {
                Reply::Plan(id, link.plan(edit).await.map(Box::new).map_err(refusal))
            }
            Ask::Apply { edit, hash, typed } => {
                let source = Source { typed, ..source.clone() };
                Reply::Applied(id, link.apply(edit, hash, source).await.map_err(refusal))
            }
            Ask::Release { subject, confirm } => {
                let released = link.release(subject, confirm).await;
                Reply::Release(id, released.map(Box::new).map_err(refusal))
            }
            Ask::Operations => Reply::Operations(id, ground.operations()),
            Ask::Explain(slot) => Reply::Explained(id, explained(&link, &slot).await),
            Ask::WriteBack(counts) => Reply::Written(id, ground.write_back(&counts)),
        };
        if answers.send(reply).is_err() {
            return;
        }
    }
}

async fn explained(link: &Link, slot: &LogicalNodeId) -> Result<Box<ExplainView>, Refusal> {
    let told = link.explain(&slot.to_string()).await.map_err(refusal)?;
    let gone = || Refusal {
        kind: RefusalKind::Invalid,
        message: format!("nothing is said of {slot}"),
        moved: Vec::new(),
        hint: None,
    };
    told.into_iter().next().map(Box::new).ok_or_else(gone)
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
