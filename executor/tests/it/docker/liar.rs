//! An engine that is away, answers nonsense, or answers too late: nothing is believed that was not said (C1, C2, P1).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use executor::{
    provider::docker::DockerFactory,
    seam::{EffectContext, Provider, ProviderFactory as _, ProviderOptions, ProviderPlace},
    secret::Secrets,
};
use reconciler_core::{
    effect::{
        Certainty, CommandKind, EffectFailure, FailureClass, Listing, Look, NodeRequest,
        idempotency_key,
    },
    id::{AttemptId, AttemptOrdinal, Generation, LogicalNodeId, OperationId, StepId},
    observed::{Handle, LeaseFacts, LeaseId},
    redact::Redacted,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};

use super::rig::FENCE;
use crate::fake::{RUN, request, slot};

/// What the engine answers to everything but its version and its images.
#[derive(Clone, Copy)]
enum Lie {
    Says(u16, &'static str),
    /// It hangs up in the middle of its answer.
    BreaksOff,
    /// It never answers.
    Hangs,
}

struct Stand {
    provider: Arc<dyn Provider>,
    _home: TempDir,
}

fn provider_at(socket: &Path, home: &TempDir) -> Arc<dyn Provider> {
    let host = format!("unix://{}", socket.display());
    let options = ProviderOptions::from([("host".to_owned(), json!(host))]);
    let place = ProviderPlace {
        state_dir: home.path().join("box"),
        base_dir: home.path().to_owned(),
        secrets: Secrets::new(home.path().to_owned()),
    };
    DockerFactory.build(&options, &place).unwrap()
}

impl Stand {
    /// A provider whose engine lies so.
    fn new(lie: Lie) -> Self {
        let home = TempDir::new().unwrap();
        let socket: PathBuf = home.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, lie));
            }
        });
        Self { provider: provider_at(&socket, &home), _home: home }
    }

    async fn create(&self) -> EffectFailure {
        self.provider.create_lease(&context(Duration::from_secs(2)), &node()).await.unwrap_err()
    }

    async fn look(&self, lease: Option<&LeaseFacts>) -> Look {
        self.provider.inspect(RUN, &slot(0), attempt(), lease).await
    }
}

