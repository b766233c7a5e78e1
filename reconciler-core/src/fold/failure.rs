//! What a failure does to a record: reason, backoff, and the hold when the attempts are used up.

use alloc::{format, string::String};

use super::{NoteKind, folding::Folding};
use crate::{
    desired::RestartPolicy,
    effect::{ExitStatus, FailureClass},
    hold::{Hold, HoldCode},
    id::AttemptId,
    limits,
    observed::{FailureFacts, NodeStage, Remains, Retry},
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// Fails the attempt: `remains` is cleaned up first, and a fresh attempt waits for the backoff.
pub(super) fn fail(f: &mut Folding<'_>, failure: FailureFacts, remains: Remains) {
    f.tell(NoteKind::Failure { command: None, message: failure.message.clone() });
    let was_dormant = matches!(f.record.stage, NodeStage::Dormant { .. });
    f.record.retry = None;
    f.record.missing_since = None;
    f.record.suspect_since = None;
    charge(f, &failure, was_dormant);
    f.enter(NodeStage::Failed { failure, remains });
}

/// Counts a failure against the slot, sets the next due time, and holds the slot if it was the last one.
pub(super) fn charge(f: &mut Folding<'_>, failure: &FailureFacts, was_dormant: bool) {
    let policy = f.record.policy.restart.clone();
    let backoff = &mut f.record.backoff;
    backoff.failures = backoff.failures.saturating_add(1);
    let delay = if was_dormant {
        // A node that had proved itself gets its first replacement at once.
        Millis::ZERO
    } else {
        let delay = delay(&policy, backoff.delays, f.record.attempt);
        backoff.delays = backoff.delays.saturating_add(1);
        delay
    };
    backoff.not_before = Some(f.now.after(delay));
    let failures = backoff.failures;
    match failure.class {
        FailureClass::Auth | FailureClass::Invalid => hold(f, HoldCode::Refused, &failure.message),
        FailureClass::Fenced => hold(f, HoldCode::NewerFence, &failure.message),
        FailureClass::Quota
        | FailureClass::Capacity
        | FailureClass::RateLimited { .. }
        | FailureClass::NotFound
        | FailureClass::Unavailable
        | FailureClass::TimedOut
        | FailureClass::Crashed
        | FailureClass::Withdrawn
        | FailureClass::Workload => {
            if failures >= policy.attempts {
                let text = format!("{failures} failures in a row, the last: {}", failure.message);
                hold(f, HoldCode::CrashLoop, &Redacted::new(&text));
            }
        }
    }
}

/// Holds a slot that failed as often as it may, where another hold stood in the place of that one.
pub(super) fn hold_if_used_up(f: &mut Folding<'_>) {
    let failures = f.record.backoff.failures;
    if failures >= f.record.policy.restart.attempts {
        let text = format!("{failures} failures in a row");
        hold(f, HoldCode::CrashLoop, &Redacted::new(&text));
    }
}

/// Holds the slot.
pub(super) fn hold(f: &mut Folding<'_>, code: HoldCode, text: &Redacted) {
    f.record.hold = Some(Hold { code, text: text.clone(), since: f.now });
    f.tell(NoteKind::Held(code, text.clone()));
}

/// Notes that an effect failed without failing the attempt; it is tried again later.
pub(super) fn retry_later(f: &mut Folding<'_>, message: &Redacted) {
    let tries = f.record.retry.as_ref().map_or(0, |r| r.tries).saturating_add(1);
    let delay = delay(&f.record.policy.restart, tries.saturating_sub(1), f.record.attempt);
    f.record.retry = Some(Retry { tries, at: f.now.after(delay), message: message.clone() });
}

/// True if the effect whose last failure is counted already was tried as often as one attempt allows.
pub(super) fn tried_enough(f: &Folding<'_>) -> bool {
    f.record.retry.as_ref().is_some_and(|retry| retry.tries >= limits::EFFECT_TRIES_MAX)
}

/// True if the failure at hand is that of the last try.
pub(super) fn is_last_try(f: &Folding<'_>) -> bool {
    let before = f.record.retry.as_ref().map_or(0, |retry| retry.tries);
    before.saturating_add(1) >= limits::EFFECT_TRIES_MAX
}

/// The `nth` delay (from 0): doubling from the initial one to the cap, less a jitter that is derived, not drawn.
pub(crate) fn delay(policy: &RestartPolicy, nth: u32, attempt: AttemptId) -> Millis {
    let doubled = policy.initial.get().saturating_mul(1u64.checked_shl(nth).unwrap_or(u64::MAX));
    let full = doubled.min(policy.cap.get());
    let seed = attempt
        .uuid
        .as_bytes()
        .iter()
        .rev()
        .take(4)
        .fold(u64::from(nth), |sum, byte| sum.wrapping_mul(257).wrapping_add(u64::from(*byte)));
    let off_permille = match u64::from(policy.jitter_percent.min(50)).saturating_mul(10) {
        0 => 0,
        most => seed.checked_rem(most.saturating_add(1)).unwrap_or(0),
    };
    let off = full.saturating_mul(off_permille) / 1_000;
    Millis::new(full.saturating_sub(off))
}

/// What came of a process, to follow its name.
pub(super) fn exit_words(status: &ExitStatus) -> String {
    match status {
        ExitStatus::Code(code) => format!("exited with status {code}"),
        ExitStatus::Signal(signal) => format!("was ended by signal {signal}"),
        ExitStatus::Unknown => String::from("is gone; nobody saw how it ended"),
    }
}

/// How the exit of a workload reads.
pub(super) fn exit_text(status: &ExitStatus, tail: &Redacted) -> Redacted {
    quoting(&format!("the workload {}", exit_words(status)), tail)
}

/// `what` happened, with the last lines of what it happened to.
pub(super) fn quoting(what: &str, tail: &Redacted) -> Redacted {
    if tail.as_str().trim().is_empty() {
        return Redacted::new(what);
    }
    Redacted::new(&format!("{what}; its last lines: {tail}"))
}

/// The failure of something that is proven gone.
pub(super) fn lost(now: Timestamp, message: &str) -> FailureFacts {
    FailureFacts { at: now, class: FailureClass::NotFound, message: Redacted::new(message) }
}
