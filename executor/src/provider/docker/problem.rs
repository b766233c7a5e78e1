//! What can go wrong at an engine, and how it is told to the rest: class, certainty, cleaned message (C2).

use reconciler_core::{
    effect::{Certainty, EffectFailure, FailureClass},
    id::Fence,
    redact::Redacted,
    time::Millis,
};

use crate::provider::template::TemplateError;

/// Pause after an engine could not be reached, or asked for one.
const PAUSE: Millis = Millis::from_secs(2);

/// Why an engine gave no good answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EngineError {
    /// It was never asked.
    #[error("the Docker Engine cannot be reached: {0}")]
    Unreachable(String),
    /// It answered with a status that means a failure.
    #[error("the Docker Engine says: {message} (status {status})")]
    Refused { status: u16, message: String },
    /// It was asked, and its answer broke off or makes no sense.
    #[error("the Docker Engine's answer broke off: {0}")]
    Broken(String),
    /// It was asked, and did not answer in time.
    #[error("the Docker Engine gave no answer in time")]
    Late,
}

impl EngineError {
    /// True if the engine says that there is no such thing.
    pub(super) const fn is_absence(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// True if the engine says that something is in the way.
    pub(super) const fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }

    /// True if the engine itself says that it failed; who stands before it says so in other ways (502 to 504).
    pub(super) const fn is_own_failure(&self) -> bool {
        matches!(self, Self::Refused { status: 500, .. })
    }

    /// What it says, without the words around it.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Refused { message, .. } => message.clone(),
            Self::Unreachable(_) | Self::Broken(_) | Self::Late => self.to_string(),
        }
    }

    fn class(&self) -> FailureClass {
        match self {
            // An engine that is away is nobody's failure: its nodes are not charged, and it is left alone a while.
            Self::Unreachable(_) => FailureClass::RateLimited { retry_after: PAUSE },
            Self::Refused { status, .. } => match status {
                401 | 403 => FailureClass::Auth,
                404 => FailureClass::NotFound,
                429 => FailureClass::RateLimited { retry_after: PAUSE },
                408 | 500..=599 => FailureClass::Unavailable,
                _ => FailureClass::Invalid,
            },
            Self::Broken(_) => FailureClass::Unavailable,
            Self::Late => FailureClass::TimedOut,
        }
    }

    /// A refusal is a refusal; a server that failed may have done it first.
    fn certainty(&self) -> Certainty {
        match self {
            Self::Unreachable(_) => Certainty::Definite,
            Self::Refused { status, .. } if (400..500).contains(status) && *status != 408 => {
                Certainty::Definite
            }
            Self::Refused { .. } | Self::Broken(_) | Self::Late => Certainty::Ambiguous,
        }
    }
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("fence {given} is older than {seen}: a newer controller is in charge")]
    Fenced { given: Fence, seen: Fence },
    #[error("container {name} belongs to somebody else ({why}); it was not touched")]
    Foreign { name: String, why: String },
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("{0}")]
    Secrets(String),
    #[error("{0}")]
    Workload(String),
    /// The same, but it may have been done before.
    #[error("{0}")]
    Doubt(String),
    /// Nothing was done, and it may be done another time.
    #[error("{0}")]
    Away(String),
    #[error("{0}")]
    Full(String),
    #[error("the driver does not listen to agents; its log says why")]
    NoAgents,
    #[error("there is no container {0}")]
    NoLease(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Problem {
    pub(super) fn told(&self) -> Redacted {
        Redacted::new(&self.to_string())
    }

    /// The failure of the effect that ran into this.
    pub(super) fn failure(&self) -> EffectFailure {
        let (certainty, class) = match self {
            Self::Fenced { .. } => (Certainty::Definite, FailureClass::Fenced),
            Self::Foreign { .. } | Self::Invalid(_) | Self::Template(_) => {
                (Certainty::Definite, FailureClass::Invalid)
            }
            Self::Secrets(_) => (Certainty::Definite, FailureClass::Auth),
            Self::Workload(_) => (Certainty::Definite, FailureClass::Workload),
            Self::Doubt(_) => (Certainty::Ambiguous, FailureClass::Workload),
            Self::Full(_) => (Certainty::Definite, FailureClass::Capacity),
            Self::NoAgents | Self::Away(_) => (Certainty::Definite, FailureClass::Unavailable),
            Self::NoLease(_) => (Certainty::Definite, FailureClass::NotFound),
            Self::Engine(error) => (error.certainty(), error.class()),
        };
        EffectFailure { certainty, class, message: self.told() }
    }

    /// The same where something of the effect was done already: only a look can tell how far it came.
    pub(super) fn half_done(&self) -> EffectFailure {
        let failure = self.failure();
        match failure.class {
            FailureClass::Fenced | FailureClass::Auth | FailureClass::Invalid => failure,
            FailureClass::Quota
            | FailureClass::Capacity
            | FailureClass::RateLimited { .. }
            | FailureClass::NotFound
            | FailureClass::Unavailable
            | FailureClass::TimedOut
            | FailureClass::Crashed
            | FailureClass::Workload
            | FailureClass::Withdrawn => {
                EffectFailure { certainty: Certainty::Ambiguous, ..failure }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16) -> (Certainty, FailureClass) {
        let failure =
            Problem::from(EngineError::Refused { status, message: String::new() }).failure();
        (failure.certainty, failure.class)
    }

    /// C2: only what surely did not happen is definite.
    #[test]
    fn a_refusal_is_definite_and_a_server_error_is_doubt() {
        use Certainty::{Ambiguous, Definite};
        assert_eq!(told(400), (Definite, FailureClass::Invalid));
        assert_eq!(told(403), (Definite, FailureClass::Auth));
        assert_eq!(told(404), (Definite, FailureClass::NotFound));
        assert_eq!(told(409), (Definite, FailureClass::Invalid));
        assert_eq!(told(429), (Definite, FailureClass::RateLimited { retry_after: PAUSE }));
        assert_eq!(told(408), (Ambiguous, FailureClass::Unavailable));
        assert_eq!(told(500), (Ambiguous, FailureClass::Unavailable));
        assert_eq!(told(503), (Ambiguous, FailureClass::Unavailable));
        let late = Problem::from(EngineError::Late).failure();
        assert_eq!((late.certainty, late.class), (Ambiguous, FailureClass::TimedOut));
        let broken = Problem::from(EngineError::Broken(String::new())).failure();
        assert_eq!((broken.certainty, broken.class), (Ambiguous, FailureClass::Unavailable));
    }

    /// C7: an engine that is away charges no node.
    #[test]
    fn an_engine_that_was_never_reached_pauses_and_charges_nobody() {
        let failure = Problem::from(EngineError::Unreachable("gone".to_owned())).failure();
        assert_eq!(failure.certainty, Certainty::Definite);
        assert_eq!(failure.class, FailureClass::RateLimited { retry_after: PAUSE });
    }
}
