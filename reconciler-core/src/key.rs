//! The keys by which a provider recognises a repeat of a request (D7).

use alloc::{format, string::String};

use crate::{
    canonical::write_object,
    id::{IdempotencyKey, SessionId, Uuid},
    kind::ActionKind,
};

/// The key of one command or hook for one attempt: a repeat of the same request has the same key (D7).
pub fn idempotency_key(attempt: Uuid, kind: impl Into<ActionKind>, detail: &str) -> IdempotencyKey {
    let kind = kind.into();
    let mut text = String::with_capacity(128);
    write_object(&mut text, |members| {
        members.plain("attempt", |out| attempt.push(out));
        members.text("command", kind.as_str());
        members.text("detail", detail);
    });
    IdempotencyKey::of(text.as_bytes())
}

/// The key of one step about one session: the first start of an attempt is another request than its second.
pub(crate) fn session_key(
    attempt: Uuid,
    kind: ActionKind,
    session: Option<SessionId>,
) -> IdempotencyKey {
    let later = session.filter(|session| session.get() > 1);
    idempotency_key(
        attempt,
        kind,
        &later.map(|session| format!("session {session}")).unwrap_or_default(),
    )
}
