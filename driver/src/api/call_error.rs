//! Why a call to a driver brought no answer.

use std::io;

use crate::view::Refusal;

/// Why a call brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The driver refused; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The socket could not be used.
    #[error("no driver answers at {place}")]
    Socket {
        /// Where it was called.
        place: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The connection broke; whether a change was made is not known.
    #[error("the driver broke off the call; what became of it is not known")]
    Broken(#[source] hyper::Error),
    /// The answer cannot be read, as from another version.
    #[error("the driver's answer cannot be read")]
    Answer(#[source] serde_json::Error),
    /// The call could not be made.
    #[error("the call cannot be written")]
    Call(#[source] axum::http::Error),
}
