//! Where a node is asked, and whose fault it is when it cannot be.
//!
//! What a node itself does wrong is a failure: it refuses, breaks off, answers badly or not in time. What this side
//! cannot do, such as finding a way to the host, says nothing of the node.

use std::io::{Error, ErrorKind};

use reconciler_core::{observed::ProbeAnswer, redact::Redacted};

/// Where a node is asked.
pub(super) struct Place<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// What an error says: of the node if it was the node's, else nothing.
pub(super) fn told(what: &str, error: &Error) -> ProbeAnswer {
    let text = format!("{what}: {error}");
    let own = matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::InvalidData
    );
    if own { failed(&text) } else { unknown(&text) }
}

pub(super) fn failed(text: &str) -> ProbeAnswer {
    ProbeAnswer::Failed(Redacted::new(text))
}

pub(super) fn unknown(text: &str) -> ProbeAnswer {
    ProbeAnswer::Unknown(Redacted::new(text))
}
