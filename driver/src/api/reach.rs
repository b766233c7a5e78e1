//! Where a driver is called, and the way there.

use std::{fmt, io, path::PathBuf, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

use super::{call_error::CallError, remote::Remote, socket};

/// How long a driver may take from its lock to its socket.
const CONNECT_BOUND: Duration = Duration::from_secs(3);
/// Time between two tries to connect.
const CONNECT_PERIOD: Duration = Duration::from_millis(50);

/// A connection of either kind.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Where a driver is called.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// Its socket on this machine.
    Socket(PathBuf),
    /// Another machine.
    Remote(Box<Remote>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Remote(remote) => remote.fmt(f),
        }
    }
}

impl Target {
    /// Connects; a driver of this machine that is only starting gets a moment to open its socket.
    pub(super) async fn connect(&self) -> Result<Box<dyn Duplex>, CallError> {
        let patience = Instant::now() + CONNECT_BOUND;
        loop {
            let tried = match self {
                Self::Socket(path) => {
                    socket::connect(path).await.map(|stream| Box::new(stream) as Box<dyn Duplex>)
                }
                Self::Remote(remote) => {
                    remote.connect().await.map(|stream| Box::new(stream) as Box<dyn Duplex>)
                }
            };
            match tried {
                Ok(stream) => return Ok(stream),
                Err(error) if self.is_starting(&error) && Instant::now() < patience => {
                    tokio::time::sleep(CONNECT_PERIOD).await;
                }
                Err(source) => return Err(CallError::Socket { place: self.to_string(), source }),
            }
        }
    }

    /// True for what a socket says that is about to be opened.
    fn is_starting(&self, error: &io::Error) -> bool {
        match self {
            Self::Socket(_) => {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
            }
            Self::Remote(_) => false,
        }
    }
}

/// What is told of a driver that took a call and says nothing.
pub(super) fn silent(target: &Target) -> CallError {
    let text = "the driver is there and does not answer";
    let source = io::Error::new(io::ErrorKind::TimedOut, text);
    CallError::Socket { place: target.to_string(), source }
}
