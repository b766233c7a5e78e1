//! Where one step stands, and what its end makes of that on the way forward and on the way back.

use super::class::{CheckpointClass, CheckpointRow, RecoveryLane, row};
use crate::id::LogicalNodeId;

/// Which way an operation goes, and the steps that it takes on that way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To what its plan showed.
    #[default]
    Forward,
    /// Back to what was before it; there is no way forward from here.
    Rollback,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Forward, Self::Rollback];

    /// The stable text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Rollback => "rollback",
        }
    }

    /// The direction of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

    /// The mark of a step whose intent is being written.
    pub const fn pending(self) -> StepMark {
        match self {
            Self::Forward => StepMark::EffectPending,
            Self::Rollback => StepMark::CompensationPending,
        }
    }
}

/// Where a step stands; written `<slot>:<name>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepMark {
    /// Its intent is on disk; the effect may have been sent.
    EffectPending,
    /// The postcondition was seen after the effect.
    Verified,
    /// The postcondition was seen by another driver than the one that sent the effect.
    VerifiedAfterResume,
    /// Cancelled, and nothing was sent.
    CancelledBeforeEffect,
    /// It was sent, failed, and a look showed no effect.
    CancelledNoEffect,
    /// It was sent, and nobody can say whether it happened.
    AmbiguousEffect,
    /// After a restart nobody can say whether it happened.
    AmbiguousAfterResume,
    /// The provider accepted it, and a look showed no effect.
    AcceptedWithoutEffect,
    /// What it was confirmed against no longer holds.
    ContextStale,
    /// It happened, and nothing takes it back.
    IrreversibleEffect,
    /// The intent of an inverse is on disk; its effect may have been sent.
    CompensationPending,
    /// The inverse was seen to have happened.
    Compensated,
    /// After a restart nobody can say whether the inverse happened.
    CompensationAmbiguous,
    /// The inverse was tried as often as it may be.
    CompensationExhausted,
    /// What the way back was made against no longer holds.
    CompensationStale,
    /// The inverse surely failed, in a way that a repeat does not mend.
    CompensationFailed,
    /// The inverse is not the one that was written with the intent.
    CompensationMismatch,
    /// There is no inverse.
    CompensationUnavailable,
    /// What served before on this slot does not serve after the way back.
    RestoredHealthHold,
}

impl StepMark {
    /// Every mark, in the order of the table.
    pub const ALL: [Self; 19] = [
        Self::EffectPending,
        Self::Verified,
        Self::VerifiedAfterResume,
        Self::CancelledBeforeEffect,
        Self::CancelledNoEffect,
        Self::AmbiguousEffect,
        Self::AmbiguousAfterResume,
        Self::AcceptedWithoutEffect,
        Self::ContextStale,
        Self::IrreversibleEffect,
        Self::CompensationPending,
        Self::Compensated,
        Self::CompensationAmbiguous,
        Self::CompensationExhausted,
        Self::CompensationStale,
        Self::CompensationFailed,
        Self::CompensationMismatch,
        Self::CompensationUnavailable,
        Self::RestoredHealthHold,
    ];

    /// Its row (R109 to R116).
    pub const fn row(self) -> CheckpointRow {
        use CheckpointClass::{
            Compensation, ForwardEffect, Interruption, RestoredHealth, SafeHold, Verification,
        };
        use RecoveryLane::{Complete, Reobserve, Resume, SafeHold as Hold};
        match self {
            Self::EffectPending => row("effect-pending", ForwardEffect, Reobserve),
            Self::Verified => row("verified", Verification, Complete),
            Self::VerifiedAfterResume => row("verified-after-resume", Verification, Complete),
            Self::CancelledBeforeEffect => row("cancelled-before-effect", Interruption, Resume),
            Self::CancelledNoEffect => row("cancelled-no-effect", Interruption, Resume),
            Self::AmbiguousEffect => row("ambiguous-effect", SafeHold, Hold),
            Self::AmbiguousAfterResume => row("ambiguous-after-resume", SafeHold, Hold),
            Self::AcceptedWithoutEffect => row("accepted-without-effect", SafeHold, Hold),
            Self::ContextStale => row("context-stale", SafeHold, Hold),
            Self::IrreversibleEffect => row("irreversible-effect-safe-hold", SafeHold, Hold),
            Self::CompensationPending => row("compensation-pending", Compensation, Reobserve),
            Self::Compensated => row("compensated", Compensation, Complete),
            Self::CompensationAmbiguous => {
                row("compensation-ambiguous-after-resume", Compensation, Hold)
            }
            Self::CompensationExhausted => {
                row("compensation-attempts-exhausted", Compensation, Hold)
            }
            Self::CompensationStale => row("compensation-context-stale", Compensation, Hold),
            Self::CompensationFailed => row("compensation-failed", Compensation, Hold),
            Self::CompensationMismatch => row("compensation-record-mismatch", Compensation, Hold),
            Self::CompensationUnavailable => row("compensation-unavailable", Compensation, Hold),
            Self::RestoredHealthHold => row("restored-health-safe-hold", RestoredHealth, Hold),
        }
    }

    /// The mark of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mark| mark.row().name == name)
    }

    /// Where a step that goes in `direction` and stood at `before` comes to when it ends as `self` says of a step
    /// forward. A mark that is of the way back already stays what it is.
    ///
    /// An inverse that failed is still pending: a further try of it follows, or its slot is held.
    #[must_use]
    pub const fn settled(self, before: Option<Self>, direction: Direction) -> Self {
        match (direction, self) {
            (Direction::Forward, Self::Verified) => match before {
                Some(Self::AmbiguousAfterResume) => Self::VerifiedAfterResume,
                Some(_) | None => Self::Verified,
            },
            (Direction::Rollback, Self::Verified | Self::VerifiedAfterResume) => Self::Compensated,
            (
                Direction::Rollback,
                Self::EffectPending
                | Self::CancelledBeforeEffect
                | Self::CancelledNoEffect
                | Self::AmbiguousEffect,
            ) => Self::CompensationPending,
            (Direction::Rollback, Self::AmbiguousAfterResume) => Self::CompensationAmbiguous,
            (Direction::Rollback, Self::AcceptedWithoutEffect) => Self::CompensationFailed,
            (Direction::Rollback, Self::ContextStale) => Self::CompensationStale,
            (Direction::Rollback, Self::IrreversibleEffect) => Self::CompensationUnavailable,
            (_, mark) => mark,
        }
    }
}

/// Where one step stands, with the slot that it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepCheckpoint {
    /// The slot.
    pub slot: LogicalNodeId,
    /// Where it stands.
    pub mark: StepMark,
}

impl StepCheckpoint {
    /// The checkpoint `mark` of `slot`.
    pub const fn new(slot: LogicalNodeId, mark: StepMark) -> Self {
        Self { slot, mark }
    }

    /// What it means.
    pub const fn class(&self) -> CheckpointClass {
        self.mark.row().class
    }

    /// What recovery does.
    pub const fn lane(&self) -> RecoveryLane {
        self.mark.row().lane
    }
}
