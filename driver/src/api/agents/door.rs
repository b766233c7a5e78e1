//! Opens the door to agents, and takes in who comes.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc};

use executor::agent::Grants;
use reconciler_core::id::Uuid;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc, watch},
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        pki_types::{CertificateDer, PrivatePkcs8KeyDer},
    },
};

use super::{
    super::{accept::told, limits::AGENTS, listen::provider},
    identity::Identity,
    talk::{Heard, talk},
};
use crate::{agents::AgentPlace, inbox::Wake};

/// Wait after an accept that failed, as where no descriptor is left.
const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// Why there is no door; agents cannot join, and nothing else is the worse for it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    /// What agents know the driver by cannot be read or made.
    #[error("cannot use {}", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The key and the certificate are of no use.
    #[error("the key that agents pin cannot be used")]
    Tls(#[from] rustls::Error),
    /// Opening it broke off.
    #[error("the door was not opened")]
    Broken(#[source] io::Error),
    /// The address cannot be had.
    #[error("cannot listen to agents on {address}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A door that is to be opened.
#[derive(Debug)]
pub(crate) struct Opening {
    /// Whose agents come there.
    pub(crate) run: Uuid,
    /// Where it is to be.
    pub(crate) place: AgentPlace,
    /// Where the identity is kept.
    pub(crate) identity: PathBuf,
}

/// A door that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Who is let in.
    pub(crate) grants: Arc<Grants>,
    /// Where it is.
    pub(crate) address: SocketAddr,
}

/// A door that was opened and is not served yet.
struct Door {
    listener: std::net::TcpListener,
    tls: Arc<ServerConfig>,
    opened: Opened,
}

/// Opens a door. It makes keys and syncs files, so it may take a while.
///
/// A port that the system chose once is asked for again: agents that were told of it come there.
fn open(opening: &Opening) -> Result<Door, DoorError> {
    let Opening { run, place, identity: path } = opening;
    let failed = |source| DoorError::Identity { path: path.clone(), source };
    let mut identity = Identity::of(path).map_err(failed)?;
    let mut address = place.listen;
    if let (0, Some(port)) = (address.port(), identity.port) {
        address.set_port(port);
    }
    let bind = || {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    let (listener, bound) = bind().map_err(|source| DoorError::Bind { address, source })?;
    if place.listen.port() == 0 {
        identity.came_to(bound, path).map_err(failed)?;
    }
    let told = place.address.clone().unwrap_or_else(|| bound.to_string());
    let grants = Grants::new(*run, &identity.secret, told, &identity.certificate);
    let tls = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(identity.certificate)],
            PrivatePkcs8KeyDer::from(identity.key).into(),
        )?;
    let opened = Opened { grants: Arc::new(grants), address: bound };
    Ok(Door { listener, tls: Arc::new(tls), opened })
}

/// Opens and serves doors until `closed` is told; an agent whose driver goes away comes back by itself.
pub(in super::super) async fn serve(
    mut doors: mpsc::UnboundedReceiver<Opening>,
    inbox: mpsc::UnboundedSender<Wake>,
    mut closed: watch::Receiver<bool>,
) {
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            Some(opening) = doors.recv() => {
                served.spawn(keep(opening, inbox.clone()));
            }
            () = told(&mut closed) => break,
        }
    }
    served.shutdown().await;
}

/// Opens a door, says what came of it, and serves it.
async fn keep(opening: Opening, inbox: mpsc::UnboundedSender<Wake>) {
    let opened = tokio::task::spawn_blocking(move || open(&opening)).await;
    let opened = opened.unwrap_or_else(|error| Err(DoorError::Broken(io::Error::other(error))));
    let (told, door) = match opened {
        Ok(Door { listener, tls, opened }) => {
            let grants = Arc::clone(&opened.grants);
            (Ok(opened), Some((listener, tls, grants)))
        }
        Err(error) => (Err(error), None),
    };
    // A driver that is gone has no use for it.
    let wanted = inbox.send(Wake::Agent(Heard::Opened(told))).is_ok();
    if let (true, Some((listener, tls, grants))) = (wanted, door) {
        stand(listener, tls, grants, inbox).await;
    }
}

async fn stand(
    listener: std::net::TcpListener,
    tls: Arc<ServerConfig>,
    grants: Arc<Grants>,
    inbox: mpsc::UnboundedSender<Wake>,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "agents cannot be listened to"),
    };
    let (acceptor, places) = (TlsAcceptor::from(tls), Arc::new(Semaphore::new(AGENTS)));
    let (mut talks, mut number) = (JoinSet::new(), 0_u64);
    loop {
        while talks.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "an agent could not be taken in");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Who finds no place sees that the connection was closed, and comes back.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        number += 1;
        let (acceptor, grants) = (acceptor.clone(), Arc::clone(&grants));
        let (inbox, number) = (inbox.clone(), number);
        talks.spawn(async move {
            if let Err(error) = talk(stream, &acceptor, &grants, (inbox, number)).await {
                tracing::debug!(%error, "the connection of an agent ended");
            }
            drop(place);
        });
    }
}
