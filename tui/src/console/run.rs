//! The loop: wait, drain, fold, paint. It sleeps without a timer unless something on the screen counts.

use std::{
    fs::File,
    io,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use reconciler_core::time::{Millis, Timestamp};
use rustix::process::{Signal, getpid, kill_process};
use tokio::time::sleep;

use super::{
    files,
    link::{Ask, ConsoleLink, LinkState, Lost, Reply, Request},
    message::{Cmd, Farewell, Moment, Msg, Perf},
    model::Model,
    options::Options,
    tape::Recorder,
    terminal::{Caught, Input, KeyEvent, Screen, Signals, guarded},
    update::update,
    view, wake,
};

/// Frames that nobody waits for come at most this often.
const FRAME: Duration = Duration::from_millis(16);

/// Why the console ended otherwise than by its user's wish.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// It needs a terminal and there is none.
    #[error("standard output is not a terminal that can show the console")]
    NotATerminal,
    /// The terminal failed.
    #[error("the terminal cannot be used")]
    Terminal(#[source] io::Error),
    /// The terminal went away.
    #[error("the terminal went away")]
    HungUp,
    /// A signal asked the process to end.
    #[error("signal {0} asks to end")]
    Signalled(i32),
}

impl From<io::Error> for ConsoleError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::Unsupported {
            return Self::NotATerminal;
        }
        Self::Terminal(error)
    }
}

/// Shows the console until its user leaves. The terminal is as before when this returns, whatever it returns.
/// Everything that reaches it is written to `record`, if there is one.
///
/// # Errors
/// There is no terminal, it fails or goes away, or a signal asks the process to end.
pub async fn run(
    link: ConsoleLink,
    options: Options,
    record: Option<File>,
) -> Result<(), ConsoleError> {
    let signals = Signals::listen()?;
    let screen = Screen::take(options.sync)?;
    let input = Input::start()?;
    let (width, height) = Screen::size()?;
    let recorder =
        record.map(|file| Recorder::begin(file, &options, (width, height))).transpose()?;
    let model = Model::new(options, width, height);
    let mut console = Console {
        clock: Clock::start(),
        link,
        link_open: true,
        replies_open: true,
        signals,
        screen,
        input,
        model,
        recorder,
        painted: None,
        urgent: true,
    };
    let farewell = console.serve().await?;
    drop(console);
    match farewell {
        Farewell::Asked => Ok(()),
        Farewell::HungUp => Err(ConsoleError::HungUp),
        Farewell::Signal(number) => Err(ConsoleError::Signalled(number)),
    }
}

struct Console {
    clock: Clock,
    link: ConsoleLink,
    link_open: bool,
    replies_open: bool,
    signals: Signals,
    // Before the input, so that the terminal is given back even if that thread were slow to end.
    screen: Screen,
    input: Input,
    model: Model,
    recorder: Option<Recorder>,
    painted: Option<Instant>,
    urgent: bool,
}

/// What woke the loop.
enum Woken {
    Key(Option<KeyEvent>),
    Link(bool),
    Reply(Option<Reply>),
    Signal(Caught),
    Time,
}

impl Console {
    async fn serve(&mut self) -> Result<Farewell, ConsoleError> {
        self.fold_quietly(Msg::Tick(self.clock.now()));
        let first = self.link_news();
        let mut farewell = self.fold(first)?;
        while farewell.is_none() {
            self.paint()?;
            let woken = self.wait().await;
            farewell = self.handle(woken)?;
        }
        Ok(farewell.unwrap_or(Farewell::Asked))
    }

    /// Sleeps until something happens, or until the screen would read differently.
    async fn wait(&mut self) -> Woken {
        let pause = self.pause();
        tokio::select! {
            biased;
            caught = self.signals.next() => Woken::Signal(caught),
            key = self.input.next() => Woken::Key(key),
            reply = self.link.replies.recv(), if self.replies_open => Woken::Reply(reply),
            changed = self.link.snapshots.changed(), if self.link_open => Woken::Link(changed.is_ok()),
            () = async { sleep(pause.unwrap_or_default()).await }, if pause.is_some() => Woken::Time,
        }
    }

    /// How long the loop may sleep at most: a frame is owed, or something on the screen counts.
    fn pause(&self) -> Option<Duration> {
        if self.model.is_dirty() {
            let since = self.painted.map_or(FRAME, |at| at.elapsed());
            return Some(FRAME.saturating_sub(since));
        }
        wake::next_wake(&self.model).map(|wait| Duration::from_millis(wait.get()))
    }

    fn handle(&mut self, woken: Woken) -> Result<Option<Farewell>, ConsoleError> {
        let mut batch = vec![Msg::Tick(self.clock.now())];
        match woken {
            Woken::Time => {}
            Woken::Key(key) => self.keys(key, &mut batch),
            Woken::Reply(Some(reply)) => {
                self.urgent = true;
                batch.push(Msg::Reply(reply));
            }
            Woken::Reply(None) => {
                self.replies_open = false;
                batch.push(self.lost("the driver's side is closed"));
            }
            Woken::Link(open) => {
                self.link_open = open;
                let news =
                    if open { self.link_news() } else { self.lost("the driver's side is closed") };
                batch.push(news);
            }
            Woken::Signal(Caught::Told(msg)) => batch.push(msg),
            Woken::Signal(Caught::Continued) => {
                self.screen.enter()?;
                batch.push(self.measured()?);
                batch.push(Msg::Resumed);
            }
            Woken::Signal(Caught::Resized) => batch.push(self.measured()?),
        }
        for msg in batch {
            if let Some(farewell) = self.fold(msg)? {
                return Ok(Some(farewell));
            }
        }
        Ok(None)
    }

