//! Answers that wait: for their commit, or for a fresh look.

use std::collections::{BTreeSet, VecDeque};

use checkpoint::store::{StoreError, Ticket};
use reconciler_core::id::{AttemptId, LogicalNodeId, PlanHash};

use crate::{
    inbox::{Answer, Ask},
    refusing::refuse,
    release::Subject,
    view::{Refusal, RefusalKind, ReleaseView},
};

/// An answer that waits for its commit.
type Deferred = Box<dyn FnOnce(Result<(), Refusal>) + Send>;

/// What waits for the journal or for a look.
#[derive(Default)]
pub(crate) struct Answers {
    deferred: VecDeque<(Ticket, Deferred)>,
    pub(crate) releases: Vec<PendingRelease>,
    pub(crate) recoveries: Vec<PendingRecovery>,
}

/// A recovery that waits for its fresh look.
pub(crate) struct PendingRecovery {
    pub(crate) waiting: BTreeSet<(LogicalNodeId, AttemptId)>,
    pub(crate) ask: Ask,
}

/// A release that waits for its fresh look.
pub(crate) struct PendingRelease {
    pub(crate) subject: Subject,
    pub(crate) confirm: Option<PlanHash>,
    pub(crate) waiting: BTreeSet<(LogicalNodeId, AttemptId)>,
    pub(crate) answer: Answer<ReleaseView>,
}

impl Answers {
    /// Sends the answers that waited for `ticket`.
    pub(crate) fn settle(&mut self, ticket: Ticket, error: Option<&StoreError>) {
        while self.deferred.front().is_some_and(|(waits, _)| *waits <= ticket) {
            let Some((_, answer)) = self.deferred.pop_front() else { return };
            answer(match error {
                None => Ok(()),
                Some(error @ StoreError::PlanUsed(_)) => {
                    Err(refuse(RefusalKind::Stale, error.to_string()))
                }
                Some(error) => Err(journal_refusal(error)),
            });
        }
    }

    /// Answers everything that waits with `refusal`: the driver does not go on.
    pub(crate) fn refuse_all(&mut self, refusal: &Refusal) {
        for (_, answer) in self.deferred.drain(..) {
            answer(Err(refusal.clone()));
        }
        for recovery in self.recoveries.drain(..) {
            recovery.ask.refuse(refusal);
        }
        for release in self.releases.drain(..) {
            drop(release.answer.send(Err(refusal.clone())));
        }
    }

    /// Answers with `value` once `ticket` is durable.
    pub(crate) fn defer<T: Send + 'static>(&mut self, ticket: Ticket, value: T, answer: Answer<T>) {
        let send = move |result: Result<(), Refusal>| {
            // A face that went away does not want its answer any more.
            drop(answer.send(result.map(|()| value)));
        };
        self.deferred.push_back((ticket, Box::new(send)));
    }
}

/// What is said to who asked for something that the journal did not take.
pub(crate) fn journal_refusal(error: &StoreError) -> Refusal {
    if let StoreError::Fenced { .. } = error {
        return refuse(RefusalKind::Forbidden, error.to_string());
    }
    let mut text = format!("the journal failed: {error}");
    let mut last = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        // Some libraries tell their cause in their own words already, and some causes repeat what they caused.
        let more = error.to_string();
        if !text.ends_with(&more) && !more.ends_with(&last) {
            text.push_str(": ");
            text.push_str(&more);
            last = more;
        }
        cause = error.source();
    }
    refuse(RefusalKind::Journal, text)
}
