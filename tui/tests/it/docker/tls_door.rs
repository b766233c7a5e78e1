//! A door with TLS in front of an engine's socket, for who shows a certificate of its authority alone.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream, UnixStream},
    runtime::Runtime,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, RootCertStore, ServerConfig,
        pki_types::{CertificateDer, PrivatePkcs8KeyDer},
        server::WebPkiClientVerifier,
    },
};

/// The door, which is open while this lives.
pub(crate) struct TlsDoor {
    pub(crate) address: SocketAddr,
    papers: TempDir,
    _runtime: Runtime,
}

impl TlsDoor {
    /// Opens it in front of `socket`.
    pub(crate) fn open(socket: PathBuf) -> Self {
        let papers = tempfile::tempdir().unwrap();
        let tls = TlsAcceptor::from(Arc::new(issue(&papers)));
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, socket) = (tls.clone(), socket.clone());
                // Who shows nothing, or hangs up, is let go.
                tokio::spawn(async move { drop(pass(stream, tls, socket).await) });
            }
        });
        Self { address, papers, _runtime: runtime }
    }

    /// Where the papers are that a client needs.
    pub(crate) fn papers(&self) -> &Path {
        self.papers.path()
    }

    /// The options of a provider that comes through it.
    pub(crate) fn options(&self) -> String {
        let at = |name: &str| self.papers.path().join(name).display().to_string();
        format!(
            "host = \"tcp://127.0.0.1:{}\"\ntls = {{ ca = \"{}\", cert = \"{}\", key = \"{}\" }}",
            self.address.port(),
            at("ca.pem"),
            at("cert.pem"),
            at("key.pem")
        )
    }
}

async fn pass(stream: TcpStream, tls: TlsAcceptor, socket: PathBuf) -> io::Result<()> {
    let mut stream = tls.accept(stream).await?;
    let mut engine = UnixStream::connect(socket).await?;
    copy_bidirectional(&mut stream, &mut engine).await?;
    Ok(())
}

/// Makes an authority, writes down what a client needs, and gives what the door shows.
fn issue(papers: &TempDir) -> ServerConfig {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &authority).unwrap(), key)
    };
    let (client, client_key) = signed("client");
    let texts = [
        ("ca.pem", authority.pem()),
        ("cert.pem", client.pem()),
        ("key.pem", client_key.serialize_pem()),
    ];
    for (name, text) in texts {
        fs::write(papers.path().join(name), text).unwrap();
    }
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.der().to_vec())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let (server, server_key) = signed("127.0.0.1");
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![server.der().clone()],
            PrivatePkcs8KeyDer::from(server_key.serialize_der()).into(),
        )
        .unwrap()
}
