//! The saga's table: what an answer and the look after it come to, for one step and for a wave of them.

use crate::{effect::FailureClass, limits};

/// What came back of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The provider said yes.
    Accepted,
    /// The provider said no, or nothing at all.
    Failed {
        /// True if the same may be asked again after a look.
        retry_safe: bool,
    },
    /// It was taken back, because its controller stops.
    Cancelled,
}

impl Answer {
    /// Every answer.
    pub const ALL: [Self; 4] = [
        Self::Accepted,
        Self::Failed { retry_safe: true },
        Self::Failed { retry_safe: false },
        Self::Cancelled,
    ];

    /// What a failure of `class` is.
    pub const fn failed(class: FailureClass) -> Self {
        if matches!(class, FailureClass::Withdrawn) {
            return Self::Cancelled;
        }
        Self::Failed { retry_safe: is_retry_safe(class) }
    }
}

/// True if a failure of `class` may be gone when the same is asked again; a fresh attempt counts as the same.
pub const fn is_retry_safe(class: FailureClass) -> bool {
    match class {
        FailureClass::Quota
        | FailureClass::Capacity
        | FailureClass::RateLimited { .. }
        | FailureClass::NotFound
        | FailureClass::Unavailable
        | FailureClass::TimedOut
        | FailureClass::Crashed
        | FailureClass::Workload
        | FailureClass::Withdrawn => true,
        FailureClass::Auth | FailureClass::Invalid | FailureClass::Fenced => false,
    }
}

/// What a look showed of the effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sight {
    /// What it was to bring about is there.
    Satisfied,
    /// Nothing of it is there.
    NoEffect,
    /// It happened, and what it was to bring about is not there.
    Unmet,
    /// Nobody can say.
    Ambiguous,
}

impl Sight {
    /// Every sight.
    pub const ALL: [Self; 4] = [Self::Satisfied, Self::NoEffect, Self::Unmet, Self::Ambiguous];
}

/// Which doubt a hold is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldMark {
    /// The provider said yes, and nothing is there.
    AcceptedWithoutEffect,
    /// Nobody can say whether it happened.
    AmbiguousEffect,
}

/// What follows for the operation; orders by priority within a wave, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// The step succeeded.
    Verified,
    /// The step is tried again.
    Retry,
    /// The operation is broken off as it stands, and goes on another time.
    Interrupt,
    /// What was done before is taken back; this step did nothing.
    CompensateEarlier,
    /// This step and what was done before are taken back.
    CompensateThis,
    /// Nothing is done before the doubt is gone.
    Hold(HoldMark),
}

impl Decision {
    /// True if the operation turns back.
    pub const fn turns_back(self) -> bool {
        match self {
            Self::CompensateEarlier | Self::CompensateThis => true,
            Self::Verified | Self::Retry | Self::Interrupt | Self::Hold(_) => false,
        }
    }
}

/// What follows from an answer and a look, for the `nth` try of a step (from 1).
pub const fn decide(answer: Answer, sight: Sight, nth: u32) -> Decision {
    match (sight, answer) {
        (Sight::Satisfied, _) => Decision::Verified,
        (Sight::Unmet, _) => Decision::CompensateThis,
        (Sight::Ambiguous, _) => Decision::Hold(HoldMark::AmbiguousEffect),
        (Sight::NoEffect, Answer::Accepted) => Decision::Hold(HoldMark::AcceptedWithoutEffect),
        (Sight::NoEffect, Answer::Cancelled) => Decision::Interrupt,
        (Sight::NoEffect, Answer::Failed { retry_safe: true })
            if nth < limits::EFFECT_TRIES_MAX =>
        {
            Decision::Retry
        }
        (Sight::NoEffect, Answer::Failed { .. }) => Decision::CompensateEarlier,
    }
}

/// What follows for the whole where steps of one wave came to different decisions; nothing for no step.
///
/// A doubt outranks an effect that is there, that a definite failure, that a cancelled step, and that a retry.
pub fn of_wave(decisions: impl IntoIterator<Item = Decision>) -> Option<Decision> {
    decisions.into_iter().max()
}
