//! The seeded bugs: faults of the kinds that such a program has in earnest, each made by a wrapper of one seam.
//!
//! They are the test of the simulator: each must be found, so that a story without findings means something.

use serde::{Deserialize, Serialize};

/// A seeded bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bug {
    /// The journal says "kept" of intents before they are.
    EffectBeforeIntent,
    /// The journal says "kept" of what an operator asked before it is.
    PromiseBeforeSync,
    /// The journal writes records apart from the steps that back them.
    TornCommit,
    /// The journal takes what a driver writes whose run was taken.
    UnfencedWrites,
    /// The dispatcher reads the fence once and keeps it.
    StaleFence,
    /// A driver that takes over performs anew what was performed already.
    StepReplayed,
    /// A driver that takes over forgets how long it has to wait.
    BackoffForgotten,
    /// A driver that takes over forgets what was under way.
    PendingForgotten,
    /// A driver that takes over forgets the lease of a failed attempt.
    LeaseForgotten,
    /// A driver that takes over forgets what was held.
    HoldForgotten,
    /// A driver that takes over forgets what was to go.
    DeletionForgotten,
    /// A driver that takes over forgets which update is under way.
    RolloutForgotten,
    /// A driver that takes over forgets what groups wait for.
    GatesForgotten,
    /// A provider says "absent" of what the last listing lacked.
    ListingIsProof,
    /// A provider says "absent" of what it could not look at.
    BlindIsAbsent,
    /// A provider says "surely not" where the answer was lost.
    DoubtIsRefusal,
    /// A provider says "gone" as soon as it was asked to destroy.
    DestroyBelieved,
    /// A provider lists only what it knows the maker of.
    OrphansHidden,
    /// A provider reports ends of workloads that run.
    ExitInvented,
}

impl Bug {
    /// Every one.
    pub const ALL: [Self; 19] = [
        Self::EffectBeforeIntent,
        Self::PromiseBeforeSync,
        Self::TornCommit,
        Self::UnfencedWrites,
        Self::StaleFence,
        Self::StepReplayed,
        Self::BackoffForgotten,
        Self::PendingForgotten,
        Self::LeaseForgotten,
        Self::HoldForgotten,
        Self::DeletionForgotten,
        Self::RolloutForgotten,
        Self::GatesForgotten,
        Self::ListingIsProof,
        Self::BlindIsAbsent,
        Self::DoubtIsRefusal,
        Self::DestroyBelieved,
        Self::OrphansHidden,
        Self::ExitInvented,
    ];
}
