//! The calls of the API, and what each answers.

use std::{sync::Arc, time::Instant};

use axum::{
    Extension, Json, Router,
    extract::{DefaultBodyLimit, Query, Request, State, rejection::QueryRejection},
    http::{Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio::time::timeout;

use super::{
    answer::{Body, Refused, body},
    limits::{BODY_BYTES, HEAD_BYTES, NEWS_WAIT, REQUEST_TIME, Rate, WORK_COST},
    metrics, records,
    rights::{Caller, Guard},
    shared::Api,
    tally::Tally,
    watching,
    wire::{Applied, ApplyCall, ExplainQuery, OutputQuery, PlanCall, ReleaseCall, SnapshotQuery},
};
use crate::{
    refusing::refuse,
    view::{HealthView, ReadyView, RefusalKind},
};

/// What one listener adds to each of its calls.
#[derive(Clone)]
struct Door {
    guard: Guard,
    rate: Arc<Rate>,
    tally: Arc<Tally>,
}

/// The calls, for one listener and those whom it lets in.
pub(super) fn router(api: Api, guard: Guard) -> Router {
    let rate = Arc::new(Rate::new(Instant::now()));
    let door = Door { guard, rate, tally: Arc::clone(&api.tally) };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/v1/apply", post(apply))
        .route("/v1/events", get(records::events))
        .route("/v1/explain", get(explain))
        .route("/v1/health", get(health))
        .route("/v1/operations", get(records::operations))
        .route("/v1/operations/{id}", get(records::operation))
        .route("/v1/output", get(output))
        .route("/v1/plan", post(plan))
        .route("/v1/ready", get(ready))
        .route("/v1/release", post(release))
        .route("/v1/snapshot", get(snapshot))
        .route("/v1/watch", get(watching::watch))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(middleware::from_fn_with_state(door, enter))
        .with_state(api)
}

/// Bounds each call by the listener's rate, by what its caller may do, and by time; and counts its answer.
async fn enter(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let cost = if request.method() == Method::POST { WORK_COST } else { 1 };
    let answer = if door.rate.take(cost, Instant::now()).is_err() {
        let text = "more is asked at once than a driver answers";
        Refused::from(refuse(RefusalKind::Busy, text)).into_response()
    } else if head_bytes(&request) > HEAD_BYTES {
        let text = format!("a request's head has at most {HEAD_BYTES} bytes");
        let refusal = refuse(RefusalKind::Invalid, text);
        Refused::with(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, refusal).into_response()
    } else if let Err(refused) = door.guard.admit(&mut request) {
        refused.into_response()
    } else {
        timeout(REQUEST_TIME, next.run(request)).await.unwrap_or_else(|_late| {
            let text = "the call took too long; whether a change was made is not known";
            Refused::with(StatusCode::REQUEST_TIMEOUT, refuse(RefusalKind::Unavailable, text))
                .into_response()
        })
    };
    door.tally.answered(answer.status());
    answer
}

/// The bytes of a head as it is written with the fewest: the server below bounds what it reads at once, and so lets one
/// through that is up to twice as long.
fn head_bytes(request: &Request) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let line = request.method().as_str().len().saturating_add(target);
    let headers = request.headers().iter();
    headers
        .map(|(name, value)| name.as_str().len().saturating_add(value.len()))
        // A colon and a line end.
        .fold(line, |sum, header| sum.saturating_add(header).saturating_add(3))
}

async fn health(State(api): State<Api>) -> Response {
    let published = api.handle.published().borrow().clone();
    let standing = published.standing();
    Json(HealthView {
        state: published.state(),
        pass: published.pass(),
        generation: published.generation(),
        want: standing.want,
        ready: standing.ready,
        held: standing.held,
        gated: standing.gated,
    })
    .into_response()
}

async fn ready(State(api): State<Api>) -> Response {
    let published = api.handle.published();
    let why = if published.has_changed().is_err() {
        Some("the driver stops")
    } else if published.borrow().observed {
        None
    } else {
        Some("not every provider was looked at yet")
    };
    let status = if why.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let view = ReadyView { ready: why.is_none(), why: why.map(str::to_owned) };
    (status, Json(view)).into_response()
}

async fn metrics(State(api): State<Api>) -> Result<Response, Refused> {
    let published = api.handle.published().borrow().clone();
    let (tally, now) = (Arc::clone(&api.tally), (api.clock)());
    let kind = [(header::CONTENT_TYPE, metrics::CONTENT_TYPE)];
    beside(move || (kind, metrics::render(&published, &tally, now)).into_response()).await
}

async fn snapshot(
    State(api): State<Api>,
    query: Result<Query<SnapshotQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let query = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    let mut published = api.handle.published();
    if let Some(after) = query.after {
        // Without news in time the answer is the present state: the caller compares the pass.
        let news = timeout(NEWS_WAIT, published.wait_for(|p| p.pass() != after)).await;
        if let Ok(Err(_closed)) = news {
            return Err(refuse(RefusalKind::Unavailable, "the driver has stopped").into());
        }
    }
    let latest = published.borrow().clone();
    beside(move || Json(latest.view()).into_response()).await
}

/// Makes an answer on a thread of its own: that of a large fleet takes longer than other tasks may wait.
async fn beside(make: impl FnOnce() -> Response + Send + 'static) -> Result<Response, Refused> {
    let answer = tokio::task::spawn_blocking(make).await;
    answer.map_err(|_panic| refuse(RefusalKind::Unavailable, "the answer was not made").into())
}

async fn explain(
    State(api): State<Api>,
    query: Result<Query<ExplainQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let query = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    Ok(Json(api.handle.explain(&query.subject)?).into_response())
}

async fn output(
    State(api): State<Api>,
    query: Result<Query<OutputQuery>, QueryRejection>,
) -> Result<Response, Refused> {
    let Query(query) = query.map_err(|bad| refuse(RefusalKind::Invalid, bad.body_text()))?;
    Ok(Json(api.handle.output(query.slot).await?).into_response())
}

async fn plan(State(api): State<Api>, call: Body<PlanCall>) -> Result<Response, Refused> {
    Ok(Json(api.handle.plan(body(call)?.edit).await?).into_response())
}

async fn apply(
    State(api): State<Api>,
    caller: Option<Extension<Caller>>,
    call: Body<ApplyCall>,
) -> Result<Response, Refused> {
    let ApplyCall { edit, hash, mut source } = body(call)?;
    if let Some(Extension(Caller(caller))) = caller {
        // What a caller says of itself is worth less than what it showed.
        source.who = format!("{caller}: {}", source.who);
    }
    let generation = api.handle.apply(edit, hash, source).await?;
    Ok(Json(Applied { generation }).into_response())
}

async fn release(State(api): State<Api>, call: Body<ReleaseCall>) -> Result<Response, Refused> {
    let ReleaseCall { subject, confirm } = body(call)?;
    Ok(Json(api.handle.release(subject, confirm).await?).into_response())
}

async fn unknown() -> Refused {
    Refused::with(StatusCode::NOT_FOUND, refuse(RefusalKind::Invalid, "there is no such call"))
}

async fn wrong_method() -> Refused {
    let text = "this call is made with another method";
    Refused::with(StatusCode::METHOD_NOT_ALLOWED, refuse(RefusalKind::Invalid, text))
}
