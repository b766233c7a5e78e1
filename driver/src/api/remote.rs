//! The way to a driver over the network: its address, whom to trust, and what to show.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use hyper::{Uri, header::HeaderValue};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        self, ClientConfig, RootCertStore,
        pki_types::{PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

use super::listen::{ListenError, certificates, provider};

/// How long a connection and its handshake may take, each.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// What a caller over the network has.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Whose certificates drivers have, PEM.
    pub ca: PathBuf,
    /// The token to show, if there is one.
    pub token: Option<String>,
    /// The certificate and the key to show, PEM, if there are.
    pub cert: Option<(PathBuf, PathBuf)>,
}

/// Why a driver cannot be called over the network.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address is none.
    #[error("`{0}` is no address of a driver; write it as https://HOST:PORT")]
    Address(String),
    /// The token cannot be sent.
    #[error("the token has characters that cannot be sent")]
    Token,
    /// A file is of no use.
    #[error(transparent)]
    File(#[from] ListenError),
    /// Key and certificate do not fit.
    #[error("the certificate cannot be used")]
    Tls(#[from] rustls::Error),
}

/// A driver somewhere else.
#[derive(Clone)]
pub(super) struct Remote {
    host: String,
    port: u16,
    name: ServerName<'static>,
    connector: TlsConnector,
    token: Option<HeaderValue>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.authority())
    }
}

impl Remote {
    /// The driver at `url`.
    pub(super) fn new(url: &str, credentials: &Credentials) -> Result<Self, RemoteError> {
        let bad = || RemoteError::Address(url.to_owned());
        let uri: Uri = url.parse().map_err(|_bad| bad())?;
        let plain = uri.scheme_str() == Some("https") && matches!(uri.path(), "" | "/");
        let (Some(host), Some(port), true) = (uri.host(), uri.port_u16(), plain) else {
            return Err(bad());
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned()).map_err(|_bad| bad())?;
        let token = match &credentials.token {
            None => None,
            Some(token) => {
                let value = HeaderValue::try_from(format!("Bearer {token}"));
                let mut value = value.map_err(|_bad| RemoteError::Token)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let connector = TlsConnector::from(Arc::new(config(credentials)?));
        Ok(Self { host: host.to_owned(), port, name, connector, token })
    }

    /// Host and port.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// What is shown with each call.
    pub(super) const fn token(&self) -> Option<&HeaderValue> {
        self.token.as_ref()
    }

    pub(super) async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, "it does not answer in time");
        let stream = timeout(CONNECT_TIME, TcpStream::connect(self.authority())).await;
        let stream = stream.map_err(|_late| late())??;
        stream.set_nodelay(true)?;
        let shaken = timeout(CONNECT_TIME, self.connector.connect(self.name.clone(), stream)).await;
        shaken.map_err(|_late| late())?
    }
}

fn config(credentials: &Credentials) -> Result<ClientConfig, RemoteError> {
    let mut roots = RootCertStore::empty();
    for cert in certificates(&credentials.ca)? {
        roots.add(cert)?;
    }
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots);
    Ok(match &credentials.cert {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => builder.with_client_auth_cert(certificates(cert)?, key_of(key)?)?,
    })
}

fn key_of(path: &Path) -> Result<PrivateKeyDer<'static>, ListenError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|source| ListenError::Pem { path: path.to_owned(), source })
}
