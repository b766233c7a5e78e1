//! Calls a driver: over its socket.

use std::{path::PathBuf, time::Duration};

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use reconciler_core::id::{Generation, LogicalNodeId, PassNumber, PlanHash};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    call_error::CallError,
    reach::{Target, silent},
    remote::{Credentials, Remote, RemoteError},
    wire::{Applied, ApplyCall, PlanCall, ReleaseCall},
};
use crate::{
    refusing::refuse,
    source::Source,
    view::{
        Edit, EventsView, ExplainView, OutputView, PlanView, Refusal, RefusalKind, ReleaseView,
        RunView,
    },
};

/// How long a driver may take to answer; more than a snapshot call waits for news.
const ANSWER_BOUND: Duration = Duration::from_secs(30);

impl CallError {
    /// What an answer says that is none of success.
    pub(super) fn refused(body: &[u8]) -> Self {
        match serde_json::from_slice::<Refusal>(body) {
            Ok(refusal) => refusal.into(),
            Err(error) => Self::Answer(error),
        }
    }
}

/// A driver in another process.
#[derive(Clone, Debug)]
pub struct Client {
    target: Target,
}

impl Client {
    /// Calls the driver at `socket`; connects with each call.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { target: Target::Socket(socket.into()) }
    }

    /// Calls the driver at `url`, such as `https://host:7700`.
    ///
    /// # Errors
    /// Refuses an address that is none, and credentials that are of no use.
    pub fn remote(url: &str, credentials: &Credentials) -> Result<Self, RemoteError> {
        Ok(Self { target: Target::Remote(Box::new(Remote::new(url, credentials)?)) })
    }

    /// Where it calls.
    pub(super) const fn target(&self) -> &Target {
        &self.target
    }

    /// Asks whether a driver answers at all.
    ///
    /// # Errors
    /// Fails if none does.
    pub async fn answers(&self) -> Result<(), CallError> {
        let _standing: serde_json::Value =
            self.call(Method::GET, "/v1/health", Body::empty()).await?;
        Ok(())
    }

    /// The state of the run; with `after`, as soon as a later pass did something, or after ten seconds.
    ///
    /// # Errors
    /// Fails if the driver does not answer.
    pub async fn snapshot(&self, after: Option<PassNumber>) -> Result<RunView, CallError> {
        let path = match after {
            Some(pass) => format!("/v1/snapshot?after={pass}"),
            None => "/v1/snapshot".to_owned(),
        };
        self.call(Method::GET, &path, Body::empty()).await
    }

    /// Explains a slot, or every slot of a group.
    ///
    /// # Errors
    /// Fails if there is no such subject, or the driver does not answer.
    pub async fn explain(&self, subject: &str) -> Result<Vec<ExplainView>, CallError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !subject.chars().all(plain) {
            // Such a name is none of ours, and would not survive the way there.
            let message = format!("there is no slot or group `{subject}`");
            return Err(refuse(RefusalKind::Invalid, message).into());
        }
        let path = format!("/v1/explain?subject={subject}");
        self.call(Method::GET, &path, Body::empty()).await
    }

    /// What the agent of `slot` told last of what its workload wrote.
    ///
    /// # Errors
    /// Fails if no agent of it is heard, or the driver does not answer.
    pub async fn output(&self, slot: &LogicalNodeId) -> Result<OutputView, CallError> {
        self.call(Method::GET, &format!("/v1/output?slot={slot}"), Body::empty()).await
    }

    /// Events of the journal after a cursor, or the newest; with `wait`, as soon as there is one, or after ten seconds.
    ///
    /// # Errors
    /// Fails if the cursor is none of this run's, or the driver does not answer.
    pub async fn events(
        &self,
        after: Option<&str>,
        limit: u32,
        wait: bool,
    ) -> Result<EventsView, CallError> {
        let after = after.map_or_else(String::new, |cursor| format!("&after={cursor}"));
        let path = format!("/v1/events?limit={limit}&wait={wait}{after}");
        self.call(Method::GET, &path, Body::empty()).await
    }

    /// What `edit` would do.
    ///
    /// # Errors
    /// Fails if the driver refuses or does not answer.
    pub async fn plan(&self, edit: Edit) -> Result<PlanView, CallError> {
        self.post("/v1/plan", &PlanCall { edit }).await
    }

    /// Does what was shown.
    ///
    /// # Errors
    /// Fails if the driver refuses or does not answer.
    pub async fn apply(
        &self,
        edit: Edit,
        hash: PlanHash,
        source: Source,
    ) -> Result<Generation, CallError> {
        let applied: Applied = self.post("/v1/apply", &ApplyCall { edit, hash, source }).await?;
        Ok(applied.generation)
    }

    /// Shows what a release would end, and ends it if `confirm` is right.
    ///
    /// # Errors
    /// Fails if the driver refuses or does not answer.
    pub async fn release(
        &self,
        subject: String,
        confirm: Option<PlanHash>,
    ) -> Result<ReleaseView, CallError> {
        self.post("/v1/release", &ReleaseCall { subject, confirm }).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        call: &impl Serialize,
    ) -> Result<T, CallError> {
        let body = serde_json::to_vec(call).map_err(CallError::Answer)?;
        self.call(Method::POST, path, Body::from(body)).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(ANSWER_BOUND, self.exchange(method, path, body)).await {
            Ok(answer) => answer,
            Err(_late) => Err(silent(&self.target)),
        }
    }

    /// A request as a driver takes it.
    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<Request<Body>, CallError> {
        let (host, token) = match &self.target {
            Target::Socket(_) => ("levelhead".to_owned(), None),
            Target::Remote(remote) => (remote.authority(), remote.token()),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, token);
        }
        request.body(body).map_err(CallError::Call)
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<T, CallError> {
        let stream = self.target.connect().await?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(CallError::Broken)?;
        let request = self.request(method, path, body)?;
        let answer = async move {
            let response = sender.send_request(request).await?;
            let status = response.status();
            Ok((status, response.into_body().collect().await?.to_bytes()))
        };
        let (status, bytes) = drive(connection, answer).await.map_err(CallError::Broken)?;
        if status == StatusCode::OK {
            return serde_json::from_slice(&bytes).map_err(CallError::Answer);
        }
        Err(CallError::refused(&bytes))
    }
}

/// Waits for an answer while the connection does its work beside it.
async fn drive<T>(
    connection: impl Future<Output = hyper::Result<()>>,
    answer: impl Future<Output = hyper::Result<T>>,
) -> hyper::Result<T> {
    let mut connection = std::pin::pin!(connection);
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        broken = &mut connection => {
            broken?;
            answer.await
        }
    }
}
