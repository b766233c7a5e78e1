//! Laws of the API over the network: nobody without a token or a certificate, and no way without TLS.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
};

use driver::{
    api::{CallError, Client, Credentials, Listen, ListenError, ListenFiles, Seen, Tokens},
    view::{Refusal, RefusalKind, RunState},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reconciler_core::time::Timestamp;

use crate::stand::{Run, Stand, counts, source};

/// Certificates of one authority, as files beside the run.
struct Papers<'a> {
    stand: &'a Stand,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl<'a> Papers<'a> {
    fn new(stand: &'a Stand, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = CertifiedIssuer::self_signed(params, key).unwrap();
        let papers = Self { stand, authority };
        papers.write(name, &papers.authority.pem());
        papers
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.stand.beside(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// A certificate for `host` and its key.
    fn issue(&self, name: &str, host: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.authority).unwrap();
        let cert = self.write(&format!("{name}.pem"), &cert.pem());
        (cert, self.write(&format!("{name}.key"), &key.serialize_pem()))
    }
}

fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A driver that listens, and where.
fn listening(stand: &Stand, files: &ListenFiles) -> (Run, SocketAddr) {
    let listen = Listen::bind(any_port(), files, &stand.paths()).unwrap();
    let address = listen.address().unwrap();
    let run = stand.drive_with(|driver| driver.listening(listen));
    run.edit(&stand.declare(&[("web", 2)]));
    run.converged();
    (run, address)
}

fn client(address: SocketAddr, credentials: &Credentials) -> Client {
    Client::remote(&format!("https://localhost:{}", address.port()), credentials).unwrap()
}

fn refused<T: std::fmt::Debug>(result: Result<T, CallError>) -> Refusal {
    match result.unwrap_err() {
        CallError::Refused(refusal) => refusal,
        other @ (CallError::Socket { .. }
        | CallError::Broken(_)
        | CallError::Answer(_)
        | CallError::Call(_)) => panic!("{other:?}"),
    }
}

/// A token lets in, and one that is read-only changes nothing; the journal says whose it was; its hash alone is kept;
/// and one that was taken back is of no use from then on.
#[test]
fn a_token_lets_in_and_says_what_its_bearer_may_do() {
    let stand = Stand::new(5);
    let papers = Papers::new(&stand, "ca.pem");
    let (cert, key) = papers.issue("server", "localhost");
    let tokens = Tokens::of(&stand.paths());
    let now = Timestamp::from_millis(1);
    tokens.add("ada", "secret-of-ada", false, now).unwrap();
    tokens.add("grafana", "secret-of-grafana", true, now).unwrap();
    let (run, address) = listening(&stand, &ListenFiles { cert, key, client_ca: None });
    let with = |token: Option<&str>| {
        let (ca, token) = (stand.beside("ca.pem"), token.map(str::to_owned));
        client(address, &Credentials { ca, token, cert: None })
    };
    for nobody in [with(None), with(Some("secret-of-nobody")), with(Some(""))] {
        let refusal = refused(run.block(nobody.snapshot(None)));
        assert_eq!(refusal.kind, RefusalKind::Forbidden, "{refusal:?}");
    }
    let (full, reader) = (with(Some("secret-of-ada")), with(Some("secret-of-grafana")));
    assert_eq!(run.block(reader.snapshot(None)).unwrap().ready, 2);
    let edit = counts(&[("web", 3)]);
    let plan = run.block(reader.plan(edit.clone())).unwrap();
    let refusal = refused(run.block(reader.apply(edit.clone(), plan.hash, source())));
    assert!(refusal.message.contains("read-only"), "{refusal:?}");
    assert_eq!(
        refused(run.block(reader.release("web-0".to_owned(), None))).kind,
        RefusalKind::Forbidden
    );
    assert_eq!(run.view().generation, plan.base, "nothing was changed");

    run.block(full.apply(edit, plan.hash, source())).unwrap();
    run.converged();
    let said = run.view().events.iter().any(|event| event.text.contains("token ada: an operator"));
    assert!(said, "{:#?}", run.view().events);
    let mut looker = driver::Link::Attached(full.clone()).look();
    let Seen::View(view) = run.block(looker.next()).unwrap() else { panic!("no gap") };
    assert_eq!((view.state, view.ready), (RunState::Converged, 3));

    tokens.revoke("ada").unwrap();
    assert_eq!(refused(run.block(full.snapshot(None))).kind, RefusalKind::Forbidden);
    let kept = fs::read_to_string(stand.paths().dir().join("tokens.json")).unwrap();
    assert!(!kept.contains("secret-of"), "{kept}");
    let mode = fs::metadata(stand.paths().dir().join("tokens.json")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    run.stop();
    stand.world.lawful();
}

/// A certificate of the named authority lets in without a token; one of another does not; and a client does not speak
/// to a driver whose certificate it cannot check.
#[test]
fn certificates_are_checked_on_both_sides() {
    let stand = Stand::new(3);
    let papers = Papers::new(&stand, "ca.pem");
    let others = Papers::new(&stand, "others.pem");
    let (cert, key) = papers.issue("server", "localhost");
    let ca = stand.beside("ca.pem");
    let files = ListenFiles { cert, key, client_ca: Some(ca.clone()) };
    let (run, address) = listening(&stand, &files);
    let shown =
        |ca: &PathBuf, cert| client(address, &Credentials { ca: ca.clone(), token: None, cert });
    let known = shown(&ca, Some(papers.issue("known", "client")));
    assert_eq!(run.block(known.snapshot(None)).unwrap().ready, 2);
    let without = shown(&ca, None);
    assert_eq!(refused(run.block(without.snapshot(None))).kind, RefusalKind::Forbidden);
    let stranger = shown(&ca, Some(others.issue("stranger", "client")));
    assert!(!matches!(run.block(stranger.snapshot(None)), Ok(_) | Err(CallError::Refused(_))));
    let wary = shown(&stand.beside("others.pem"), None);
    let unchecked = run.block(wary.snapshot(None)).unwrap_err();
    let CallError::Socket { source, .. } = &unchecked else { panic!("{unchecked:?}") };
    assert!(source.to_string().contains("certificate"), "{source}");
    run.stop();
    stand.world.lawful();
}

/// Who does not speak TLS is told nothing, and delays nothing.
#[test]
fn plain_text_over_the_network_is_told_nothing() {
    let stand = Stand::new(3);
    let papers = Papers::new(&stand, "ca.pem");
    let (cert, key) = papers.issue("server", "localhost");
    Tokens::of(&stand.paths()).add("ada", "s", false, Timestamp::from_millis(1)).unwrap();
    let (run, address) = listening(&stand, &ListenFiles { cert, key, client_ca: None });
    let silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut plain = TcpStream::connect(address).unwrap();
    plain.write_all(b"GET /v1/snapshot HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    drop(plain.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains("HTTP/1.1") && !answer.contains("web"), "{answer}");
    run.edit(&counts(&[("web", 3)]));
    run.converged();
    run.stop();
    drop(silent);
    stand.world.lawful();
}

/// What would let nobody in, or would give the key away, is refused before anything begins.
#[test]
fn a_listener_that_makes_no_sense_is_refused() {
    let stand = Stand::new(1);
    let papers = Papers::new(&stand, "ca.pem");
    let (cert, key) = papers.issue("server", "localhost");
    let files = ListenFiles { cert: cert.clone(), key: key.clone(), client_ca: None };
    let bind = |files: &ListenFiles| Listen::bind(any_port(), files, &stand.paths()).unwrap_err();
    assert!(matches!(bind(&files), ListenError::Nobody));
    Tokens::of(&stand.paths()).add("ada", "s", false, Timestamp::from_millis(1)).unwrap();
    let (_, other) = papers.issue("other", "localhost");
    assert!(matches!(bind(&ListenFiles { key: other, ..files.clone() }), ListenError::Tls(_)));
    let none = ListenFiles { cert: stand.beside("nowhere"), ..files.clone() };
    assert!(matches!(bind(&none), ListenError::Pem { .. }));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(bind(&files), ListenError::OpenKey { .. }));
}
