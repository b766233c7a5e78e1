//! Reads where the driver listens to agents, and what agents are told of it.

use super::{
    diagnostic::{Diagnostic, Report},
    keys,
    reader::{At, Section},
};
use crate::agents::AgentPlace;

/// Reads `agent`.
pub(super) fn read(root: &Section<'_>, out: &mut Report) -> AgentPlace {
    let section = root.sub("agent", &keys::AGENT, out);
    let (listen, address) = (section.text("listen", out), section.text("address", out));
    let mut place = AgentPlace::default();
    if let Some(listen) = &listen {
        match listen.value.parse() {
            Ok(address) => place.listen = address,
            Err(_no_address) => {
                wrong(listen, "write an address with its port: listen = \"10.0.0.5:7443\"", out);
            }
        }
    }
    if let Some(address) = &address {
        if is_place(address.value) {
            place.address = Some(address.value.to_owned());
        } else {
            wrong(address, "write a host with its port: address = \"driver.example:7443\"", out);
        }
    }
    let everywhere = listen.filter(|_| place.listen.ip().is_unspecified() && address.is_none());
    if let Some(listen) = everywhere {
        let message = "agents are not told where to come";
        let hint = "say how nodes reach this machine: address = \"HOST:PORT\"";
        out.push(Diagnostic::new(listen.span, message).hint(hint));
    }
    place
}

fn wrong(text: &At<&str>, hint: &str, out: &mut Report) {
    let message = format!("`{}` is no place to listen to or to come to", text.value);
    out.push(Diagnostic::new(text.span.clone(), message).hint(hint));
}

/// True for a host and a port that agents can be told.
fn is_place(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let host_is_plain = !host.is_empty()
        && host.len() <= 253
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b));
    host_is_plain && port.parse::<u16>().is_ok_and(|port| port > 0)
}
