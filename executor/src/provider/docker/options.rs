//! The options of a docker provider: read once, every problem told at once.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
};

use serde_json::Value;

use super::{
    host::{self, TlsFiles},
    port_rule::{self, PortRule},
    reader::{Reader, is_plain},
    volumes::{self, Bind, Volume},
};
use crate::seam::{OptionProblem, ProviderOptions};

const KEYS: [&str; 18] = [
    "host",
    "tls",
    "pull",
    "publish",
    "port_range",
    "ports",
    "volumes",
    "binds",
    "networks",
    "user",
    "read_only",
    "init",
    "entrypoint",
    "labels",
    "log_max_bytes",
    "gpu_driver",
    "agent_path",
    "agent_source",
];

/// Ports that are given to nodes, unless the options say otherwise: below those that a system gives to its own
/// outgoing connections.
const PORT_RANGE: (u16, u16) = (20_000, 32_767);
/// A smaller file would not hold the last lines that are shown.
const LOG_BYTES_MIN: u64 = 4 * 1024;
/// Labels that begin so carry identity and fence.
const RESERVED_LABEL: &str = "levelhead";

/// Whether an image that the engine lacks is fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pull {
    /// A node whose image is missing is refused.
    #[default]
    Never,
    /// It is pulled before the first node of its revision is made.
    Missing,
}

/// What the operator wrote, with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Which engine; that of `DOCKER_HOST`, or the one of this machine, if none is named.
    pub(super) host: Option<String>,
    pub(super) tls: Option<TlsFiles>,
    pub(super) pull: Pull,
    /// The address of the engine's machine on which ports are published.
    pub(super) publish: IpAddr,
    /// The first and the last port that may be given to a node.
    pub(super) port_range: (u16, u16),
    pub(super) ports: BTreeMap<String, PortRule>,
    pub(super) volumes: Vec<Volume>,
    pub(super) binds: Vec<Bind>,
    pub(super) networks: Vec<String>,
    pub(super) user: Option<String>,
    pub(super) read_only: bool,
    /// Whether the engine's own init is the first process.
    pub(super) init: bool,
    /// Whether the image's entrypoint stays in front of the command.
    pub(super) entrypoint: bool,
    pub(super) labels: BTreeMap<String, String>,
    /// Size of one output file before it is rotated; the engine's own setting if none is given.
    pub(super) log_max_bytes: Option<u64>,
    pub(super) gpu_driver: Option<String>,
    /// Where the image has the agent; without it, this machine's is mounted.
    pub(super) agent_path: Option<String>,
    /// The program of the engine's machine that is mounted as the agent; this one if none is named.
    pub(super) agent_source: Option<String>,
}

/// Reads `options`; what is wrong is left at its default and told.
pub(super) fn read(options: &ProviderOptions) -> (Options, Vec<OptionProblem>) {
    let mut reader = Reader::new(options);
    let found = Options {
        host: host::read(&mut reader),
        tls: host::read_tls(&mut reader),
        pull: pull(&mut reader),
        publish: publish(&mut reader),
        port_range: port_range(&mut reader),
        ports: port_rule::read(&mut reader),
        volumes: volumes::read_volumes(&mut reader),
        binds: volumes::read_binds(&mut reader),
        networks: networks(&mut reader),
        user: reader.text("user", "such as user = \"1000:1000\""),
        read_only: reader.flag("read_only"),
        init: reader.flag("init"),
        entrypoint: reader.flag("entrypoint"),
        labels: labels(&mut reader),
        log_max_bytes: log_max_bytes(&mut reader),
        gpu_driver: reader.text("gpu_driver", "such as gpu_driver = \"nvidia\""),
        agent_path: absolute(&mut reader, "agent_path"),
        agent_source: absolute(&mut reader, "agent_source"),
    };
    if found.agent_path.is_some() && found.agent_source.is_some() {
        let message = "the image has the agent, or it is mounted: not both";
        reader.wrong("agent_source", message, "remove one of `agent_path` and `agent_source`");
    }
    if found.tls.is_some() && found.host.as_deref().is_some_and(|host| host.starts_with("unix")) {
        reader.wrong("tls", "a Unix socket has no TLS", "remove `tls`, or name a host with tcp://");
    }
    let known = |key: &str| KEYS.contains(&key.split('.').next().unwrap_or(key));
    for key in options.keys().filter(|key| !known(key)) {
        let hint = format!("known options are {}", KEYS.join(", "));
        reader.wrong(key, "there is no such option", &hint);
    }
    (found, reader.problems)
}

