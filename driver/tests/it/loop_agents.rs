//! Laws of letting agents in: whoever shows a token first is known to every later driver before it is welcomed.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, ErrorKind, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use driver::Begin;
use executor::agent::{
    Grants,
    protocol::{
        ATTEMPT_VAR, CERT_VAR, DRIVER_NAME, DRIVER_VAR, Hello, TOKEN_VAR, ToAgent, VERSION,
    },
};
use reconciler_core::{
    desired::BootSpec,
    id::{Fence, SessionId, Uuid},
};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, pki_types::CertificateDer,
};
use tokio_rustls::rustls;

use crate::{
    slow::Valve,
    stand::{Run, Stand, eventually, uuid},
    world::BOUND,
};

/// How long is listened for what must not be said.
const QUIET: Duration = Duration::from_millis(150);

/// One that shows a token, by its own value.
struct Agent(BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl Agent {
    /// Comes to the door with the token of the attempt that runs, as `instance`.
    fn comes(stand: &Stand, instance: &str) -> Self {
        let attempt = stand.world.with(|land| land.leases.values().next().unwrap().attempt.uuid);
        let told = told(stand, attempt);
        let der = |text: &str| -> Vec<u8> {
            let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
        };
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(der(&told[CERT_VAR]))).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = DRIVER_NAME.try_into().unwrap();
        let talk = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(&told[DRIVER_VAR]).unwrap();
        let mut stream = StreamOwned::new(talk, stream);
        let hello = Hello {
            version: VERSION,
            run: uuid(),
            slot: "web-0".parse().unwrap(),
            attempt: told[ATTEMPT_VAR].parse().unwrap(),
            token: told[TOKEN_VAR].clone(),
            instance: instance.to_owned(),
            session: None,
        };
        let frame = serde_json::to_string(&hello).unwrap() + "\n";
        stream.write_all(frame.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    /// What it is told within `time`.
    fn hears(&mut self, time: Duration) -> Option<ToAgent> {
        self.0.get_ref().sock.set_read_timeout(Some(time)).unwrap();
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) => {
                let none = [ErrorKind::WouldBlock, ErrorKind::UnexpectedEof];
                let none = none.contains(&error.kind()) || error.raw_os_error().is_some();
                assert!(none, "{error}");
                None
            }
        }
    }

    /// True if it is let in.
    fn is_welcome(&mut self) -> bool {
        match self.hears(BOUND) {
            Some(ToAgent::Welcome(welcome)) => welcome.session == SessionId::new(1),
            Some(ToAgent::Refused { again: false, .. }) => false,
            other => panic!("{other:?}"),
        }
    }
}

/// What a node is told for its agent.
fn told(stand: &Stand, attempt: Uuid) -> BTreeMap<&'static str, String> {
    let secrets = stand.agents.as_ref().unwrap();
    eventually("the door is open", || secrets.grants().is_some());
    let grants: Arc<Grants> = secrets.grants().unwrap();
    let slot = "web-0".parse().unwrap();
    grants.env(&slot, attempt, Fence::new(1), (&BootSpec::default(), &BTreeMap::new()))
}

/// A run of one node that waits for its agent.
fn waiting(stand: &Stand, run: &Run) {
    run.edit(&stand.declare(&[("web", 1)]));
    run.until("it waits for its agent", |view| {
        view.nodes.first().is_some_and(|node| node.reason.contains("agent"))
    });
}

/// A run whose journal writes nothing any more, and the first agent of its node: folded, and not written down.
fn entering() -> (Stand, Valve, Run, Agent) {
    let mut stand = Stand::new(1);
    stand.join_by_agents();
    let valve = Valve::default();
    let run = stand.drive_made(|options| valve.driver(options));
    waiting(&stand, &run);
    valve.close();
    let first = Agent::comes(&stand, "first");
    has_joined(&run);
    (stand, valve, run, first)
}

fn has_joined(run: &Run) {
    run.until("its agent is folded", |view| {
        view.events.iter().any(|event| event.text == "its agent joined")
    });
}

/// P2: nobody is welcomed whose seal is not on disk; where the driver dies before that, the next one lets one in.
#[test]
fn a_welcome_waits_for_the_journal() {
    let (mut stand, _valve, run, mut first) = entering();
    // One that shows the same token meanwhile waits as well.
    let mut second = Agent::comes(&stand, "second");
    assert_eq!(first.hears(QUIET), None, "it was let in before that was written down");
    assert_eq!(second.hears(QUIET), None);
    run.kill();
    // Its end closes the connection, or turns it away for now first; which of both is a race that does not matter.
    let told = first.hears(BOUND);
    let is_left = matches!(told, None | Some(ToAgent::Refused { again: true, .. }));
    assert!(is_left, "the driver is dead: {told:?}");

    stand.join_by_agents();
    let valve = Valve::default();
    let run = stand.drive_made(|options| valve.driver(options));
    let mut second = Agent::comes(&stand, "second");
    assert!(second.is_welcome(), "nobody was there before");
    assert!(!Agent::comes(&stand, "first").is_welcome(), "the token was used");
    // One that comes back while nothing can be written is known, and waits for nothing.
    valve.close();
    assert!(Agent::comes(&stand, "second").is_welcome());
    valve.open();
    run.stop();
    stand.world.lawful();
}

/// Of two that show one token while the journal is slow the first is let in, and the other turned away for good.
#[test]
fn who_comes_second_waits_for_what_becomes_of_the_first() {
    let (stand, valve, run, mut first) = entering();
    let mut others = ["second", "first"].map(|instance| Agent::comes(&stand, instance));
    for other in &mut others {
        assert_eq!(other.hears(QUIET), None);
    }
    valve.open();
    assert!(first.is_welcome());
    assert_eq!(others.map(|mut other| other.is_welcome()), [false, true]);
    run.stop();
    stand.world.lawful();
}

/// A door that cannot be opened starts nobody who would have no driver to come to; it is tried again, and the rest goes on.
#[test]
fn a_door_that_cannot_be_opened_is_tried_again() {
    let mut stand = Stand::new(1);
    stand.join_by_agents();
    let identity = stand.paths().agents();
    std::fs::create_dir_all(&identity).unwrap();
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 1)]));
    run.until("its start is tried", |view| !view.nodes.is_empty());
    assert!(stand.agents.as_ref().unwrap().grants().is_none());
    std::fs::remove_dir(&identity).unwrap();
    run.until("it waits for its agent", |view| {
        view.nodes.first().is_some_and(|node| node.reason.contains("agent"))
    });
    assert!(Agent::comes(&stand, "first").is_welcome());
    run.stop();
}
