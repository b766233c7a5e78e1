//! The thread that reads keys.
//!
//! It waits in poll(2) on the terminal itself, because the library's own wait misses a hang-up and then spins,
//! and reads no more than what the terminal has ready. After a hang-up it never touches the library again.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossterm::event::{
    self, Event, KeyCode, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    termios::isatty,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::guard::guarded;
use crate::console::message::Key;

/// What the thread reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyEvent {
    /// A key, and when it was read.
    Key(Key, Instant),
    /// A click on a cell.
    Click(u16, u16),
    /// The terminal is gone; nothing follows.
    Hangup,
}

/// How long to ask the library for more. With a wait of zero it never reads, and if its thread is not run for as
/// long as it may wait, it says that there is nothing although it holds keys. So it is asked for long, and twice;
/// that delays no key, because it answers as soon as it has one.
const DRAIN: Duration = Duration::from_millis(20);
const DRAIN_TIMES: u8 = 2;

/// The running thread.
pub(crate) struct Input {
    events: UnboundedReceiver<KeyEvent>,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Input {
    /// Starts reading.
    pub(crate) fn start() -> io::Result<Self> {
        let tty = Tty::open()?;
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let (sender, events) = unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("console-input".to_owned())
            .spawn(move || guarded(|| read_all(&tty, &stopped, &sender)))?;
        Ok(Self { events, stop: Some(stop), thread: Some(thread) })
    }

    /// The next event; nothing once the thread has ended.
    pub(crate) async fn next(&mut self) -> Option<KeyEvent> {
        self.events.recv().await
    }

    /// How many events wait.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// An event that is there already.
    pub(crate) fn waiting(&mut self) -> Option<KeyEvent> {
        self.events.try_recv().ok()
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Err(_panic)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the thread that reads keys had panicked");
        }
    }
}

/// The terminal that the library reads from, by the library's own rule.
enum Tty {
    Stdin(io::Stdin),
    Opened(File),
}

impl Tty {
    fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        if isatty(&stdin) {
            return Ok(Self::Stdin(stdin));
        }
        File::options().read(true).write(true).open("/dev/tty").map(Self::Opened)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stdin(stdin) => stdin.as_fd(),
            Self::Opened(file) => file.as_fd(),
        }
    }
}

fn read_all(tty: &Tty, stopped: &OwnedFd, sender: &UnboundedSender<KeyEvent>) {
    loop {
        let report = match wait(tty, stopped) {
            Wake::Stopped => return,
            Wake::Gone => Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
            Wake::Ready => drain(sender),
        };
        match report {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::debug!(%error, "no more keys");
                if sender.send(KeyEvent::Hangup).is_err() {
                    tracing::debug!("the console ended before its terminal did");
                }
                return;
            }
        }
    }
}

enum Wake {
    Ready,
    Gone,
    Stopped,
}

fn wait(tty: &Tty, stopped: &OwnedFd) -> Wake {
    let mut fds =
        [PollFd::from_borrowed_fd(tty.fd(), PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
    match poll(&mut fds, None) {
        Ok(_ready) => {}
        Err(Errno::INTR) => return Wake::Ready,
        Err(_error) => return Wake::Gone,
    }
    let [tty, stopped] = fds.map(|fd| fd.revents());
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if !stopped.is_empty() {
        Wake::Stopped
    } else if tty.intersects(gone) {
        Wake::Gone
    } else {
        Wake::Ready
    }
}

/// Reads what is ready; false if nobody listens any more.
fn drain(sender: &UnboundedSender<KeyEvent>) -> io::Result<bool> {
    let mut quiet = 0_u8;
    while quiet < DRAIN_TIMES {
        if !event::poll(DRAIN)? {
            quiet = quiet.saturating_add(1);
            continue;
        }
        quiet = 0;
        if let Some(event) = used(&event::read()?)
            && sender.send(event).is_err()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What an event of the library means here; the wheel moves like the arrows.
fn used(event: &Event) -> Option<KeyEvent> {
    let pressed = |key| KeyEvent::Key(key, Instant::now());
    let Event::Mouse(mouse) = event else { return key(event).map(pressed) };
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(KeyEvent::Click(mouse.column, mouse.row)),
        MouseEventKind::ScrollUp => Some(pressed(Key::Up)),
        MouseEventKind::ScrollDown => Some(pressed(Key::Down)),
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => None,
    }
}

/// The console's key for an event of the library. Sizes come by signal, everything else is not used.
fn key(event: &Event) -> Option<Key> {
    let Event::Key(event) = event else { return None };
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let held = event.modifiers.difference(KeyModifiers::SHIFT);
    if held == KeyModifiers::CONTROL {
        let KeyCode::Char(letter) = event.code else { return None };
        return Some(Key::Ctrl(letter.to_ascii_lowercase()));
    }
    if !held.is_empty() {
        return None;
    }
    plain(event.code)
}

fn plain(code: KeyCode) -> Option<Key> {
    match code {
        KeyCode::Char(c) => Some(Key::Char(c)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Esc),
        KeyCode::Tab => Some(Key::Tab),
        KeyCode::BackTab => Some(Key::BackTab),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::Left => Some(Key::Left),
        KeyCode::Right => Some(Key::Right),
        KeyCode::Home => Some(Key::Home),
        KeyCode::End => Some(Key::End),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Delete
        | KeyCode::Insert
        | KeyCode::F(_)
        | KeyCode::Null
        | KeyCode::CapsLock
        | KeyCode::ScrollLock
        | KeyCode::NumLock
        | KeyCode::PrintScreen
        | KeyCode::Pause
        | KeyCode::Menu
        | KeyCode::KeypadBegin
        | KeyCode::Media(_)
        | KeyCode::Modifier(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent as Raw;

    use super::*;

    #[test]
    fn keys_with_alt_and_releases_are_not_used() {
        let press = |code, modifiers| key(&Event::Key(Raw::new(code, modifiers)));
        assert_eq!(press(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Key::Char('G')));
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Ctrl('c')));
        assert_eq!(press(KeyCode::Char('y'), KeyModifiers::ALT), None);
        assert_eq!(press(KeyCode::Delete, KeyModifiers::NONE), None);
        let release = Raw::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(key(&Event::Key(release)), None);
    }
}
