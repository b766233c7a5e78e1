//! Serves a driver's handle on its socket.

use std::{fs, io, path::Path, time::Duration};

use axum::{
    Json, Router,
    extract::{
        Query, State,
        rejection::{JsonRejection, QueryRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio::{
    net::UnixListener,
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot, watch,
    },
    task::JoinSet,
    time::timeout,
};

use super::{
    socket,
    wire::{Applied, ApplyCall, ExplainQuery, PlanCall, ReleaseCall, SnapshotQuery},
};
use crate::{
    handle::Handle,
    refusing::refuse,
    view::{Refusal, RefusalKind},
    watch_file::watch_file,
};

/// How long a snapshot call waits for news before it answers with what there is.
const NEWS_WAIT: Duration = Duration::from_secs(10);

/// Serves `handle` on the socket at `path` until `closed` is told or its other end is gone; then what was asked
/// before is answered still. A socket whose file vanishes, as when somebody cleans up, is made anew.
///
/// # Errors
/// Fails if the socket cannot be bound at first.
pub(crate) async fn serve(
    path: &Path,
    handle: Handle,
    closed: oneshot::Receiver<()>,
) -> io::Result<()> {
    let router = router(handle);
    let (stop, stopped) = watch::channel(());
    let mut serving = JoinSet::new();
    serving.spawn(serve_on(socket::listen(path)?, router.clone(), stopped.clone()));
    let (notice, mut noticed) = mpsc::channel(1);
    let watched = path.to_owned();
    let mut watching = JoinSet::new();
    watching.spawn(async move {
        let changed = || !matches!(notice.try_send(()), Err(TrySendError::Closed(())));
        if let Err(error) = watch_file(&watched, changed).await {
            tracing::warn!(%error, "a control socket that vanishes will not be noticed");
        }
    });
    let mut closed = std::pin::pin!(closed);
    loop {
        tokio::select! {
            _told = &mut closed => break,
            // Another file in its place is a newer driver's, and left alone.
            Some(()) = noticed.recv() => if fs::symlink_metadata(path).is_err() {
                match socket::listen(path) {
                    Ok(anew) => {
                        tracing::info!(socket = %path.display(), "the control socket was gone; it is made anew");
                        serving.spawn(serve_on(anew, router.clone(), stopped.clone()));
                    }
                    Err(error) => tracing::error!(%error, "the control socket was gone, and cannot be made"),
                }
            },
        }
    }
    watching.shutdown().await;
    drop((stop, stopped));
    while let Some(served) = serving.join_next().await {
        served.map_err(io::Error::other)??;
    }
    Ok(())
}

/// Serves one socket until the other end of `stopped` is gone, and answers what was asked before.
async fn serve_on(
    listener: UnixListener,
    router: Router,
    mut stopped: watch::Receiver<()>,
) -> io::Result<()> {
    // Nothing is ever sent: the sender tells by going away.
    let stopped = async move { drop(stopped.changed().await) };
    axum::serve(listener, router).with_graceful_shutdown(stopped).await
}

fn router(handle: Handle) -> Router {
    Router::new()
        .route("/v1/health", get(health))
        .route("/v1/snapshot", get(snapshot))
        .route("/v1/explain", get(explain))
        .route("/v1/plan", post(plan))
        .route("/v1/apply", post(apply))
        .route("/v1/release", post(release))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .with_state(handle)
}

/// A refusal as an answer; the body is the refusal itself.
struct Refused(Refusal);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match self.0.kind {
            RefusalKind::Invalid => StatusCode::BAD_REQUEST,
            RefusalKind::Stale => StatusCode::CONFLICT,
            RefusalKind::Forbidden => StatusCode::FORBIDDEN,
            RefusalKind::Journal => StatusCode::INTERNAL_SERVER_ERROR,
            RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, Json(self.0)).into_response()
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

type Body<T> = Result<Json<T>, JsonRejection>;

fn body<T>(body: Body<T>) -> Result<T, Refused> {
    let Json(value) = body.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    Ok(value)
}

async fn health(State(handle): State<Handle>) -> Response {
    let published = handle.published().borrow().clone();
    let standing = published.standing();
    Json(serde_json::json!({
        "state": published.state(),
        "pass": published.pass(),
        "generation": published.generation(),
        "want": standing.want,
        "ready": standing.ready,
        "held": standing.held,
        "gated": standing.gated,
    }))
    .into_response()
}

async fn snapshot(
    State(handle): State<Handle>,
    query: Result<Query<SnapshotQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let query = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    let mut published = handle.published();
    if let Some(after) = query.after {
        // Without news in time the answer is the present state: the caller compares the pass.
        let news = timeout(NEWS_WAIT, published.wait_for(|p| p.pass() != after)).await;
        if let Ok(Err(_closed)) = news {
            return Err(Refused(refuse(RefusalKind::Unavailable, "the driver has stopped")));
        }
    }
    let latest = published.borrow().clone();
    // The text of a large fleet takes longer to make than a pass may wait.
    let made = tokio::task::spawn_blocking(move || Json(latest.view()).into_response()).await;
    made.map_err(|_panic| Refused(refuse(RefusalKind::Unavailable, "the snapshot was not made")))
}

async fn explain(
    State(handle): State<Handle>,
    query: Result<Query<ExplainQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let query = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    Ok(Json(handle.explain(&query.subject)?).into_response())
}

async fn plan(State(handle): State<Handle>, call: Body<PlanCall>) -> Result<Response, Refused> {
    Ok(Json(handle.plan(body(call)?.edit).await?).into_response())
}

async fn apply(State(handle): State<Handle>, call: Body<ApplyCall>) -> Result<Response, Refused> {
    let ApplyCall { edit, hash, source } = body(call)?;
    let generation = handle.apply(edit, hash, source).await?;
    Ok(Json(Applied { generation }).into_response())
}

async fn release(
    State(handle): State<Handle>,
    call: Body<ReleaseCall>,
) -> Result<Response, Refused> {
    let ReleaseCall { subject, confirm } = body(call)?;
    Ok(Json(handle.release(subject, confirm).await?).into_response())
}

async fn unknown() -> Refused {
    Refused(refuse(RefusalKind::Invalid, "there is no such call"))
}
