//! The signals that concern a full-screen program.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::console::message::Msg;

/// The signals that are listened to.
pub(crate) struct Signals {
    term: Signal,
    hup: Signal,
    quit: Signal,
    int: Signal,
    stop: Signal,
    cont: Signal,
    size: Signal,
}

const STOP: i32 = 20;
const CONT: i32 = 18;

impl Signals {
    /// Starts listening.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            int: signal(SignalKind::interrupt())?,
            stop: signal(SignalKind::from_raw(STOP))?,
            cont: signal(SignalKind::from_raw(CONT))?,
            size: signal(SignalKind::window_change())?,
        })
    }

    /// The next signal as a message; a new size is asked for by the caller.
    pub(crate) async fn next(&mut self) -> Caught {
        tokio::select! {
            _ = self.term.recv() => ends(SignalKind::terminate()),
            _ = self.hup.recv() => ends(SignalKind::hangup()),
            _ = self.quit.recv() => ends(SignalKind::quit()),
            _ = self.int.recv() => ends(SignalKind::interrupt()),
            _ = self.stop.recv() => Caught::Told(Msg::Stop),
            _ = self.cont.recv() => Caught::Continued,
            _ = self.size.recv() => Caught::Resized,
        }
    }
}

const fn ends(kind: SignalKind) -> Caught {
    Caught::Told(Msg::Terminate(kind.as_raw_value()))
}

/// What a signal means.
pub(crate) enum Caught {
    /// A message.
    Told(Msg),
    /// The process goes on.
    Continued,
    /// The screen has another size.
    Resized,
}
