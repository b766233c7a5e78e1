//! Probes over the network and in the ground of a process: what passes, what is the node's fault, and what is nobody's.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use executor::{
    dispatch::{Probing, Report},
    seam::{Leased, ProbeAsk, Provider as _},
};
use reconciler_core::{
    desired::{BootSpec, Probe, ProbeCheck, ProbeKind},
    id::SessionId,
    observed::{Endpoint, Handle, ProbeAnswer},
    time::Millis,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    fake::{self, Behaviour, Fake, Rig},
    ward::{Node, Ward, argv, env, is_alive, pid_of, stays, until},
};

/// A listener on a port of its own that gives the answer for each path.
async fn serves(answers: &'static [(&'static str, &'static str)]) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 2_048];
            let read = stream.read(&mut head).await.unwrap_or(0);
            let text = String::from_utf8_lossy(&head[..read]).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
            let answer =
                answers.iter().find(|(known, _)| *known == path).map(|(_, answer)| *answer);
            match answer {
                Some("never") => tokio::time::sleep(Duration::from_mins(1)).await,
                Some(answer) => drop(stream.write_all(answer.as_bytes()).await),
                None => {}
            }
        }
    });
    port
}

async fn asked(port: u16, check: ProbeCheck) -> ProbeAnswer {
    let fake = Fake::new(Behaviour::Succeed, None);
    let mut rig = Rig::over(&fake, 4);
    let slot = fake::slot(0);
    let ports = BTreeMap::from([("http".to_owned(), port)]);
    let probe = Probe { timeout: Millis::new(2_000), ..Probe::new(check) };
    rig.dispatcher.probe(Probing {
        provider: fake::name("fake"),
        request: fake::request(&slot),
        lease: fake::lease(),
        endpoint: Endpoint { host: "127.0.0.1".into(), ports: Arc::new(ports) },
        session: SessionId::new(1),
        workload: Handle::default(),
        kind: ProbeKind::Readiness,
        probe: Arc::new(probe),
    });
    let Report::Probed { answer, slot: of, .. } = rig.next().await else { panic!("an answer") };
    assert_eq!(of, slot);
    answer
}

fn http(path: &str) -> ProbeCheck {
    ProbeCheck::Http { port: "http".to_owned(), path: path.to_owned() }
}

fn tcp(port: &str) -> ProbeCheck {
    ProbeCheck::Tcp { port: port.to_owned() }
}

fn says(answer: &ProbeAnswer, words: &str) {
    let ProbeAnswer::Failed(said) = answer else { panic!("it failed: {answer:?}") };
    assert!(said.as_str().contains(words), "{said}");
}