fn pull(reader: &mut Reader<'_>) -> Pull {
    match reader.options.get("pull").map(Value::as_str) {
        None | Some(Some("never")) => Pull::Never,
        Some(Some("missing")) => Pull::Missing,
        Some(_) => {
            reader.wrong("pull", "it must be \"never\" or \"missing\"", "never is the default");
            Pull::Never
        }
    }
}

fn publish(reader: &mut Reader<'_>) -> IpAddr {
    let hint = "such as publish = \"127.0.0.1\", or \"0.0.0.0\" for every address of the machine";
    let Some(text) = reader.text("publish", hint) else { return Ipv4Addr::LOCALHOST.into() };
    text.parse().unwrap_or_else(|_no_address| {
        reader.wrong("publish", "it must be an address", hint);
        Ipv4Addr::LOCALHOST.into()
    })
}

fn absolute(reader: &mut Reader<'_>, key: &'static str) -> Option<String> {
    let hint = format!("such as {key} = \"/usr/local/bin/levelhead\"");
    let path = reader.text(key, &hint)?;
    if path.starts_with('/') {
        return Some(path);
    }
    reader.wrong(key, "it must be an absolute path", &hint);
    None
}

fn port_range(reader: &mut Reader<'_>) -> (u16, u16) {
    let hint = "such as port_range = \"20000-32767\"";
    let Some(text) = reader.text("port_range", hint) else { return PORT_RANGE };
    let ends = text.split_once('-').and_then(|(first, last)| {
        Some((first.trim().parse::<u16>().ok()?, last.trim().parse::<u16>().ok()?))
    });
    match ends {
        Some((first, last)) if first > 0 && first <= last => (first, last),
        Some(_) | None => {
            reader.wrong("port_range", "it must be a first and a last port", hint);
            PORT_RANGE
        }
    }
}

fn networks(reader: &mut Reader<'_>) -> Vec<String> {
    let networks = reader.texts("networks", "such as networks = [\"backend\"]");
    let alone = |name: &String| matches!(name.as_str(), "host" | "none");
    if networks.iter().any(|name| name.contains(':')) {
        reader.wrong("networks", "it must name networks", "networks of other nodes are not shared");
    } else if networks.len() > 1 && networks.iter().any(alone) {
        let message = "`host` and `none` stand alone";
        reader.wrong("networks", message, "name one of them, or networks of the engine");
    }
    networks
}

fn labels(reader: &mut Reader<'_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (name, (key, value)) in reader.members("labels") {
        match value.as_str() {
            Some(_) if name.starts_with(RESERVED_LABEL) => {
                let hint = format!("labels that begin with `{RESERVED_LABEL}` carry identity");
                reader.wrong(key, "it is reserved", &hint);
            }
            Some(text) if is_plain(name) => {
                labels.insert(name.to_owned(), text.to_owned());
            }
            Some(_) | None => reader.wrong(key, "it must be a text", "write it in quotes"),
        }
    }
    labels
}

fn log_max_bytes(reader: &mut Reader<'_>) -> Option<u64> {
    let value = reader.options.get("log_max_bytes")?;
    let bytes = value.as_u64().filter(|bytes| *bytes >= LOG_BYTES_MIN);
    if bytes.is_none() {
        let message = "it must be a whole number of bytes, at least 4096";
        reader.wrong("log_max_bytes", message, "such as log_max_bytes = 10485760");
    }
    bytes
}
