//! What can go wrong in this provider, and how it is told to the rest: class, certainty, cleaned message.

use std::{error::Error, io, path::PathBuf};

use reconciler_core::{
    effect::{Certainty, EffectFailure, FailureClass},
    id::Fence,
    redact::Redacted,
};

use crate::provider::template::TemplateError;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("fence {given} is older than {seen}: a newer controller is in charge")]
    Fenced { given: Fence, seen: Fence },
    #[error("{path} belongs to somebody else ({why}); it was not touched")]
    Foreign { path: PathBuf, why: &'static str },
    #[error("{path} is not as this provider wrote it")]
    Garbled {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot {doing} {path}")]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("{0}")]
    Secrets(String),
    #[error("{0}")]
    Workload(String),
    #[error("the driver does not listen to agents; its log says why")]
    NoAgents,
    #[error("there is no lease at {0}")]
    NoLease(PathBuf),
    #[error("process {pid} did not end although it was killed")]
    Unkillable { pid: i32 },
    #[error("the provider's own code failed")]
    Crashed,
}

impl Problem {
    pub(super) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    fn class(&self) -> FailureClass {
        match self {
            Self::Fenced { .. } => FailureClass::Fenced,
            Self::Foreign { .. } | Self::Garbled { .. } | Self::Template(_) | Self::Invalid(_) => {
                FailureClass::Invalid
            }
            Self::Io { source, .. } => class_of(source),
            Self::Secrets(_) => FailureClass::Auth,
            Self::Workload(_) => FailureClass::Workload,
            Self::NoAgents => FailureClass::Unavailable,
            Self::NoLease(_) => FailureClass::NotFound,
            Self::Unkillable { .. } => FailureClass::TimedOut,
            Self::Crashed => FailureClass::Crashed,
        }
    }

    /// The failure of an effect that surely did not happen.
    pub(super) fn definite(&self) -> EffectFailure {
        self.failure(Certainty::Definite)
    }

    /// The failure of an effect that may have happened in part.
    pub(super) fn ambiguous(&self) -> EffectFailure {
        let refused = matches!(
            self,
            Self::Fenced { .. }
                | Self::Foreign { .. }
                | Self::Garbled { .. }
                | Self::Template(_)
                | Self::Invalid(_)
                | Self::Secrets(_)
                | Self::NoAgents
        );
        self.failure(if refused { Certainty::Definite } else { Certainty::Ambiguous })
    }

    fn failure(&self, certainty: Certainty) -> EffectFailure {
        EffectFailure { certainty, class: self.class(), message: self.told() }
    }

    /// The message and those of its causes on one line.
    pub(super) fn told(&self) -> Redacted {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Redacted::from(text)
    }
}

/// A machine that is full is no fault of the request.
fn class_of(error: &io::Error) -> FailureClass {
    match error.raw_os_error() {
        Some(
            libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOSPC | libc::EDQUOT,
        ) => FailureClass::Capacity,
        Some(_) | None => FailureClass::Unavailable,
    }
}
