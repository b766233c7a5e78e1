//! The connection of an agent to its driver: made, lost, and made again, for as long as the agent lives.
//!
//! A driver that cannot be reached is waited for, with pauses that grow and are never quite the same, so that a fleet
//! does not come back in one moment. One that has a lower fence than the highest seen is an old one, and not talked to.

use std::{
    io,
    mem::{Discriminant, discriminant},
    time::Duration,
};

use reconciler_core::id::{Fence, SessionId};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, interval, sleep, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

use super::{
    protocol::{Frames, FromAgent, Hello, ToAgent, Welcome, send},
    settings::Settings,
};

/// How long a connection and its handshake may take, each.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long a driver may take to let an agent in: it may have to write down that it was started first.
const ANSWER_TIME: Duration = Duration::from_mins(1);
/// The first pause between two tries.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// The longest pause: a driver that is back is found within it.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Heartbeats that may be missed before the other side counts as gone.
pub(super) const BEATS_MISSED: u32 = 3;

/// What becomes of the connection.
#[derive(Debug)]
pub(super) enum News {
    /// It stands; what is sent to `to` goes to the driver while it does.
    Up {
        /// What the driver said.
        welcome: Welcome,
        /// The way to it.
        to: UnboundedSender<FromAgent>,
    },
    /// The driver said something.
    Heard(ToAgent),
    /// The driver refuses this agent, for this reason.
    Refused(String),
    /// It is gone.
    Down,
}

/// Why a connection is over, or never stood.
#[derive(Debug, thiserror::Error)]
enum LinkError {
    #[error("the driver cannot be reached")]
    Io(#[source] io::Error),
    #[error("the driver hung up")]
    HungUp,
    #[error("the driver does not answer")]
    Silent,
    #[error("the driver has fence {theirs}, and {seen} was seen: it is an old one")]
    Older { theirs: Fence, seen: Fence },
    #[error("the driver refuses: {0}")]
    Refused(String),
    #[error("the driver is not ready: {0}")]
    Later(String),
    #[error("the driver says something else than it was asked")]
    Nonsense,
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        // A driver that is killed takes no leave, and what TLS makes of that helps nobody.
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::HungUp } else { Self::Io(error) }
    }
}

/// A connection that is kept.
pub(super) struct Link {
    settings: Settings,
    fence: Fence,
    session: Option<SessionId>,
    news: UnboundedSender<News>,
    /// Why the driver is not there, as it was told last, while it is not.
    told: Option<Discriminant<LinkError>>,
}

impl Link {
    pub(super) const fn new(settings: Settings, news: UnboundedSender<News>) -> Self {
        let fence = settings.fence;
        Self { settings, fence, session: None, news, told: None }
    }

    /// Keeps it until nobody wants its news any more.
    pub(super) async fn keep(mut self) {
        let mut pause = PAUSE_FIRST;
        while !self.news.is_closed() {
            let Err(error) = self.once(&mut pause).await else { return };
            let why = Some(discriminant(&error));
            if std::mem::replace(&mut self.told, why) != why {
                tracing::warn!(error = chain(&error), driver = %self.settings.driver, "waiting for the driver");
            }
            if let LinkError::Refused(why) = error {
                drop(self.news.send(News::Refused(why)));
                pause = PAUSE_MAX;
            }
            drop(self.news.send(News::Down));
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Makes the connection and keeps it while it stands; ends well where nobody wants it any more.
    async fn once(&mut self, pause: &mut Duration) -> Result<(), LinkError> {
        let stream = timeout(CONNECT_TIME, TcpStream::connect(self.settings.driver.as_str()));
        let stream = stream.await.map_err(|_late| LinkError::Silent)??;
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(std::sync::Arc::clone(&self.settings.tls));
        let stream = timeout(CONNECT_TIME, connector.connect(self.settings.name.clone(), stream));
        let stream = stream.await.map_err(|_late| LinkError::Silent)??;
        let (read, mut write) = tokio::io::split(stream);
        let mut frames = Frames::new(read);
        let hello = Hello { session: self.session, ..self.settings.hello.clone() };
        send(&mut write, &hello).await?;
        let answer = timeout(ANSWER_TIME, frames.next::<ToAgent>());
        let welcome = match answer.await.map_err(|_late| LinkError::Silent)?? {
            ToAgent::Welcome(welcome) => welcome,
            ToAgent::Refused { why, again: true } => return Err(LinkError::Later(why)),
            ToAgent::Refused { why, again: false } => return Err(LinkError::Refused(why)),
            ToAgent::Beat | ToAgent::Taken | ToAgent::Ask { .. } => {
                return Err(LinkError::Nonsense);
            }
        };
        if welcome.fence < self.fence {
            return Err(LinkError::Older { theirs: welcome.fence, seen: self.fence });
        }
        self.fence = welcome.fence;
        self.session = Some(welcome.session);
        (*pause, self.told) = (PAUSE_FIRST, None);
        tracing::info!(driver = %self.settings.driver, fence = %self.fence, "joined the driver");
        let beat = Duration::from_millis(welcome.heartbeat_ms).max(PAUSE_FIRST);
        let (to, said) = unbounded_channel();
        drop(self.news.send(News::Up { welcome, to }));
        self.talk(&mut frames, &mut write, said, beat).await
    }

    async fn talk<R, W>(
        &self,
        frames: &mut Frames<R>,
        write: &mut W,
        mut said: UnboundedReceiver<FromAgent>,
        beat: Duration,
    ) -> Result<(), LinkError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let silence = beat * BEATS_MISSED;
        let mut beats = interval(beat);
        let mut silent_at = Instant::now() + silence;
        loop {
            let frame = tokio::select! {
                heard = timeout_at(silent_at, frames.next::<ToAgent>()) => {
                    let heard = heard.map_err(|_late| LinkError::Silent)??;
                    silent_at = Instant::now() + silence;
                    if heard != ToAgent::Beat {
                        drop(self.news.send(News::Heard(heard)));
                    }
                    continue;
                }
                said = said.recv() => match said {
                    Some(said) => said,
                    None => return Ok(()),
                },
                _ = beats.tick() => FromAgent::Beat,
            };
            let sent = timeout(silence, send(write, &frame));
            sent.await.map_err(|_late| LinkError::Silent)??;
        }
    }
}

/// Half of `pause` to all of it.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without random bytes it is half: shorter, and still a pause.
    if SystemRandom::new().fill(&mut byte).is_err() {
        return pause / 2;
    }
    pause / 2 + pause / 512 * u32::from(byte.first().copied().unwrap_or_default())
}

fn chain(error: &dyn std::error::Error) -> String {
    let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}
