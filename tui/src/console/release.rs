//! The way out of a hold: a fresh look, what it showed, and a confirmation by its hash (P6).

use driver::view::{Refusal, ReleaseView};
use reconciler_core::{id::PlanHash, time::Millis};

use super::{
    confirm::ARM,
    link::{Ask, Request},
    moment::Moment,
};

/// How far a release is.
#[derive(Clone, Debug)]
pub(crate) enum ReleaseStage {
    /// The fresh look is under way.
    Looking {
        /// The request.
        id: u64,
        /// Since when.
        since: Moment,
    },
    /// Shown, to be confirmed.
    Prompt(Box<ReleasePrompt>),
    /// Confirmed and sent.
    Waiting {
        /// The request.
        id: u64,
        /// Since when.
        since: Moment,
    },
    /// It was refused or did not work.
    Refused(Refusal),
    /// The link broke while it was under way.
    Unknown(String),
}

/// What a release would end, on the screen, waiting for its confirmation.
#[derive(Clone, Debug)]
pub(crate) struct ReleasePrompt {
    /// What the fresh look showed.
    pub(crate) view: ReleaseView,
    /// What was typed so far.
    pub(crate) typed: String,
    painted: Option<Millis>,
}

impl ReleasePrompt {
    /// Shows what the look found.
    pub(crate) const fn new(view: ReleaseView) -> Self {
        Self { view, typed: String::new(), painted: None }
    }

    /// The first frame that shows it is on the screen.
    pub(crate) fn painted(&mut self, at: Millis) {
        self.painted.get_or_insert(at);
    }

    /// True if a key of this moment was typed at what is on the screen.
    pub(crate) fn saw(&self, at: Moment) -> bool {
        self.painted.is_some_and(|painted| at.mono >= painted && at.since(painted) >= ARM)
    }

    /// Confirms, if it could be read and its subject was typed.
    pub(crate) fn confirm(&self, id: u64, at: Moment) -> Option<ConfirmedRelease> {
        (self.saw(at) && self.typed == self.view.subject).then(|| ConfirmedRelease {
            id,
            subject: self.view.subject.clone(),
            hash: self.view.hash,
        })
    }
}

/// A confirmed release: the one way to end a hold. Only made from a look that was on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmedRelease {
    id: u64,
    subject: String,
    hash: PlanHash,
}

impl ConfirmedRelease {
    /// The request's number.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The hash that was on the screen.
    pub const fn hash(&self) -> PlanHash {
        self.hash
    }

    /// What goes to the driver.
    pub fn into_request(self) -> Request {
        Request {
            id: self.id,
            ask: Ask::Release { subject: self.subject, confirm: Some(self.hash) },
        }
    }
}
