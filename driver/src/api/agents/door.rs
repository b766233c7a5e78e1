//! Opens the door to agents, and takes in who comes.

use std::{io, net::SocketAddr, path::Path, sync::Arc};

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
    talk::talk,
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
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The key and the certificate are of no use.
    #[error("the key that agents pin cannot be used")]
    Tls(#[from] rustls::Error),
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

/// A door that was opened and is not served yet.
#[derive(Debug)]
pub(crate) struct Door {
    listener: std::net::TcpListener,
    tls: Arc<ServerConfig>,
    /// Who is let in.
    pub(crate) grants: Arc<Grants>,
    /// Where it is.
    pub(crate) address: SocketAddr,
}

/// Opens the door of `run`, whose identity is kept at `path`.
///
/// A port that the system chose once is asked for again: agents that were told of it come there.
pub(crate) fn open(run: Uuid, place: &AgentPlace, path: &Path) -> Result<Door, DoorError> {
    let failed = |source| DoorError::Identity { path: path.to_owned(), source };
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
    let grants = Grants::new(run, &identity.secret, told, &identity.certificate);
    let tls = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(identity.certificate)],
            PrivatePkcs8KeyDer::from(identity.key).into(),
        )?;
    Ok(Door { listener, tls: Arc::new(tls), grants: Arc::new(grants), address: bound })
}

/// Serves the doors that are opened until `closed` is told; an agent whose driver goes away comes back by itself.
pub(in super::super) async fn serve(
    mut doors: mpsc::UnboundedReceiver<Door>,
    inbox: mpsc::UnboundedSender<Wake>,
    mut closed: watch::Receiver<bool>,
) {
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            Some(door) = doors.recv() => {
                served.spawn(stand(door, inbox.clone()));
            }
            () = told(&mut closed) => break,
        }
    }
    served.shutdown().await;
}

async fn stand(door: Door, inbox: mpsc::UnboundedSender<Wake>) {
    let listener = match TcpListener::from_std(door.listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "agents cannot be listened to"),
    };
    let (acceptor, places) = (TlsAcceptor::from(door.tls), Arc::new(Semaphore::new(AGENTS)));
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
        let (acceptor, grants) = (acceptor.clone(), Arc::clone(&door.grants));
        let (inbox, number) = (inbox.clone(), number);
        talks.spawn(async move {
            if let Err(error) = talk(stream, &acceptor, &grants, (inbox, number)).await {
                tracing::debug!(%error, "the connection of an agent ended");
            }
            drop(place);
        });
    }
}
