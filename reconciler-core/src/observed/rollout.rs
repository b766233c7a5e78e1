//! An update under way: where it leads, how far it has come, and what served before it (R163, R171, R175).
//!
//! Where the updates of all groups are kept stands in `rollouts`; when one begins, fails and ends is decided in
//! `reconcile/rollout.rs`.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    desired::{HookPoint, NodeSpec},
    hold::HoldCode,
    id::{LogicalNodeId, RevisionDigest},
    redact::Redacted,
    time::{Millis, Timestamp},
};

/// A revision that served, with what it takes to go back to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prior {
    /// The digest of `spec`.
    pub revision: RevisionDigest,
    /// What its nodes are.
    pub spec: Arc<NodeSpec>,
}

/// A hook that completed, or may have, while an update was under way: there is no way back past it (R138).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooked {
    /// Of which slot.
    pub slot: LogicalNodeId,
    /// Which hook.
    pub point: HookPoint,
}

/// An attempt of the new revision that failed in a way that turns the update back (D4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Of which slot.
    pub slot: LogicalNodeId,
    /// What went wrong, cleaned.
    pub why: Redacted,
}

/// A group's update under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The revision that it leads to.
    pub target: RevisionDigest,
    /// The revision that served when it began, if one did.
    pub prior: Option<Prior>,
    /// True if it goes back to what served before an update that failed; it is never reverted itself.
    pub reverts: bool,
    /// When it began.
    pub since: Timestamp,
    /// The most nodes of the target revision that were ready at once.
    pub done: u32,
    /// How long it may go without a further one.
    pub patience: Millis,
    /// When it has failed; never while it is paused or its group was held for it.
    pub deadline: Option<Timestamp>,
    /// True while an operator lets no further node give way.
    pub paused: bool,
    /// The first hook of the group that completed since it began, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooked: Option<Hooked>,
    /// The first attempt of the new revision whose failure turns it back, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
}

/// Why an update moves no node at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// An operator paused it: what it had begun goes on, and whatever begins anew does so at the revision it had.
    Paused,
    /// It failed and is held, by this code: moreover nothing new is made of its revision.
    Stalled(HoldCode),
}

impl Freeze {
    /// True where it failed and is held.
    pub const fn is_stalled(self) -> bool {
        matches!(self, Self::Stalled(_))
    }
}

/// Why an update cannot be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWayBack {
    /// It goes back already, and a way back is never reverted.
    #[error("it goes back already to what served before")]
    GoesBack,
    /// Nothing served when it began.
    #[error("nothing served before it")]
    NothingServed,
}

impl Rollout {
    /// True if it leads back to what served: by itself, or from the next pass on, where that is what is declared.
    pub fn goes_back(&self, declared: RevisionDigest) -> bool {
        self.reverts || self.prior.as_ref().is_some_and(|prior| prior.revision == declared)
    }

    /// What it is taken back to, where `declared` is the revision that its group is to be of.
    ///
    /// # Errors
    /// Says why there is no way back; a way back has none itself (C10).
    pub fn way_back(&self, declared: RevisionDigest) -> Result<&Prior, NoWayBack> {
        if self.goes_back(declared) {
            return Err(NoWayBack::GoesBack);
        }
        self.prior.as_ref().ok_or(NoWayBack::NothingServed)
    }

    /// Gives it its whole patience again, unless it is paused.
    pub(crate) fn begin_patience(&mut self, now: Timestamp) {
        self.deadline = (!self.paused).then(|| now.after(self.patience));
    }
}
