//! The talk with one agent: who it is, what it says, and what it is told, for as long as both sides live.

use std::{io, time::Duration};

use executor::agent::{
    Grants,
    protocol::{Frames, FromAgent, Hello, ToAgent, VERSION, Welcome, send},
};
use reconciler_core::id::{AgentSeal, LogicalNodeId, SessionId, Uuid};
use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot},
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsAcceptor;

use super::{
    super::limits::{HANDSHAKE_TIME, HEAD_TIME},
    door::{DoorError, Opened},
};
use crate::{agents::SILENCE, inbox::Wake, view::Refusal};

/// What comes of an agent.
#[derive(Debug)]
pub(crate) enum Heard {
    /// What came of opening the door.
    Opened(Result<Opened, DoorError>),
    /// One with a good token wants to be let in.
    Knock(Knock),
    /// One that was let in says something.
    Said {
        /// Its attempt.
        attempt: Uuid,
        /// Its connection.
        connection: u64,
        /// What.
        said: FromAgent,
    },
    /// The connection of one that was let in is over.
    Gone {
        /// Its attempt.
        attempt: Uuid,
        /// Its connection.
        connection: u64,
    },
}

/// An agent that wants to be let in.
#[derive(Debug)]
pub(crate) struct Knock {
    /// Its slot, as it says.
    pub(crate) slot: LogicalNodeId,
    /// Its attempt: the token is of that.
    pub(crate) attempt: Uuid,
    /// What tells it from others with the same token.
    pub(crate) seal: AgentSeal,
    /// The session that it joined before, as it says.
    pub(crate) session: Option<SessionId>,
    /// The number of its connection.
    pub(crate) connection: u64,
    /// The way to it.
    pub(crate) to: mpsc::UnboundedSender<Said>,
    /// Whether it is let in.
    pub(crate) answer: oneshot::Sender<Result<Welcome, Turned>>,
}

/// Why an agent is turned away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turned {
    /// Why.
    pub(crate) why: &'static str,
    /// True if it may be let in when it asks again.
    pub(crate) again: bool,
}

/// What is said to an agent.
#[derive(Debug)]
pub(crate) enum Said {
    /// This.
    Now(ToAgent),
    /// That its end is taken, once it is written down.
    Taken(oneshot::Receiver<Result<(), Refusal>>),
}

/// Tells the driver that a connection is over, however it ends.
struct Ends {
    inbox: mpsc::UnboundedSender<Wake>,
    attempt: Uuid,
    connection: u64,
}

impl Drop for Ends {
    fn drop(&mut self) {
        let Self { attempt, connection, .. } = *self;
        // A driver that is gone does not want to know.
        drop(self.inbox.send(Wake::Agent(Heard::Gone { attempt, connection })));
    }
}

/// Talks with one agent to the end.
pub(super) async fn talk(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    grants: &Grants,
    (inbox, connection): (mpsc::UnboundedSender<Wake>, u64),
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let stream = timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await??;
    let (read, mut write) = tokio::io::split(stream);
    let mut frames = Frames::new(read);
    let hello = timeout(HEAD_TIME, frames.next::<Hello>()).await??;
    let (to, said) = mpsc::unbounded_channel();
    let attempt = hello.attempt;
    let turned = match asked(hello, grants, &inbox, (connection, to)).await {
        Ok(welcome) => {
            let ends = Ends { inbox, attempt, connection };
            send(&mut write, &ToAgent::Welcome(welcome)).await?;
            return go_on(&mut frames, &mut write, said, &ends).await;
        }
        Err(turned) => turned,
    };
    let Turned { why, again } = turned;
    send(&mut write, &ToAgent::Refused { why: why.to_owned(), again }).await
}

/// Asks the driver whether the agent is let in.
async fn asked(
    hello: Hello,
    grants: &Grants,
    inbox: &mpsc::UnboundedSender<Wake>,
    (connection, to): (u64, mpsc::UnboundedSender<Said>),
) -> Result<Welcome, Turned> {
    let never = |why| Turned { why, again: false };
    if hello.version != VERSION {
        return Err(never("it speaks another version of the protocol"));
    }
    if !grants.knows(&hello) {
        tracing::warn!(slot = %hello.slot, attempt = %hello.attempt, "an agent showed a token that is not good");
        return Err(never("the token is not good"));
    }
    let (answer, reply) = oneshot::channel();
    let seal = hello.seal();
    let Hello { slot, attempt, session, .. } = hello;
    let knock = Knock { slot, attempt, seal, session, connection, to, answer };
    let stops = || Turned { why: "the driver stops", again: true };
    inbox.send(Wake::Agent(Heard::Knock(knock))).map_err(|_gone| stops())?;
    reply.await.unwrap_or_else(|_gone| Err(stops()))
}

/// Passes on what is said, either way, until one side is gone or silent.
async fn go_on<R, W>(
    frames: &mut Frames<R>,
    write: &mut W,
    mut said: mpsc::UnboundedReceiver<Said>,
    ends: &Ends,
) -> io::Result<()>
where
    R: tokio::io::AsyncRead + Unpin,
    W: tokio::io::AsyncWrite + Unpin,
{
    let Ends { inbox, attempt, connection } = ends;
    let (attempt, connection) = (*attempt, *connection);
    let mut silent_at = Instant::now() + SILENCE;
    loop {
        let frame = tokio::select! {
            heard = timeout_at(silent_at, frames.next::<FromAgent>()) => {
                let heard = heard??;
                silent_at = Instant::now() + SILENCE;
                if heard == FromAgent::Beat {
                    ToAgent::Beat
                } else {
                    let heard = Heard::Said { attempt, connection, said: heard };
                    if inbox.send(Wake::Agent(heard)).is_err() {
                        return Ok(());
                    }
                    continue;
                }
            }
            said = said.recv() => match said {
                Some(Said::Now(frame)) => frame,
                Some(Said::Taken(written)) => match written.await {
                    Ok(Ok(())) => ToAgent::Taken,
                    Ok(Err(_)) | Err(_) => return Ok(()),
                },
                // Another connection of the same agent took its place.
                None => return Ok(()),
            },
        };
        timeout(SILENCE.max(Duration::from_secs(1)), send(write, &frame)).await??;
    }
}