    /// Takes every key that is there; a terminal that is gone is the last thing that is heard of it.
    fn keys(&mut self, first: Option<KeyEvent>, batch: &mut Vec<Msg>) {
        let mut next = Some(first.unwrap_or(KeyEvent::Hangup));
        while let Some(event) = next {
            batch.push(match event {
                KeyEvent::Key(key, read) => Msg::Key(key, self.clock.at(read)),
                KeyEvent::Click(column, row) => Msg::Click { column, row },
                KeyEvent::Hangup => Msg::Hangup,
            });
            next = self.input.waiting();
        }
        self.urgent = true;
    }

    fn measured(&mut self) -> Result<Msg, ConsoleError> {
        self.urgent = true;
        let (width, height) = Screen::size()?;
        Ok(Msg::Resize { width, height })
    }

    fn link_news(&mut self) -> Msg {
        match &*self.link.snapshots.borrow_and_update() {
            LinkState::Connecting => Msg::Connecting,
            LinkState::Live(view) => Msg::Snapshot(view.clone()),
            LinkState::Lagging(since) => Msg::Lagging(*since),
            LinkState::Lost(lost) => Msg::LinkLost(lost.clone()),
        }
    }

    fn lost(&self, why: &str) -> Msg {
        Msg::LinkLost(Lost::new(self.clock.now().wall, why))
    }

    /// Notes a message; a record that cannot be written any longer ends, and the console goes on.
    fn record(&mut self, msg: &Msg) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Err(error) = recorder.note(msg) {
            tracing::warn!(%error, "the record of the console ends here");
            self.recorder = None;
        }
    }

    fn fold(&mut self, msg: Msg) -> Result<Option<Farewell>, ConsoleError> {
        self.record(&msg);
        let cmds = guarded(|| update(&mut self.model, msg));
        for cmd in cmds {
            if let Some(farewell) = self.order(cmd)? {
                return Ok(Some(farewell));
            }
        }
        Ok(None)
    }

    fn order(&mut self, cmd: Cmd) -> Result<Option<Farewell>, ConsoleError> {
        match cmd {
            Cmd::Plan { id, edit } => self.send(Request { id, ask: Ask::Plan(edit) }),
            Cmd::Apply(confirmed) => self.send(confirmed.into_request()),
            Cmd::Survey { id, subject } => {
                self.send(Request { id, ask: Ask::Release { subject, confirm: None } });
            }
            Cmd::Release(confirmed) => self.send(confirmed.into_request()),
            Cmd::Operations { id } => self.send(Request { id, ask: Ask::Operations }),
            Cmd::Explain { id, subject } => {
                self.send(Request { id, ask: Ask::Explain(subject) });
            }
            Cmd::WriteBack { id, counts } => {
                self.send(Request { id, ask: Ask::WriteBack(counts) });
            }
            Cmd::Copy(text) => Screen::copy(&text)?,
            Cmd::Save { stem, parts } => {
                let saved = files::write(&stem, &parts).map_err(|error| error.to_string());
                return self.fold(Msg::Saved(saved));
            }
            Cmd::Reconnect => self.link.again.notify_one(),
            Cmd::Redraw => {
                self.screen.clear()?;
                self.urgent = true;
                self.model.mark_dirty();
            }
            Cmd::Suspend => {
                Screen::leave()?;
                kill_process(getpid(), Signal::STOP).map_err(io::Error::from)?;
            }
            Cmd::Quit(farewell) => return Ok(Some(farewell)),
        }
        Ok(None)
    }

    /// A request that nobody takes is a lost link.
    fn send(&mut self, request: Request) {
        if self.link.requests.send(request).is_err() {
            let msg = self.lost("the driver's side takes no requests");
            self.fold_quietly(msg);
        }
    }

    fn fold_quietly(&mut self, msg: Msg) {
        self.record(&msg);
        let ordered = guarded(|| update(&mut self.model, msg));
        debug_assert!(ordered.is_empty(), "the loss of a link orders nothing");
    }

    /// Paints if the screen is stale: at once for keys, sizes and answers, else at most once per frame time.
    fn paint(&mut self) -> Result<(), ConsoleError> {
        let due = self.painted.is_none_or(|at| at.elapsed() >= FRAME);
        let urgent = std::mem::take(&mut self.urgent);
        if !(urgent || due) || !self.model.take_dirty() {
            return Ok(());
        }
        let (screen, model) = (&mut self.screen, &self.model);
        Screen::mouse(model.takes_mouse())?;
        let (begun, sent) = (Instant::now(), Screen::sent());
        guarded(|| screen.paint(|frame| view::draw(model, frame)))?;
        self.painted = Some(Instant::now());
        let now = self.clock.now();
        self.fold_quietly(Msg::Painted(now));
        if self.model.perf.is_some() {
            let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            let (keys, replies) = (self.input.len(), self.link.replies.len());
            let bytes = Screen::sent().saturating_sub(sent);
            self.fold_quietly(Msg::Perf(Perf { micros, bytes, keys, replies }));
        }
        Ok(())
    }
}

/// Both clocks at once.
struct Clock {
    start: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now() }
    }

    fn now(&self) -> Moment {
        self.at(Instant::now())
    }

    fn at(&self, instant: Instant) -> Moment {
        let wall = SystemTime::now().checked_sub(instant.elapsed()).unwrap_or(UNIX_EPOCH);
        let wall = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mono = instant.saturating_duration_since(self.start);
        Moment { wall: Timestamp::from_millis(millis(wall)), mono: Millis::new(millis(mono)) }
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
