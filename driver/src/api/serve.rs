//! Serves a driver's handle: the socket of its run, and what is made once for all who watch.

use std::{fs, io, path::PathBuf, sync::Arc};

use axum::Router;
use checkpoint::paths::StatePaths;
use tokio::{
    net::{TcpListener, UnixListener},
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot, watch,
    },
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{
    accept::{self, Door},
    agents,
    feed::Feed,
    listen::Listen,
    rights::Guard,
    server::router,
    shared::Api,
    socket,
    tally::Tally,
};
use crate::{clock::Clock, handle::Handle, inbox::Wake, watch_file::watch_file};

/// What is served.
pub(crate) struct Serving {
    /// The driver.
    pub(crate) handle: Handle,
    /// Where its run is.
    pub(crate) paths: StatePaths,
    /// The time.
    pub(crate) clock: Clock,
    /// The network, if it is served there too.
    pub(crate) listen: Option<Listen>,
    /// The doors to agents that are to be opened.
    pub(crate) doors: mpsc::UnboundedReceiver<agents::Opening>,
    /// Where what agents say goes.
    pub(crate) inbox: mpsc::UnboundedSender<Wake>,
}

/// Serves until `closed` is told or its other end is gone; then what was asked before is answered still.
///
/// # Errors
/// Fails if the socket cannot be bound.
pub(crate) async fn serve(serving: Serving, closed: oneshot::Receiver<()>) -> io::Result<()> {
    let Serving { handle, paths, clock, listen, doors, inbox } = serving;
    let listener = socket::listen(&paths.socket())?;
    let tally = Arc::new(Tally::default());
    let feed = Feed::new(epoch(&handle));
    let making = feed.clone().run(handle.clone());
    let api = Api { handle, paths, clock, feed, tally: Arc::clone(&tally) };
    let (close, closing) = watch::channel(false);
    let network = network(listen, &api, closing.clone())?;
    let agents = agents::serve(doors, inbox, closing.clone());
    let path = api.paths.socket();
    let served = on_socket(path, listener, router(api, Guard::Owner), tally, closing);
    let ended = async move {
        // The sender tells by going away.
        drop(closed.await);
        close.send_replace(true);
    };
    tokio::join!(served, network, agents, making, ended);
    Ok(())
}

/// Serves the socket at `path`, and makes it anew where its file vanishes, as when somebody cleans up.
async fn on_socket(
    path: PathBuf,
    listener: UnixListener,
    router: Router,
    tally: Arc<Tally>,
    mut closing: watch::Receiver<bool>,
) {
    let (closed, mut serving) = (closing.clone(), JoinSet::new());
    let serve = |listener| {
        let (router, tally, closed) = (router.clone(), Arc::clone(&tally), closed.clone());
        accept::serve(Door::Unix(listener), router, tally, closed)
    };
    serving.spawn(serve(listener));
    let (notice, mut noticed) = mpsc::channel(1);
    let (watched, mut watching) = (path.clone(), JoinSet::new());
    watching.spawn(async move {
        let changed = || !matches!(notice.try_send(()), Err(TrySendError::Closed(())));
        if let Err(error) = watch_file(&watched, changed).await {
            tracing::warn!(%error, "a control socket that vanishes will not be noticed");
        }
    });
    loop {
        tokio::select! {
            () = accept::told(&mut closing) => break,
            // Another file in its place is a newer driver's, and left alone.
            Some(()) = noticed.recv() => if fs::symlink_metadata(&path).is_err() {
                match socket::listen(&path) {
                    Ok(anew) => {
                        tracing::info!(socket = %path.display(), "the control socket was gone; it is made anew");
                        serving.spawn(serve(anew));
                    }
                    Err(error) => tracing::error!(%error, "the control socket was gone, and cannot be made"),
                }
            },
        }
    }
    watching.shutdown().await;
    while serving.join_next().await.is_some() {}
}

/// Serves the network, if it is to be served.
fn network(
    listen: Option<Listen>,
    api: &Api,
    closing: watch::Receiver<bool>,
) -> io::Result<impl Future<Output = ()> + use<>> {
    let served = match listen {
        None => None,
        Some(Listen { listener, tls, tokens }) => {
            let door = Door::Tls(TcpListener::from_std(listener)?, TlsAcceptor::from(tls));
            let router = router(api.clone(), Guard::Tokens(tokens));
            Some(accept::serve(door, router, Arc::clone(&api.tally), closing))
        }
    };
    Ok(async move {
        if let Some(served) = served {
            served.await;
        }
    })
}

/// What tells the cursors of one driver from those of another: its fence, and when it took the run.
fn epoch(handle: &Handle) -> String {
    let published = handle.published().borrow().clone();
    published.driver.as_ref().map_or_else(String::new, |driver| {
        format!("{:x}-{:x}", driver.fence.get(), driver.since.as_millis())
    })
}