async fn answer(mut stream: UnixStream, lie: Lie) {
    let mut head = vec![0; 64 * 1024];
    let Ok(read) = stream.read(&mut head).await else { return };
    let head = String::from_utf8_lossy(&head[..read]).into_owned();
    let (status, body) = if head.starts_with("GET") && head.contains("/version ") {
        (200, r#"{"ApiVersion":"1.41"}"#)
    } else if head.contains("/images/") {
        (200, r#"{"Id":"sha256:ab"}"#)
    } else {
        match lie {
            Lie::Says(status, body) => (status, body),
            Lie::BreaksOff => {
                let half = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n[{\"Id\":";
                drop(stream.write_all(half).await);
                return;
            }
            Lie::Hangs => return std::future::pending().await,
        }
    };
    let text = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    drop(stream.write_all(text.as_bytes()).await);
}

fn attempt() -> AttemptId {
    AttemptId::derive(RUN, &slot(0), Generation::new(1), AttemptOrdinal::new(1))
}

fn node() -> NodeRequest {
    let mut node = request(&slot(0));
    let spec = Arc::make_mut(&mut node.spec);
    spec.shape.image = Some("web:1".to_owned());
    NodeRequest { attempt: attempt(), ..node }
}

fn context(time: Duration) -> EffectContext {
    let slot: LogicalNodeId = slot(0);
    EffectContext {
        run: RUN,
        slot,
        attempt: attempt(),
        operation: OperationId::new(1),
        step: StepId::new(1),
        key: idempotency_key(attempt().uuid, CommandKind::CreateLease, ""),
        fence: FENCE,
        deadline: Instant::now() + time,
    }
}

fn lease() -> LeaseFacts {
    LeaseFacts { id: LeaseId::new("abc"), fence: FENCE, handle: Handle::default() }
}

/// C1: only a whole list of containers is a listing; whatever else comes shows nothing.
#[tokio::test]
async fn an_answer_that_makes_no_sense_shows_nothing() {
    let lies = [
        Lie::Says(200, ""),
        Lie::Says(200, "{}"),
        Lie::Says(200, "null"),
        Lie::Says(200, "<html>hello</html>"),
        Lie::Says(200, r#"[{"Id":7}]"#),
        Lie::Says(200, r#"[{"Names":["/a"]}]"#),
        Lie::Says(500, r#"{"message":"no"}"#),
        Lie::Says(503, ""),
        Lie::Says(403, r#"{"message":"go away"}"#),
        Lie::BreaksOff,
    ];
    for (nth, lie) in lies.into_iter().enumerate() {
        let stand = Stand::new(lie);
        let listing = stand.provider.list_owned(RUN).await;
        assert!(matches!(listing, Listing::Unknown(_)), "{nth}: {listing:?}");
        for lease in [Some(&lease()), None] {
            let look = stand.look(lease).await;
            assert!(matches!(look, Look::Unknown { .. }), "{nth}: {look:?}");
        }
    }
}

/// C2: a creation is definite only where the engine refused it.
#[tokio::test]
async fn a_creation_that_broke_off_is_doubt() {
    use Certainty::{Ambiguous, Definite};
    let rows = [
        (Lie::Says(400, r#"{"message":"bad"}"#), Definite, FailureClass::Invalid),
        (Lie::Says(404, r#"{"message":"No such image"}"#), Definite, FailureClass::Invalid),
        (Lie::Says(403, r#"{"message":"no"}"#), Definite, FailureClass::Auth),
        (Lie::Says(500, r#"{"message":"oops"}"#), Ambiguous, FailureClass::Unavailable),
        (Lie::Says(503, ""), Ambiguous, FailureClass::Unavailable),
        (Lie::Says(201, "<html>"), Ambiguous, FailureClass::Unavailable),
        (Lie::BreaksOff, Ambiguous, FailureClass::Unavailable),
        (Lie::Hangs, Ambiguous, FailureClass::TimedOut),
    ];
    for (nth, (lie, certainty, class)) in rows.into_iter().enumerate() {
        let failure = Stand::new(lie).create().await;
        assert_eq!((failure.certainty, failure.class), (certainty, class), "{nth}: {failure:?}");
    }
}

/// C2: an end that broke off is doubt as well: what is to be ended may run on.
#[tokio::test]
async fn an_end_that_broke_off_is_doubt() {
    for lie in [Lie::Says(500, r#"{"message":"oops"}"#), Lie::BreaksOff, Lie::Says(200, "{}")] {
        let stand = Stand::new(lie);
        let ctx = context(Duration::from_secs(2));
        let destroyed = stand.provider.destroy_lease(&ctx, &lease()).await.unwrap_err();
        assert_eq!(destroyed.certainty, Certainty::Ambiguous, "{destroyed:?}");
        let grace = Duration::from_secs(1);
        let handle = Handle::default();
        let cancelled = stand.provider.cancel_bootstrap(&ctx, &lease(), &handle, grace).await;
        assert_eq!(cancelled.unwrap_err().certainty, Certainty::Ambiguous);
    }
}

/// C7: an engine that is not there has done nothing, is left alone for a while, and no node is charged for that.
#[tokio::test]
async fn an_engine_that_is_away_charges_nobody() {
    let home = TempDir::new().unwrap();
    let provider = provider_at(&home.path().join("none.sock"), &home);
    let failure =
        provider.create_lease(&context(Duration::from_secs(2)), &node()).await.unwrap_err();
    assert_eq!(failure.certainty, Certainty::Definite);
    assert!(matches!(failure.class, FailureClass::RateLimited { .. }), "{failure:?}");
    assert!(failure.message.as_str().contains("cannot be reached"), "{failure:?}");
    assert!(matches!(provider.list_owned(RUN).await, Listing::Unknown(_)));
    let look = provider.inspect(RUN, &slot(0), attempt(), Some(&lease())).await;
    let Look::Unknown { why } = look else { panic!("{look:?}") };
    assert_ne!(why, Redacted::default());
}
