//! The option `ports`: what is said of each port of a node.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reader::Reader;

/// What the options say of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortRule {
    /// Where the workload listens.
    pub(super) inside: u16,
    /// Where the machine does, if that is fixed.
    pub(super) outside: Option<u16>,
}

/// Reads the option `ports`.
pub(super) fn read(reader: &mut Reader<'_>) -> BTreeMap<String, PortRule> {
    let hint = "such as http = 80, or http = \"8080:80\" where the machine's port is fixed as well";
    let mut rules = BTreeMap::new();
    for (name, (key, value)) in reader.members("ports") {
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        let rule = match value {
            Value::Number(number) => {
                port(&number.to_string()).map(|inside| PortRule { inside, outside: None })
            }
            Value::String(text) => text.split_once(':').and_then(|(outside, inside)| {
                Some(PortRule { inside: port(inside)?, outside: Some(port(outside)?) })
            }),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match rule {
            Some(rule) => drop(rules.insert(name.to_owned(), rule)),
            None => reader.wrong(key, "it is no port", hint),
        }
    }
    rules
}
