//! Fills the placeholders of a boot spec, so that no program has to.
//!
//! `{slot}`, `{group}`, `{index}`, `{attempt}`, `{port:NAME}`, and `{port}` for the first port of the spec or the
//! only one of the endpoint. All other text in braces stays, so that JSON needs no escapes.

use reconciler_core::{desired::NodeSpec, effect::NodeRequest, observed::Endpoint};

/// A port that the spec uses and the endpoint does not have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` uses a port that the endpoint does not have")]
pub(super) struct PortError(String);

/// The spec of `request` with the placeholders of command, environment and verify commands filled.
pub(super) fn filled(request: &NodeRequest, endpoint: &Endpoint) -> Result<NodeSpec, PortError> {
    let values = values(request, endpoint);
    let mut spec = NodeSpec::clone(&request.spec);
    let boot = &mut spec.boot;
    let verify = boot.verify.iter_mut().flat_map(|command| command.argv.iter_mut());
    for text in boot.command.iter_mut().chain(boot.env.values_mut()).chain(verify) {
        if !text.contains('{') {
            continue;
        }
        // No value contains a brace, so what was filled in is never filled again.
        *text = values
            .iter()
            .fold(std::mem::take(text), |text, (name, value)| text.replace(name, value));
        if text.contains("{port}") || text.contains("{port:") {
            return Err(PortError(std::mem::take(text)));
        }
    }
    Ok(spec)
}

fn values(request: &NodeRequest, endpoint: &Endpoint) -> Vec<(String, String)> {
    let slot = &request.slot;
    let mut values = vec![
        ("{slot}".to_owned(), slot.to_string()),
        ("{group}".to_owned(), slot.group.to_string()),
        ("{index}".to_owned(), slot.index.to_string()),
        ("{attempt}".to_owned(), request.attempt.uuid.to_string()),
    ];
    let named = endpoint.ports.iter();
    values.extend(named.map(|(name, port)| (format!("{{port:{name}}}"), port.to_string())));
    let first = match request.spec.boot.ports.first() {
        Some(name) => endpoint.ports.get(name),
        None => endpoint.ports.values().next().filter(|_| endpoint.ports.len() == 1),
    };
    values.extend(first.map(|port| ("{port}".to_owned(), port.to_string())));
    values
}
