//! Takes connections and serves each of them, within the bounds of `limits`, until the driver stops.

use std::{sync::Arc, time::Duration};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use super::{
    limits::{CONNECTIONS, HANDSHAKE_TIME, HEAD_BYTES, HEAD_TIME, HEADERS, STALL_TIME},
    rights::Peer,
    tally::Tally,
};

/// What a client reads that finds no place.
const NO_PLACE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    content-length: 69\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    {\"kind\":\"busy\",\"message\":\"no place\",\"moved\":[],\"hint\":\"try it again\"}";
/// Wait after an accept that failed, as where no descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where connections come from.
pub(super) enum Door {
    /// The socket of the run.
    Unix(UnixListener),
    /// The network.
    Tls(TcpListener, TlsAcceptor),
}

/// A connection before anything was said.
enum Knock {
    Unix(UnixStream),
    Tls(TcpStream, TlsAcceptor),
}

impl Door {
    async fn accept(&self) -> std::io::Result<Knock> {
        match self {
            Self::Unix(listener) => Ok(Knock::Unix(listener.accept().await?.0)),
            Self::Tls(listener, tls) => Ok(Knock::Tls(listener.accept().await?.0, tls.clone())),
        }
    }
}

impl Knock {
    /// Tells that there is no place. Who does not get this sees that the connection was closed.
    fn turn_away(&self) {
        if let Self::Unix(stream) = self {
            drop(stream.try_write(NO_PLACE));
        }
    }

    /// Serves it to its end.
    async fn serve(self, router: Router, closed: watch::Receiver<bool>) {
        match self {
            Self::Unix(stream) => connection(stream, router, closed).await,
            Self::Tls(stream, tls) => {
                drop(stream.set_nodelay(true));
                match timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                    Ok(Ok(stream)) => {
                        let is_certified = stream.get_ref().1.peer_certificates().is_some();
                        let router = router.layer(Extension(Peer { is_certified }));
                        connection(stream, router, closed).await;
                    }
                    Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
                    Err(_late) => tracing::debug!("a handshake took too long"),
                }
            }
        }
    }
}

/// Serves connections of `door` until `closed` is told; then what was asked before is answered still.
pub(super) async fn serve(
    door: Door,
    router: Router,
    tally: Arc<Tally>,
    mut closed: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut served = JoinSet::new();
    let closing = closed.clone();
    loop {
        let accepted = tokio::select! {
            accepted = door.accept() => accepted,
            () = told(&mut closed) => break,
        };
        while served.try_join_next().is_some() {}
        let knock = match accepted {
            Ok(knock) => knock,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tally.turned_away.up();
            knock.turn_away();
            continue;
        };
        let (router, tally, closed) = (router.clone(), Arc::clone(&tally), closing.clone());
        served.spawn(async move {
            tally.connections.up();
            knock.serve(router, closed).await;
            tally.connections.down();
            drop(place);
        });
    }
    while served.join_next().await.is_some() {}
}

/// Serves one connection to its end. A client that takes nothing, or says nothing, is cut.
async fn connection<S>(stream: S, router: Router, mut closed: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_TIME));
    let io = TokioIo::new(Box::pin(stream));
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADERS)
            .serve_connection(io, TowerToHyperService::new(router))
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told(&mut closed) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of the control API broke off");
    }
}

/// Waits until the end is told; the sender tells by going away, too.
pub(super) async fn told(closed: &mut watch::Receiver<bool>) {
    drop(closed.wait_for(|closed| *closed).await);
}
