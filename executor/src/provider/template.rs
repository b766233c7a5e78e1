//! Fills the placeholders of a boot spec.
//!
//! In command, environment and verify commands: `{port}` (the first port; one named `main` where the spec lists
//! none), `{port:NAME}`, `{slot}`, `{group}`, `{index}`, `{attempt}` (its UUID), and `{levelhead}` (the path of
//! this program, so that an example needs nothing installed). A port that the attempt does not have is refused.
//! All other text in braces stays as it is, so that JSON needs no escapes.

use std::collections::BTreeMap;

use reconciler_core::{
    desired::{BootSpec, NodeSpec},
    id::{LogicalNodeId, Uuid},
};

/// A placeholder that cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// It names a port that the attempt does not have.
    #[error("the placeholder for port `{0}` names no port of the spec")]
    NoPort(String),
    /// A port is listed twice.
    #[error("port `{0}` is listed twice")]
    PortTwice(String),
}

/// The port of a spec that uses `{port}` and lists none.
const MAIN_PORT: &str = "main";

/// What the placeholders stand for.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    pub(crate) slot: &'a LogicalNodeId,
    pub(crate) attempt: Uuid,
    pub(crate) ports: &'a BTreeMap<String, u16>,
    pub(crate) first_port: Option<u16>,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        slot: &'a LogicalNodeId,
        attempt: Uuid,
        boot: &BootSpec,
        ports: &'a BTreeMap<String, u16>,
    ) -> Self {
        let first_port = match boot.ports.first() {
            Some(first) => ports.get(first).copied(),
            // What lists no port may still have one: `main` here, whatever it is called elsewhere.
            None => ports.values().next().copied().filter(|_| ports.len() == 1),
        };
        Self { slot, attempt, ports, first_port }
    }

    /// `text` with its placeholders filled.
    pub(crate) fn fill(&self, text: &str) -> Result<String, TemplateError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let filled = match after.split_once('}') {
                Some((name, tail)) => self.value(name)?.map(|value| (value, tail)),
                None => None,
            };
            if let Some((value, tail)) = filled {
                out.push_str(&value);
                rest = tail;
            } else {
                out.push('{');
                rest = after;
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn value(&self, name: &str) -> Result<Option<String>, TemplateError> {
        Ok(Some(match name {
            "slot" => self.slot.to_string(),
            "group" => self.slot.group.to_string(),
            "index" => self.slot.index.to_string(),
            "attempt" => self.attempt.to_string(),
            "levelhead" => match std::env::current_exe() {
                Ok(program) => program.to_string_lossy().into_owned(),
                Err(_unknown) => return Ok(None),
            },
            "port" => {
                self.first_port.map(|port| port.to_string()).ok_or_else(|| no_port("main"))?
            }
            other => match other.strip_prefix("port:") {
                Some(port) => {
                    self.ports.get(port).map(ToString::to_string).ok_or_else(|| no_port(port))?
                }
                None => return Ok(None),
            },
        }))
    }
}

fn no_port(name: &str) -> TemplateError {
    TemplateError::NoPort(name.to_owned())
}

/// `spec` with every placeholder of command, environment and verify commands filled.
pub(super) fn filled(spec: &NodeSpec, values: &Values<'_>) -> Result<NodeSpec, TemplateError> {
    let mut spec = spec.clone();
    let boot = &mut spec.boot;
    let verify = boot.verify.iter_mut().flat_map(|command| command.argv.iter_mut());
    for text in boot.command.iter_mut().chain(boot.env.values_mut()).chain(verify) {
        *text = values.fill(text)?;
    }
    Ok(spec)
}

/// Names of the ports to allocate for `boot`.
pub(super) fn port_names(boot: &BootSpec) -> Result<Vec<String>, TemplateError> {
    let mut names = boot.ports.clone();
    if names.is_empty() && texts(boot).any(|text| text.contains("{port}")) {
        names.push(MAIN_PORT.to_owned());
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if let Some([twice, _]) = sorted.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(TemplateError::PortTwice((*twice).clone()));
    }
    Ok(names)
}

/// Checks that every placeholder of `boot` can be filled, before anything is made for it.
pub(super) fn check(boot: &BootSpec, values: &Values<'_>) -> Result<(), TemplateError> {
    texts(boot).filter(|text| text.contains('{')).try_for_each(|text| values.fill(text).map(drop))
}

fn texts(boot: &BootSpec) -> impl Iterator<Item = &String> {
    let verify = boot.verify.iter().flat_map(|command| &command.argv);
    boot.command.iter().chain(boot.env.values()).chain(verify)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        let slot = "web-3".parse().unwrap();
        let ports = BTreeMap::from([("http".to_owned(), 8080), ("raft".to_owned(), 9090)]);
        let boot = BootSpec { ports: vec!["raft".into(), "http".into()], ..BootSpec::default() };
        let values = Values::new(&slot, Uuid::from_bytes([0; 16]), &boot, &ports);
        values.fill(text).map_err(|problem| problem.to_string())
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stay() {
        let rows = [
            ("{slot}/{group}/{index}", "web-3/web/3"),
            ("--listen=127.0.0.1:{port}", "--listen=127.0.0.1:9090"),
            ("{port:http}{port:raft}", "80809090"),
            (r#"{"a":{"port":1}}"#, r#"{"a":{"port":1}}"#),
            ("{", "{"),
            ("{{slot}}", "{web-3}"),
            ("{}", "{}"),
            ("{attempt}", "00000000-0000-0000-0000-000000000000"),
        ];
        for (text, want) in rows {
            assert_eq!(filled(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn a_port_that_the_spec_does_not_list_is_refused() {
        assert!(filled("{port:grpc}").is_err());
    }

    #[test]
    fn a_port_is_allocated_for_a_bare_placeholder_only() {
        let boot =
            |command: &str| BootSpec { command: vec![command.into()], ..BootSpec::default() };
        assert_eq!(port_names(&boot("a {port}")).unwrap(), ["main"]);
        assert!(port_names(&boot("a")).unwrap().is_empty());
        let twice = BootSpec { ports: vec!["a".into(), "b".into(), "a".into()], ..boot("x") };
        assert!(port_names(&twice).is_err());
    }
}