/// A status of 200 to 299 passes, another place on the same port is followed, and everything else is a failure.
#[tokio::test]
async fn a_request_passes_by_its_status() {
    let port = serves(&[
        ("/ok", "HTTP/1.1 200 OK\r\n\r\nfine"),
        ("/empty", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("/ill", "HTTP/1.1 503 Service Unavailable\r\n\r\n"),
        ("/moved", "HTTP/1.1 302 Found\r\nLocation: /ok\r\n\r\n"),
        ("/ring", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /ring\r\n\r\n"),
        ("/away", "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/ok\r\n\r\n"),
        ("/odd", "220 ready\r\n\r\n"),
        ("/torn", "HTTP/1.1 200 OK\r\n"),
        ("/late", "never"),
    ])
    .await;
    for path in ["/ok", "/empty", "/moved"] {
        assert_eq!(asked(port, http(path)).await, ProbeAnswer::Passed, "{path}");
    }
    let rows = [
        ("/ill", "status 503"),
        ("/ring", "more than 3 times"),
        ("/away", "sends elsewhere"),
        ("/odd", "no HTTP"),
        ("/torn", "breaks off"),
        ("/late", "no answer within 2000 ms"),
    ];
    for (path, words) in rows {
        says(&asked(port, http(path)).await, words);
    }
}

/// A connection passes; a port where nobody listens is the node's fault, one that the node does not have is nobody's.
#[tokio::test]
async fn a_connection_passes_once_it_stands() {
    let port = serves(&[]).await;
    assert_eq!(asked(port, tcp("http")).await, ProbeAnswer::Passed);
    let closed = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        listener.local_addr().unwrap().port()
    };
    says(&asked(closed, tcp("http")).await, "refused");
    says(&asked(closed, http("/")).await, "refused");
    let ProbeAnswer::Unknown(why) = asked(port, tcp("sql")).await else { panic!("nobody's fault") };
    assert_eq!(why.as_str(), "it is reached at no port called `sql`");
}

/// A provider that asks by no command says so, and nobody failed.
#[tokio::test]
async fn a_command_that_nobody_can_run_is_no_failure() {
    let check = ProbeCheck::Exec { argv: vec!["true".to_owned()] };
    let ProbeAnswer::Unknown(why) = asked(1, check).await else { panic!("nobody's fault") };
    assert_eq!(why.as_str(), "this provider asks by no command");
}

/// What is asked of a node by a command that has so many milliseconds.
fn question(node: &Node, leased: &Leased, workload: &Handle, words: &[&str], ms: u64) -> ProbeAsk {
    ProbeAsk {
        request: node.request.clone(),
        lease: leased.lease.clone(),
        workload: workload.clone(),
        kind: ProbeKind::Liveness,
        argv: argv(words),
        timeout: Duration::from_millis(ms),
    }
}

/// A command runs as the node's own would, and passes by its status; what it starts goes with it.
#[tokio::test]
async fn a_command_asks_in_the_ground_of_its_process() {
    let ward = Ward::new();
    let boot = BootSpec {
        env: env(&[("GREETING", "hello {slot}")]),
        ports: vec!["http".to_owned()],
        ..stays()
    };
    let node = ward.node(0, boot);
    let (leased, workload) = ward.up(&node).await;
    let ask = |words: &[&str], ms| question(&node, &leased, &workload, words, ms);
    let answer = async |words: &[&str], ms| ward.provider.probe(&ask(words, ms)).await;
    let same = "test \"$GREETING $LEVELHEAD_SLOT {port:http}\" = \"hello web-0 web-0 $PORT\"";
    assert_eq!(answer(&["sh", "-c", same], 5_000).await, ProbeAnswer::Passed);
    let failed = answer(&["sh", "-c", "echo no route >&2; exit 3"], 5_000).await;
    says(&failed, "the command exited with 3: no route");
    assert_eq!(
        answer(&["true"], 5_000).await,
        ProbeAnswer::Passed,
        "the last words were another's"
    );
    says(&answer(&["./missing"], 5_000).await, "was not found");
    let begun = Instant::now();
    let hangs = "sleep 120 & echo $! > member; wait";
    says(&answer(&["sh", "-c", hangs], 300).await, "took too long");
    assert!(begun.elapsed() < Duration::from_mins(1), "it was not waited for");
    let member: i32 = ward.wrote(&node, "member").await.trim().parse().unwrap();
    until("its child is gone", || !is_alive(member)).await;
    ward.destroy(&node, &leased).await.unwrap();
    let gone = ward.provider.probe(&ask(&["true"], 5_000)).await;
    assert!(matches!(gone, ProbeAnswer::Unknown(_)), "without a lease nobody is asked: {gone:?}");
}

/// R51, R176: what a driver asked and died over is ended by the next one before it asks, with all that it started, and is
/// meanwhile taken for no workload and no hook.
#[tokio::test]
async fn the_probes_of_an_earlier_driver_are_ended() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let ask = |words: &[&str], ms| question(&node, &leased, &workload, words, ms);
    let earlier = Arc::clone(&ward.provider);
    let hangs = ask(&["sh", "-c", "sleep 120 & echo $! > member; wait"], 100_000);
    let asked = tokio::spawn(async move { earlier.probe(&hangs).await });
    let member: i32 = ward.wrote(&node, "member").await.trim().parse().unwrap();
    ward.restart();
    assert_eq!(ward.provider.probe(&ask(&["true"], 5_000)).await, ProbeAnswer::Passed);
    assert!(!is_alive(member), "what it started is gone");
    says(&asked.await.unwrap(), "signal 9");
    assert!(is_alive(pid_of(&workload)), "the workload is none of them");
    ward.destroy(&node, &leased).await.unwrap();
}
