//! One listing or one look from its turn to its report; whatever goes wrong, nothing is claimed.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use reconciler_core::{
    effect::{Listing, Look},
    id::{AttemptId, LogicalNodeId, SessionId},
    observed::LeaseFacts,
    redact::Redacted,
};

use super::{
    deadline::{Finish, within},
    ground::Ground,
    report::Report,
    shared::Shared,
};

/// How long one listing may take; a longer one tells of a past that is over.
const LISTING_TIMEOUT: Duration = Duration::from_mins(1);

/// How long one look may take; what cannot be seen in that time is unknown.
pub(super) const LOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// Performs a listing whose turn has come.
pub(super) async fn list(shared: &Shared, ground: &Ground) {
    let (run, provider) = (shared.run, Arc::clone(&ground.provider));
    let why = match within(LISTING_TIMEOUT, async move { provider.list_owned(run).await }).await {
        Finish::Done(listing) => Ok(listing),
        Finish::Late(work) => {
            work.abort();
            Err("the listing took too long".to_owned())
        }
        Finish::Crashed(words) => Err(format!("the listing crashed: {words}")),
        Finish::Stopped => Err("the controller is stopping".to_owned()),
    };
    let listing = why.unwrap_or_else(|why| Listing::Unknown(Redacted::new(&why)));
    let visibility = ground.provider.capabilities().visibility;
    ground.listing.store(false, Ordering::SeqCst);
    (shared.report)(Report::Listed { provider: ground.name.clone(), listing, visibility });
}

/// Performs a look whose turn has come.
pub(super) async fn look(
    shared: &Shared,
    ground: &Ground,
    slot: LogicalNodeId,
    attempt: AttemptId,
    lease: Option<LeaseFacts>,
) {
    let (run, provider, of) = (shared.run, Arc::clone(&ground.provider), slot.clone());
    let work = async move { provider.inspect(run, &of, attempt, lease.as_ref()).await };
    let look = seen(within(LOOK_TIMEOUT, work).await);
    (shared.report)(Report::Looked { provider: ground.name.clone(), slot, attempt, look });
}

/// Performs a look at what was written last in a session; where that shows nothing, nothing is said.
pub(super) async fn last_lines(
    shared: &Shared,
    ground: &Ground,
    (slot, attempt, session): (LogicalNodeId, AttemptId, SessionId),
    lease: LeaseFacts,
) {
    let provider = Arc::clone(&ground.provider);
    let work = async move { provider.last_lines(&lease).await };
    match within(LOOK_TIMEOUT, work).await {
        Finish::Done(tail) if !tail.as_str().trim().is_empty() => {
            (shared.report)(Report::Said { slot, attempt, session, tail });
        }
        Finish::Done(_) | Finish::Stopped => {}
        Finish::Late(work) => work.abort(),
        Finish::Crashed(words) => {
            tracing::warn!(%slot, "the look at its last lines crashed: {words}");
        }
    }
}

/// What a look that ended so has shown.
pub(super) fn seen(finish: Finish<Look>) -> Look {
    let why = match finish {
        Finish::Done(look) => return look,
        Finish::Late(work) => {
            // A look changes nothing, so nothing is lost with it.
            work.abort();
            Redacted::new("the look took too long")
        }
        Finish::Crashed(words) => Redacted::new(&format!("the look crashed: {words}")),
        Finish::Stopped => Redacted::new("the controller is stopping"),
    };
    Look::Unknown { why }
}
