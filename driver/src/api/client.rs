//! Calls a driver over its socket.

use std::{io, path::PathBuf, time::Duration};

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use reconciler_core::id::{Generation, PassNumber, PlanHash};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{net::UnixStream, time::Instant};

use super::{
    socket,
    wire::{Applied, ApplyCall, PlanCall, ReleaseCall},
};
use crate::{
    refusing::refuse,
    source::Source,
    view::{Edit, ExplainView, PlanView, Refusal, RefusalKind, ReleaseView, RunView},
};

/// How long a driver may take to answer; more than a snapshot call waits for news.
const ANSWER_BOUND: Duration = Duration::from_secs(30);
/// How long a driver may take from its lock to its socket.
const CONNECT_BOUND: Duration = Duration::from_secs(3);
/// Time between two tries to connect.
const CONNECT_PERIOD: Duration = Duration::from_millis(50);

/// True for what a socket says that is about to be opened.
fn is_starting(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// Why a call brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The driver refused; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The socket could not be used.
    #[error("no driver answers at {}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The connection broke; whether a change was made is not known.
    #[error("the driver broke off the call; what became of it is not known")]
    Broken(#[source] hyper::Error),
    /// The answer cannot be read, as from another version.
    #[error("the driver's answer cannot be read")]
    Answer(#[source] serde_json::Error),
    /// The call could not be made.
    #[error("the call cannot be written")]
    Call(#[source] axum::http::Error),
}

/// A driver in another process.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

impl Client {
    /// Calls the driver at `socket`; connects with each call.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
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
            Err(_late) => {
                let text = "the driver is there and does not answer";
                let source = io::Error::new(io::ErrorKind::TimedOut, text);
                Err(CallError::Socket { path: self.socket.clone(), source })
            }
        }
    }

    /// Connects; a driver that is only starting gets a moment to open its socket.
    async fn connect(&self) -> Result<UnixStream, CallError> {
        let patience = Instant::now() + CONNECT_BOUND;
        loop {
            match socket::connect(&self.socket).await {
                Ok(stream) => return Ok(stream),
                Err(error) if is_starting(&error) && Instant::now() < patience => {
                    tokio::time::sleep(CONNECT_PERIOD).await;
                }
                Err(source) => {
                    return Err(CallError::Socket { path: self.socket.clone(), source });
                }
            }
        }
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<T, CallError> {
        let stream = self.connect().await?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(CallError::Broken)?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "levelhead")
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(CallError::Call)?;
        let answer = async move {
            let response = sender.send_request(request).await?;
            let status = response.status();
            Ok((status, response.into_body().collect().await?.to_bytes()))
        };
        let (status, bytes) = drive(connection, answer).await.map_err(CallError::Broken)?;
        if status == StatusCode::OK {
            return serde_json::from_slice(&bytes).map_err(CallError::Answer);
        }
        let refusal: Refusal = serde_json::from_slice(&bytes).map_err(CallError::Answer)?;
        Err(refusal.into())
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
