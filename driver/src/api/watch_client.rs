//! The client's side of a watch: lines as they come, and the view that they make.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{Method, StatusCode, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::{call_error::CallError, client::Client, copies::Copies, reach::silent};
use crate::view::{RunView, WatchLine};

/// A driver says something at least every five seconds; one that is silent for so long is gone or stuck.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// What a watch showed.
#[derive(Clone, Debug)]
pub enum Seen {
    /// The run as it is now.
    View(Arc<RunView>),
    /// Changes were missed, and why; the run as it is now follows.
    Gap(String),
    /// Nothing is new, and the driver is there.
    Alive,
}

/// A watch of a driver in another process.
#[derive(Debug)]
pub(crate) struct Watch {
    client: Client,
    body: Option<Incoming>,
    /// What came and is no whole line yet.
    rest: Vec<u8>,
    cursor: Option<String>,
    copies: Copies,
}

impl Watch {
    /// A watch that begins with its first `next`.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, body: None, rest: Vec::new(), cursor: None, copies: Copies::default() }
    }

    /// What is to be seen next. After a failure the next call goes on from where it was.
    ///
    /// # Errors
    /// Fails if the driver does not answer, says nothing for too long, or stops.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Seen, CallError> {
        let seen = self.read().await;
        if seen.is_err() {
            self.body = None;
            self.rest.clear();
        }
        seen
    }

    async fn read(&mut self) -> Result<Seen, CallError> {
        loop {
            if let Some(seen) = self.take_lines()? {
                return Ok(seen);
            }
            if self.body.is_none() {
                let body = self.begin().await?;
                self.body = Some(body);
            }
            let Some(body) = &mut self.body else { continue };
            let frame = match timeout(SILENCE_MAX, body.frame()).await {
                Err(_late) => return Err(silent(self.client.target())),
                Ok(None) => return Err(self.over("the driver closed the watch")),
                Ok(Some(frame)) => frame.map_err(CallError::Broken)?,
            };
            if let Ok(bytes) = frame.into_data() {
                self.rest.extend_from_slice(&bytes);
            }
        }
    }

    /// Takes all whole lines that came: many changes are one view.
    fn take_lines(&mut self) -> Result<Option<Seen>, CallError> {
        let mut is_new = false;
        let mut taken = 0;
        let rest = std::mem::take(&mut self.rest);
        while let Some(len) = rest[taken..].iter().position(|byte| *byte == b'\n') {
            let line = serde_json::from_slice(&rest[taken..taken + len]);
            match line.map_err(CallError::Answer)? {
                WatchLine::Snapshot { cursor, view } => {
                    self.cursor = Some(cursor);
                    self.copies.begin(*view);
                    is_new = true;
                }
                WatchLine::Delta { cursor, delta } => {
                    self.cursor = Some(cursor);
                    is_new |= self.copies.follow(*delta);
                }
                // What came before it is shown first; the line itself stays for the next look.
                WatchLine::Gap { .. } | WatchLine::End { .. } | WatchLine::Alive { .. }
                    if is_new =>
                {
                    break;
                }
                WatchLine::Gap { why } => {
                    self.rest = rest[taken + len + 1..].to_vec();
                    return Ok(Some(Seen::Gap(why)));
                }
                WatchLine::Alive { .. } => {
                    self.rest = rest[taken + len + 1..].to_vec();
                    return Ok(Some(Seen::Alive));
                }
                WatchLine::End { why } => return Err(self.over(&why)),
            }
            taken += len + 1;
        }
        self.rest = rest[taken..].to_vec();
        Ok(self.copies.newest().filter(|_| is_new).cloned().map(Seen::View))
    }

    fn over(&self, why: &str) -> CallError {
        let source = std::io::Error::new(std::io::ErrorKind::ConnectionAborted, why);
        CallError::Socket { place: self.client.target().to_string(), source }
    }

    /// Asks for the watch, from where this one has come.
    async fn begin(&mut self) -> Result<Incoming, CallError> {
        let path = match &self.cursor {
            Some(cursor) => format!("/v1/watch?cursor={cursor}"),
            None => "/v1/watch".to_owned(),
        };
        let stream = self.client.target().connect().await?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(CallError::Broken)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "it ends when the body that it brings is dropped"
        )]
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a watch broke off");
            }
        });
        let request = self.client.request(Method::GET, &path, Body::empty())?;
        let response = timeout(SILENCE_MAX, sender.send_request(request)).await;
        let response = response.map_err(|_late| silent(self.client.target()))?;
        let response = response.map_err(CallError::Broken)?;
        if response.status() == StatusCode::OK {
            return Ok(response.into_body());
        }
        let bytes = response.into_body().collect().await.map_err(CallError::Broken)?.to_bytes();
        Err(CallError::refused(&bytes))
    }
}
