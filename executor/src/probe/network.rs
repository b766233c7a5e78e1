//! Asks workloads over the network: a connection to a port, or a request to it.

use reconciler_core::{
    desired::ProbeCheck,
    observed::{Endpoint, ProbeAnswer},
};

use super::{
    http,
    place::{Place, unknown},
    tcp,
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
