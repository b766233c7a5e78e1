//! What follows from the kind of a failure: whether the same is asked again, and what brings its operation on.
//!
//! Both are functions of the class and the certainty that the journal keeps with a step (R102, R103): they are
//! derived where they are shown, so that no row can say something else than what is done.

use super::is_retry_safe;
use crate::effect::{Certainty, FailureClass, FailureKind};

/// Whether the same is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It would fail again.
    Never,
    /// Once a look has shown that nothing of it is there.
    SafeAfterObservation,
    /// It was taken back before it began: whoever drives next asks for it.
    ResumeFromCheckpoint,
}

/// What brings the operation of a failed step on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing but the retry.
    None,
    /// A look by id: it may have happened.
    Reobserve,
    /// Going on from where it stands.
    Resume,
    /// Taking back what came before it.
    Compensate,
}

impl Retry {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::SafeAfterObservation => "safe-after-observation",
            Self::ResumeFromCheckpoint => "resume-from-checkpoint",
        }
    }
}

impl Remedy {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reobserve => "reobserve",
            Self::Resume => "resume",
            Self::Compensate => "compensate",
        }
    }
}

impl FailureKind {
    /// Whether the same is asked again.
    pub const fn retry(self) -> Retry {
        if matches!(self.class, FailureClass::Withdrawn) {
            Retry::ResumeFromCheckpoint
        } else if is_retry_safe(self.class) {
            Retry::SafeAfterObservation
        } else {
            Retry::Never
        }
    }

    /// What brings its operation on. A doubt is looked into before anything else, whatever caused it.
    pub const fn remedy(self) -> Remedy {
        match (self.certainty, self.retry()) {
            (Certainty::Ambiguous, _) => Remedy::Reobserve,
            (Certainty::Definite, Retry::ResumeFromCheckpoint) => Remedy::Resume,
            (Certainty::Definite, Retry::SafeAfterObservation) => Remedy::None,
            (Certainty::Definite, Retry::Never) => Remedy::Compensate,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;
    use crate::saga::{Answer, Decision, Sight, decide};

    /// R102, R103: what is shown of a failure is what the table does with it: retried only where the table retries, looked
    /// into wherever it is in doubt.
    #[test]
    fn counsel_says_what_the_table_does() {
        for class in FailureClass::ALL {
            let kind = FailureKind { class, certainty: Certainty::Definite };
            let decided = decide(Answer::failed(class), Sight::NoEffect, 1);
            assert_eq!(kind.remedy() == Remedy::None, decided == Decision::Retry, "{class:?}");
            assert_eq!(kind.retry() == Retry::Never, kind.remedy() == Remedy::Compensate);
            let kind = FailureKind { class, certainty: Certainty::Ambiguous };
            assert_eq!(kind.remedy(), Remedy::Reobserve, "{class:?}");
        }
    }

    /// What the journal wrote is read back as it was, but for how long a provider asked to be left alone.
    #[test]
    fn a_kind_is_read_as_it_was_written() {
        for class in FailureClass::ALL {
            for certainty in [Certainty::Definite, Certainty::Ambiguous] {
                let kind = FailureKind { class, certainty };
                assert_eq!(kind.to_string().parse(), Ok(kind));
            }
        }
        for text in ["", "/", "auth", "auth/", "auth/perhaps", "Auth/definite", "auth/definite/"] {
            assert!(text.parse::<FailureKind>().is_err(), "{text}");
        }
    }
}
