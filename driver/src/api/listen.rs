//! The network side of the API: an address, a certificate, and who is let in. There is no way without them.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use checkpoint::paths::StatePaths;
use tokio_rustls::rustls::{
    self, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject as _},
    server::{VerifierBuilderError, WebPkiClientVerifier, danger::ClientCertVerifier},
};

use super::tokens::{TokenError, Tokens};

/// Where the files of a listener are.
#[derive(Clone, Debug)]
pub struct ListenFiles {
    /// The certificate chain, PEM, its own first.
    pub cert: PathBuf,
    /// Its key, PEM; for its owner alone.
    pub key: PathBuf,
    /// Whose certificates let a client in without a token, PEM.
    pub client_ca: Option<PathBuf>,
}

/// Why a driver does not listen; nothing was begun.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A PEM file is none, or not to be read.
    #[error("cannot use {}", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: pem::Error,
    },
    /// A key that others can read is no secret.
    #[error("others can read the key {}", path.display())]
    OpenKey {
        /// Which.
        path: PathBuf,
    },
    /// Key and certificate do not fit, or are of no use.
    #[error("the certificate cannot be used")]
    Tls(#[from] rustls::Error),
    /// The certificates of clients cannot be checked.
    #[error("the clients' certificates cannot be checked")]
    Verifier(#[from] VerifierBuilderError),
    /// Nobody could call.
    #[error("nobody is let in: there is no token, and no authority for clients' certificates")]
    Nobody,
    /// The tokens cannot be read.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// An address that is listened on, with TLS.
#[derive(Debug)]
pub struct Listen {
    pub(super) listener: TcpListener,
    pub(super) tls: Arc<ServerConfig>,
    pub(super) tokens: Tokens,
}

impl Listen {
    /// Listens on `address` for the run in `paths`.
    ///
    /// # Errors
    /// Refuses files that are of no use, and a listener that nobody could call; says so if the address is not to be
    /// had.
    pub fn bind(
        address: SocketAddr,
        files: &ListenFiles,
        paths: &StatePaths,
    ) -> Result<Self, ListenError> {
        let tokens = Tokens::of(paths);
        if files.client_ca.is_none() && tokens.all()?.is_empty() {
            return Err(ListenError::Nobody);
        }
        let tls = Arc::new(config(files)?);
        let bind = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = bind().map_err(|source| ListenError::Bind { address, source })?;
        Ok(Self { listener, tls, tokens })
    }

    /// The address, with the port that was given where none was asked for.
    ///
    /// # Errors
    /// Fails if the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

fn config(files: &ListenFiles) -> Result<ServerConfig, ListenError> {
    let chain = certificates(&files.cert)?;
    let mode = std::fs::metadata(&files.key).map(|meta| meta.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        return Err(ListenError::OpenKey { path: files.key.clone() });
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|source| ListenError::Pem { path: files.key.clone(), source })?;
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => builder.with_client_cert_verifier(verifier(ca)?),
    };
    Ok(builder.with_single_cert(chain, key)?)
}

/// Checks a certificate where a client shows one; without it, a token is needed.
fn verifier(ca: &Path) -> Result<Arc<dyn ClientCertVerifier>, ListenError> {
    let mut roots = RootCertStore::empty();
    for cert in certificates(ca)? {
        roots.add(cert)?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
    Ok(builder.allow_unauthenticated().build()?)
}

/// The cryptography: one choice for both sides.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The certificates of a PEM file, of which there is at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ListenError> {
    let bad = |source| ListenError::Pem { path: path.to_owned(), source };
    let all = CertificateDer::pem_file_iter(path).map_err(bad)?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(bad)?;
    if all.is_empty() { Err(bad(pem::Error::NoItemsFound)) } else { Ok(all) }
}
