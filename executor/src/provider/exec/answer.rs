//! What the program's answers mean: only a complete, well-typed answer says anything (C1).
//!
//! Anything else, be it an empty string, `[]`, HTML or half a document, is doubt: an effect may have happened,
//! and an observation shows nothing.

use reconciler_core::{
    effect::{
        Certainty, EffectFailure, ExitStatus, FailureClass, HookSight, HookState, Listing, Look,
        OwnedLease, WorkloadState,
    },
    id::Fence,
    limits,
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
    redact::Redacted,
    time::Millis,
};
use serde_json::Value;

use super::{
    fields::{FieldError, Fields},
    program::Program,
};
use crate::{seam::Leased, secret::Needles};

/// Pause after a rate limit that names none.
const RETRY_AFTER_DEFAULT_MS: u64 = 10_000;
/// Longest lease id, slot name or host that is believed to be one.
const ID_LEN_MAX: usize = 1_024;

/// An answer that came whole: what the program says.
#[derive(Debug)]
pub(super) enum Answer {
    /// `{"ok": …}`
    Ok(Value),
    /// `{"error": …}`
    Error(EffectFailure),
}

impl Answer {
    /// Reads the one document that an answer is.
    pub(super) fn read(bytes: &[u8], program: &Program) -> Result<Self, String> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err("it answered nothing".to_owned());
        }
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| format!("its answer is not one JSON document: {error}"))?;
        let value = without_secrets(value, &program.secrets().needles());
        let said = || -> Result<Self, FieldError> {
            let top = Fields::of(&value, "answer")?;
            match (top.object("ok")?, top.object("error")?) {
                (Some(_), None) => Ok(Self::Ok(top.need("ok")?.clone())),
                (None, Some(error)) => Ok(Self::Error(failure(&error, program)?)),
                (None, None) | (Some(_), Some(_)) => {
                    Err(top.wrong("ok", "there if `error` is not, and only then"))
                }
            }
        };
        said().map_err(|error| format!("its answer is not understood: {error}"))
    }
}

