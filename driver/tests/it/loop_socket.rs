//! Laws of the control socket: the same answers as in the process, for its owner alone, whatever else comes.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
};

use driver::{
    Begin,
    api::CallError,
    view::{Edit, Refusal, RefusalKind, RunState},
};
use reconciler_core::{
    effect::{CommandKind, FailureClass},
    id::PlanHash,
};

use crate::{
    stand::{Stand, counts, eventually, source},
    world::Act,
};

fn refused<T: std::fmt::Debug>(result: Result<T, CallError>) -> Refusal {
    match result.unwrap_err() {
        CallError::Refused(refusal) => refusal,
        other @ (CallError::Socket { .. }
        | CallError::Broken(_)
        | CallError::Answer(_)
        | CallError::Call(_)) => panic!("{other:?}"),
    }
}

/// Clarification 10: snapshot, plan and apply go over the socket as they are, refusals too.
#[test]
fn the_socket_answers_as_the_driver_does() {
    let stand = Stand::new(3);
    let run = stand.up(&[("web", 2)]);
    let client = run.client();
    assert_eq!(fs::metadata(stand.paths().socket()).unwrap().permissions().mode() & 0o777, 0o600);

    let edit = counts(&[("web", 3)]);
    let plan = run.block(client.plan(edit.clone())).unwrap();
    assert_eq!(plan, run.plan(&edit).unwrap());
    let wrong = client.apply(edit.clone(), PlanHash::of(b"another"), source());
    assert_eq!(refused(run.block(wrong)).kind, RefusalKind::Stale);
    let unknown = client.plan(counts(&[("nowhere", 1)]));
    assert_eq!(refused(run.block(unknown)).kind, RefusalKind::Invalid);
    let generation = run.block(client.apply(edit.clone(), plan.hash, source())).unwrap();
    assert_eq!(generation, plan.target);
    run.converged();
    let view = run.block(client.snapshot(None)).unwrap();
    assert_eq!((view.state, view.ready, view.generation), (RunState::Converged, 3, generation));
    let again = client.apply(edit, plan.hash, source());
    assert!(refused(run.block(again)).message.contains("confirmed before"));
    run.stop();
    stand.world.lawful();
}

/// P6: the way out of a hold goes over the socket as well.
#[test]
fn a_hold_is_released_over_the_socket() {
    let mut stand = Stand::new(1);
    stand.policy.restart.attempts = 2;
    stand.world.script(CommandKind::CreateLease, None, 100, Act::Fail(FailureClass::Capacity));
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 1)]));
    run.until("it is held", |view| view.state == RunState::Held);
    stand.world.heal();
    let client = run.client();
    let shown = run.block(client.release("web-0".to_owned(), None)).unwrap();
    let wrong = client.release("web-0".to_owned(), Some(PlanHash::of(b"another")));
    assert_eq!(refused(run.block(wrong)).kind, RefusalKind::Stale);
    let done = client.release("web-0".to_owned(), Some(shown.hash));
    assert!(run.block(done).unwrap().released);
    run.converged();
    run.stop();
    stand.world.lawful();
}

/// P7: explanations go over the socket as they are; a subject that is none of ours is refused.
#[test]
fn explanations_go_over_the_socket() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 2)]);
    let client = run.client();
    // Between the two the driver may show the same anew, a moment later.
    eventually("both say the same", || {
        run.block(client.explain("web")).unwrap() == run.handle.explain("web").unwrap()
    });
    let explained = run.block(client.explain("web")).unwrap();
    assert_eq!(explained.iter().map(|view| view.rung.as_str()).collect::<Vec<_>>(), ["steady"; 2]);
    assert_eq!(run.block(client.explain("web-1")).unwrap()[0].node.slot.index, 1);
    for subject in ["web-9", "nowhere", "a&b=c d", ""] {
        assert_eq!(refused(run.block(client.explain(subject))).kind, RefusalKind::Invalid);
    }
    run.stop();
    stand.world.lawful();
}

/// Sends bytes, and reads what comes back until the driver closes.
fn exchange(stand: &Stand, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(stand.paths().socket()).unwrap();
    stream.set_read_timeout(Some(crate::world::BOUND)).unwrap();
    // A driver that has refused already may have closed.
    drop(stream.write_all(bytes));
    let mut answer = Vec::new();
    // A driver that has had enough breaks the connection off; what it said before counts.
    drop(stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).into_owned()
}

/// Rubbish is refused as such, and the driver goes on.
#[test]
fn rubbish_on_the_socket_is_refused() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    let client = run.client();
    let post = |path: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let plan = r#"{"edit":{"edit":"down"},"extra":1}"#;
    for text in [
        "\u{1}\u{2} nothing that is HTTP\r\n\r\n".to_owned(),
        post("/v1/plan", "{"),
        post("/v1/plan", r#"{"edit":{"edit":"what"}}"#),
        post("/v1/plan", plan),
        post("/v1/apply", r#"{"edit":{"edit":"down"},"hash":"short","source":{}}"#),
        post("/v1/nowhere", "{}"),
        post("/v1/snapshot", "{}"),
        "GET /v1/snapshot?after=x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /v1/plan HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(),
    ] {
        let answer = exchange(&stand, text.as_bytes());
        let shown: String = text.chars().take(60).collect();
        assert!(answer.starts_with("HTTP/1.1 4"), "{shown:?}: {answer:?}");
    }
    let endless = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(1 << 20));
    assert!(!exchange(&stand, endless.as_bytes()).contains("200 OK"));
    assert_eq!(run.block(client.snapshot(None)).unwrap().ready, 1);
    run.edit(&counts(&[("web", 2)]));
    run.converged();
    run.stop();
    stand.world.lawful();
}

/// P4: those who connect and say nothing delay neither a pass nor an answer.
#[test]
fn silent_connections_delay_nothing() {
    let stand = Stand::new(3);
    let run = stand.up(&[("web", 1)]);
    let client = run.client();
    let silent: Vec<_> = (0..100)
        .map(|place| {
            let mut stream = UnixStream::connect(stand.paths().socket()).unwrap();
            if place % 2 == 0 {
                stream.write_all(b"POST /v1/plan HTTP/1.1\r\ncontent-length: 9\r\n").unwrap();
            }
            stream
        })
        .collect();
    run.edit(&counts(&[("web", 3)]));
    run.converged();
    assert_eq!(run.block(client.snapshot(None)).unwrap().ready, 3);
    assert!(run.block(client.plan(Edit::None)).unwrap().empty);
    drop(silent);
    run.stop();
    stand.world.lawful();
}
