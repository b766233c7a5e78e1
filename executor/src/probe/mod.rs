//! Asks workloads over the network: a connection to a port, or a request to it.
//!
//! What a node itself does wrong is a failure: it refuses, breaks off, answers badly or not in time. What this side
//! cannot do, such as finding a way to the host, says nothing of the node.

mod http;
mod tcp;

use std::io::{Error, ErrorKind};

use reconciler_core::{
    desired::ProbeCheck,
    observed::{Endpoint, ProbeAnswer},
    redact::Redacted,
};

/// Asks by the network; `None` for a command, which only a provider can run.
pub(crate) async fn over_network(check: &ProbeCheck, endpoint: &Endpoint) -> Option<ProbeAnswer> {
    let (name, path) = match check {
        ProbeCheck::Exec { .. } => return None,
        ProbeCheck::Http { port, path } => (port, Some(path)),
        ProbeCheck::Tcp { port } => (port, None),
    };
    let Some(port) = endpoint.ports.get(name) else {
        return Some(unknown(&format!("it is reached at no port called `{name}`")));
    };
    let place = Place { host: &endpoint.host, port: *port };
    Some(match path {
        Some(path) => http::ask(&place, path).await,
        None => tcp::ask(&place).await,
    })
}

/// Where a node is asked.
pub(super) struct Place<'a> {
    host: &'a str,
    port: u16,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// What an error says: of the node if it was the node's, else nothing.
fn told(what: &str, error: &Error) -> ProbeAnswer {
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

fn failed(text: &str) -> ProbeAnswer {
    ProbeAnswer::Failed(Redacted::new(text))
}

fn unknown(text: &str) -> ProbeAnswer {
    ProbeAnswer::Unknown(Redacted::new(text))
}