/// What a program answers is kept, ids and handles included, so no secret of a node may stand anywhere in it.
fn without_secrets(value: Value, needles: &Needles) -> Value {
    if needles.is_empty() {
        return value;
    }
    match value {
        Value::String(text) => Value::String(needles.cleaned(&text)),
        Value::Array(items) => {
            items.into_iter().map(|item| without_secrets(item, needles)).collect()
        }
        Value::Object(members) => members
            .into_iter()
            .map(|(name, member)| (needles.cleaned(&name), without_secrets(member, needles)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn failure(error: &Fields<'_>, program: &Program) -> Result<EffectFailure, FieldError> {
    let retry_after = error.number("retry_after_ms")?.unwrap_or(RETRY_AFTER_DEFAULT_MS);
    let class = match error.text("class")?.ok_or_else(|| FieldError::Missing(error.at("class")))? {
        "auth" => FailureClass::Auth,
        "quota" => FailureClass::Quota,
        "capacity" => FailureClass::Capacity,
        "rate-limited" => FailureClass::RateLimited { retry_after: Millis::new(retry_after) },
        "not-found" => FailureClass::NotFound,
        "invalid" => FailureClass::Invalid,
        "unavailable" => FailureClass::Unavailable,
        "timed-out" => FailureClass::TimedOut,
        "crashed" => FailureClass::Crashed,
        "workload" => FailureClass::Workload,
        "fenced" => FailureClass::Fenced,
        _ => return Err(error.wrong("class", "one of the documented classes")),
    };
    let certainty = match error.flag("definite")? {
        Some(true) => Certainty::Definite,
        Some(false) | None => Certainty::Ambiguous,
    };
    let message = error.text("message")?.unwrap_or("the program gave no message");
    let message = Redacted::new(&program.scrubbed(message));
    Ok(EffectFailure { certainty, class, message })
}

/// The answer of `create-lease`; `fence` is that of the request.
pub(super) fn leased(ok: &Value, fence: Fence) -> Result<Leased, FieldError> {
    let ok = Fields::of(ok, "ok")?;
    Ok(Leased { lease: lease(&ok, fence)?, endpoint: endpoint(&ok)? })
}

/// The answer of `lookup-endpoint`: the field must be there, so that a forgotten one is not "not yet".
pub(super) fn looked_up(ok: &Value) -> Result<Option<Endpoint>, FieldError> {
    let ok = Fields::of(ok, "ok")?;
    ok.need("endpoint")?;
    endpoint(&ok)
}

/// The answer of `start-bootstrap`.
pub(super) fn started(ok: &Value) -> Result<Handle, FieldError> {
    let ok = Fields::of(ok, "ok")?;
    match ok.object("handle")? {
        Some(facts) => handle(&facts),
        None => Err(FieldError::Missing(ok.at("handle"))),
    }
}

/// The answer of `inspect`; `known` is what we knew of the lease.
pub(super) fn inspected(
    ok: &Value,
    known: Option<&LeaseFacts>,
    program: &Program,
) -> Result<Look, FieldError> {
    let ok = Fields::of(ok, "ok")?;
    if !ok.flag("present")?.ok_or_else(|| FieldError::Missing(ok.at("present")))? {
        return Ok(Look::Absent);
    }
    Ok(Look::Present {
        // An unknown fence counts as the oldest: what is older than ours may be adopted.
        lease: lease(&ok, known.map_or_else(Fence::default, |lease| lease.fence))?,
        endpoint: endpoint(&ok)?,
        workload: workload(&ok, program)?,
        hook: hook(&ok, program)?,
    })
}

/// The answer of `list-owned`.
pub(super) fn listed(ok: &Value, program: &Program) -> Result<Listing, FieldError> {
    let ok = Fields::of(ok, "ok")?;
    let complete = ok.flag("complete")?.unwrap_or(false);
    let entries = ok.read("owned", "a list", Value::as_array)?;
    let entries = entries.ok_or_else(|| FieldError::Missing(ok.at("owned")))?;
    let mut owned = Vec::with_capacity(entries.len());
    let mut garbled = None;
    for (at, entry) in entries.iter().enumerate() {
        match owned_lease(entry, &format!("ok.owned[{at}]"), program) {
            Ok(lease) => owned.push(lease),
            Err(error) => garbled = garbled.or(Some(error)),
        }
    }
    Ok(match garbled {
        Some(error) => {
            Listing::Partial(owned, Redacted::new(&format!("an entry is not understood: {error}")))
        }
        None if complete => Listing::Complete(owned),
        None => {
            Listing::Partial(owned, Redacted::new("the program does not say that it is complete"))
        }
    })
}

fn owned_lease(entry: &Value, path: &str, program: &Program) -> Result<OwnedLease, FieldError> {
    let entry = Fields::of(entry, path)?;
    let fence = entry.number("fence")?.ok_or_else(|| FieldError::Missing(entry.at("fence")))?;
    let slot = need_text(&entry, "slot")?;
    let attempt = need_text(&entry, "attempt")?;
    Ok(OwnedLease {
        slot: slot.parse().map_err(|_bad| entry.wrong("slot", "a slot such as web-0"))?,
        attempt: attempt.parse().map_err(|_bad| entry.wrong("attempt", "a UUID"))?,
        fence: Fence::new(fence),
        lease: lease(&entry, Fence::new(fence))?,
        endpoint: endpoint(&entry)?,
        workload: workload(&entry, program)?,
    })
}

/// The lease in `of`; the fence beside it or in it goes before `fence`.
fn lease(of: &Fields<'_>, fence: Fence) -> Result<LeaseFacts, FieldError> {
    let beside = of.number("fence")?;
    let of = of.object("lease")?.ok_or_else(|| FieldError::Missing(of.at("lease")))?;
    let within = of.number("fence")?;
    Ok(LeaseFacts {
        id: LeaseId::new(need_text(&of, "id")?),
        fence: within.or(beside).map_or(fence, Fence::new),
        handle: of.object("handle")?.map_or_else(|| Ok(Handle::default()), |at| handle(&at))?,
    })
}

fn handle(facts: &Fields<'_>) -> Result<Handle, FieldError> {
    if facts.len() > limits::HANDLE_FACTS_MAX {
        return Err(facts.wrong("*", "at most 32 facts"));
    }
    facts.all("a string", |value| value.as_str().map(ToOwned::to_owned)).map(Handle::new)
}

fn endpoint(of: &Fields<'_>) -> Result<Option<Endpoint>, FieldError> {
    let Some(endpoint) = of.object("endpoint")? else { return Ok(None) };
    let port = |value: &Value| value.as_u64().and_then(|port| u16::try_from(port).ok());
    let ports = match endpoint.object("ports")? {
        Some(ports) => ports.all("a port from 0 to 65535", port)?,
        None => std::collections::BTreeMap::new(),
    };
    Ok(Some(Endpoint { host: need_text(&endpoint, "host")?.into(), ports: ports.into() }))
}

fn workload(of: &Fields<'_>, program: &Program) -> Result<WorkloadState, FieldError> {
    let Some(workload) = of.object("workload")? else { return Ok(WorkloadState::Unknown) };
    match need_text(&workload, "state")? {
        "absent" => Ok(WorkloadState::Absent),
        "unknown" => Ok(WorkloadState::Unknown),
        "running" => match workload.object("handle")? {
            Some(facts) => Ok(WorkloadState::Running { workload: handle(&facts)? }),
            None => Err(FieldError::Missing(workload.at("handle"))),
        },
        "exited" => {
            let (status, tail) = exited(&workload, program)?;
            Ok(WorkloadState::Exited { status, tail })
        }
        _ => Err(workload.wrong("state", "running, exited, absent or unknown")),
    }
}

/// How something ended: `code` or `signal`, and the `tail` of its output.
fn exited(of: &Fields<'_>, program: &Program) -> Result<(ExitStatus, Redacted), FieldError> {
    let small = |value: &Value| value.as_i64().and_then(|code| i32::try_from(code).ok());
    let code = of.read("code", "a whole number", small)?;
    let signal = of.read("signal", "a whole number", small)?;
    let status = match (code, signal) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Unknown,
    };
    let tail = program.scrubbed(of.text("tail")?.unwrap_or_default());
    Ok((status, Redacted::new(&tail)))
}

/// The hook that was begun last; without the field nothing is said of any.
fn hook(of: &Fields<'_>, program: &Program) -> Result<HookSight, FieldError> {
    let Some(hook) = of.object("hook")? else { return Ok(HookSight::Untold) };
    let key = || {
        let wrong = || hook.wrong("key", "the key of the request");
        need_text(&hook, "key")?.parse().map_err(|_bad| wrong())
    };
    Ok(match need_text(&hook, "state")? {
        "none" => HookSight::Nothing,
        "running" => HookSight::Begun { key: key()?, state: HookState::Running },
        "exited" => {
            let (status, tail) = exited(&hook, program)?;
            HookSight::Begun { key: key()?, state: HookState::Ended { status, tail } }
        }
        _ => return Err(hook.wrong("state", "none, running or exited")),
    })
}

fn need_text<'a>(of: &Fields<'a>, key: &str) -> Result<&'a str, FieldError> {
    let text = of.text(key)?.ok_or_else(|| FieldError::Missing(of.at(key)))?;
    if text.is_empty() || text.len() > ID_LEN_MAX || text.chars().any(char::is_control) {
        return Err(of.wrong(key, "a plain text of 1 to 1024 bytes"));
    }
    Ok(text)
}
