//! Tells a service manager how the driver stands, over the socket that it named in `NOTIFY_SOCKET` (the protocol of
//! `sd_notify`, of which this is the sending half). Without such a socket nothing is told.
//!
//! The watchdog is fed with what the loop published or answered, so a loop that hangs is noticed.

use std::{
    env, io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    time::Duration,
};

use driver::view::RunState;

/// The way to the service manager.
#[derive(Debug)]
pub(crate) struct Notifier {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
    /// The status that was told last: one that does not change is told once.
    told: String,
    /// True if the last message did not arrive: that is logged once, not with each message.
    is_lost: bool,
}

/// What of a run is worth a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    /// How the run stands.
    pub(crate) state: RunState,
    /// Nodes that are ready, wanted, and held.
    pub(crate) counts: (u32, u32, u32),
    /// How long until the first node that backs off is tried again.
    pub(crate) retry: Option<Duration>,
}

impl Notifier {
    /// Reads what the service manager asked for.
    ///
    /// # Errors
    /// Fails if a socket is named that cannot be one.
    pub(crate) fn from_env() -> io::Result<Self> {
        let named = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let socket = match named {
            None => None,
            Some(name) => {
                let address = match name.as_bytes().strip_prefix(b"@") {
                    Some(name) => SocketAddr::from_abstract_name(name)?,
                    None => SocketAddr::from_pathname(&name)?,
                };
                let socket = UnixDatagram::unbound()?;
                socket.set_nonblocking(true)?;
                Some((socket, address))
            }
        };
        Ok(Self { socket, watchdog: watchdog(), told: String::new(), is_lost: false })
    }

    /// True if there is a service manager to be told.
    pub(crate) const fn is_active(&self) -> bool {
        self.socket.is_some()
    }

    /// How often the watchdog wants to hear of us; half of its patience.
    pub(crate) fn period(&self) -> Option<Duration> {
        self.watchdog.filter(|_| self.socket.is_some()).map(|patience| patience / 2)
    }

    /// Everything is taken, looked at and served.
    pub(crate) fn ready(&mut self, stand: Stand) {
        self.send(&format!("READY=1\nMAINPID={}", std::process::id()));
        self.status(stand);
    }

    /// How it stands, if that is news.
    pub(crate) fn status(&mut self, stand: Stand) {
        let text = line(stand);
        if text != self.told {
            self.send(&format!("STATUS={text}"));
            self.told = text;
        }
    }

    /// The loop is alive.
    pub(crate) fn alive(&mut self) {
        self.send("WATCHDOG=1");
    }

    /// It stops at its next safe point.
    pub(crate) fn stopping(&mut self) {
        self.send("STOPPING=1\nSTATUS=stopping at a safe point; the nodes keep running");
    }

    fn send(&mut self, text: &str) {
        let Some((socket, address)) = &self.socket else { return };
        let sent = socket.send_to_addr(text.as_bytes(), address);
        let was_lost = std::mem::replace(&mut self.is_lost, sent.is_err());
        match sent {
            Err(error) if !was_lost => {
                let what = text.lines().next().unwrap_or_default();
                tracing::warn!(%error, what, "the service manager cannot be told; the run is driven all the same");
            }
            Ok(_sent) if was_lost => tracing::info!("the service manager can be told again"),
            Ok(_) | Err(_) => {}
        }
    }
}

/// How patient the watchdog is, if there is one and it is for this process.
fn watchdog() -> Option<Duration> {
    let number = |name| env::var(name).ok()?.parse::<u64>().ok();
    let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    let micros = number("WATCHDOG_USEC").filter(|micros| ours && *micros > 0)?;
    Some(Duration::from_micros(micros))
}

/// One line for people: never success while something is held, failed or waits.
fn line(Stand { state, counts: (ready, want, held), retry }: Stand) -> String {
    let word = match state {
        RunState::Converged => "converged",
        RunState::Converging => "converging",
        RunState::Held => "held, waits for a person",
        RunState::Unattended => "unattended",
    };
    let held = if held > 0 { format!(", {held} held") } else { String::new() };
    let retry = retry.filter(|_| state != RunState::Converged);
    let retry =
        retry.map_or_else(String::new, |wait| format!(", next try in {} s", wait.as_secs()));
    format!("{word}: {ready} of {want} ready{held}{retry}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use driver::view::RunState;

    use super::{Stand, line};

    /// R186: held and backing off are said, and are not success.
    #[test]
    fn a_status_names_what_is_held_and_the_next_try() {
        let retry = Some(Duration::from_secs(12));
        let stand = Stand { state: RunState::Converging, counts: (3, 5, 1), retry };
        assert_eq!(line(stand), "converging: 3 of 5 ready, 1 held, next try in 12 s");
        let stand = Stand { state: RunState::Converged, counts: (5, 5, 0), retry };
        assert_eq!(line(stand), "converged: 5 of 5 ready");
    }
}
