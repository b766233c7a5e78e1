//! Waits for a piece of a provider's work: until it is done, crashes (D13), or its time is up (R67).

use std::{any::Any, future::Future, time::Duration};

use reconciler_core::redact::Redacted;
use tokio::task::JoinHandle;

/// Longest time that any effect may be given; a longer wish would overflow no clock, but help nobody.
pub(super) const TIMEOUT_MAX: Duration = Duration::from_hours(24);

/// What became of a piece of work.
pub(super) enum Finish<T> {
    /// It came to its end.
    Done(T),
    /// It panicked, with these words.
    Crashed(Redacted),
    /// Its time is up; it may still be running.
    Late(JoinHandle<T>),
    /// The runtime is ending.
    Stopped,
}

/// Runs `work` on its own, and waits for it no longer than `timeout`.
pub(super) async fn within<T: Send + 'static>(
    timeout: Duration,
    work: impl Future<Output = T> + Send + 'static,
) -> Finish<T> {
    let mut handle = tokio::spawn(work);
    match tokio::time::timeout(timeout.min(TIMEOUT_MAX), &mut handle).await {
        Ok(Ok(done)) => Finish::Done(done),
        Ok(Err(error)) => match error.try_into_panic() {
            Ok(panic) => Finish::Crashed(words(panic.as_ref())),
            Err(_cancelled) => Finish::Stopped,
        },
        Err(_elapsed) => Finish::Late(handle),
    }
}

fn words(panic: &(dyn Any + Send)) -> Redacted {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Redacted::new(text.unwrap_or("it panicked without words"))
}
