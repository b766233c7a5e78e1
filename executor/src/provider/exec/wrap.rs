//! A node that joins by its agent: its command is the agent's, and the token goes with its secrets.

use std::collections::BTreeMap;

use reconciler_core::desired::NodeSpec;

use super::request::Handed;
use crate::{agent::protocol::TOKEN_VAR, secret::Secret};

/// `spec` with its command run by the agent at `agent`, which is told `told`; the token is handed over with `secrets`.
pub(super) fn by_agent(
    agent: &str,
    told: BTreeMap<&'static str, String>,
    mut spec: NodeSpec,
    secrets: &mut Handed,
) -> NodeSpec {
    for (name, value) in told {
        if name == TOKEN_VAR {
            secrets.0.insert(name.to_owned(), Secret::new(value));
        } else {
            spec.boot.env.insert(name.to_owned(), value);
        }
    }
    let words = [agent, "agent", "--"].map(str::to_owned);
    let command = std::mem::take(&mut spec.boot.command);
    spec.boot.command = words.into_iter().chain(command).collect();
    spec
}
