//! Refusals as HTTP answers, and bodies as they are taken.

use axum::{
    Json,
    extract::rejection::JsonRejection,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    refusing::refuse,
    view::{Refusal, RefusalKind},
};

/// Seconds after which a busy driver may be asked again.
const RETRY_AFTER: &str = "1";

/// A refusal as an answer; the body is the refusal itself.
#[derive(Debug)]
pub(super) struct Refused {
    refusal: Refusal,
    status: StatusCode,
}

impl Refused {
    /// A refusal with a status that says more than its kind.
    pub(super) fn with(status: StatusCode, refusal: Refusal) -> Self {
        Self { refusal, status }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut answer = (self.status, Json(&self.refusal)).into_response();
        if self.refusal.kind == RefusalKind::Busy {
            let after = header::HeaderValue::from_static(RETRY_AFTER);
            answer.headers_mut().insert(header::RETRY_AFTER, after);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = header::HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        answer
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.kind {
            RefusalKind::Invalid => StatusCode::BAD_REQUEST,
            RefusalKind::Stale => StatusCode::CONFLICT,
            RefusalKind::Forbidden => StatusCode::FORBIDDEN,
            RefusalKind::Journal => StatusCode::INTERNAL_SERVER_ERROR,
            RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            RefusalKind::Busy => StatusCode::TOO_MANY_REQUESTS,
        };
        Self { refusal, status }
    }
}

/// A body as it comes.
pub(super) type Body<T> = Result<Json<T>, JsonRejection>;

/// The body itself, or why it is none; that it is too large has a status of its own.
pub(super) fn body<T>(body: Body<T>) -> Result<T, Refused> {
    let Json(value) = body.map_err(|bad| {
        let status = match bad.status() {
            StatusCode::PAYLOAD_TOO_LARGE => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        };
        Refused::with(status, refuse(RefusalKind::Invalid, bad.body_text()))
    })?;
    Ok(value)
}
