//! The options `volumes` and `binds`: what of outside stands in a node's file system.

use serde_json::Value;

use super::reader::{Reader, is_plain};

/// A volume of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    pub(super) name: String,
    /// Where it stands in the node.
    pub(super) path: String,
    /// True if it is the operator's: it has its own name, and outlives every node.
    pub(super) keep: bool,
    pub(super) read_only: bool,
}

/// A file or directory of the engine's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) source: String,
    pub(super) path: String,
    pub(super) read_only: bool,
}

const VOLUME_HINT: &str =
    "such as { name = \"data\", path = \"/data\" }, with keep = true if it is to outlive its node";

/// Reads the option `volumes`.
pub(super) fn read_volumes(reader: &mut Reader<'_>) -> Vec<Volume> {
    let mut volumes: Vec<Volume> = Vec::new();
    for table in reader.tables("volumes", VOLUME_HINT) {
        let text = |key: &str| table.get(key).and_then(Value::as_str).filter(|text| is_plain(text));
        let flag = |key: &str| table.get(key).map_or(Some(false), Value::as_bool);
        let known = |key: &String| ["name", "path", "keep", "read_only"].contains(&key.as_str());
        let (Some(name), Some(path)) = (text("name"), text("path")) else {
            reader.wrong("volumes", "a volume lacks its name or its path", VOLUME_HINT);
            continue;
        };
        let (Some(keep), Some(read_only), true) =
            (flag("keep"), flag("read_only"), table.keys().all(known))
        else {
            reader.wrong("volumes", format!("volume `{name}` is not understood"), VOLUME_HINT);
            continue;
        };
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if !name.chars().all(legal) || !path.starts_with('/') {
            let message =
                format!("volume `{name}` has an odd name, or a path that is not absolute");
            reader.wrong("volumes", message, VOLUME_HINT);
        } else if volumes.iter().any(|other| other.path == path) {
            let message = format!("two volumes stand at {path}");
            reader.wrong("volumes", message, "give each a path of its own");
        } else {
            let (name, path) = (name.to_owned(), path.to_owned());
            volumes.push(Volume { name, path, keep, read_only });
        }
    }
    volumes
}

/// Reads the option `binds`.
pub(super) fn read_binds(reader: &mut Reader<'_>) -> Vec<Bind> {
    let hint = "such as \"/srv/web:/web:ro\": a path there, a path in the node, and ro or rw";
    let mut binds = Vec::new();
    for text in reader.texts("binds", hint) {
        let mut parts = text.split(':');
        let (source, path, mode, rest) = (parts.next(), parts.next(), parts.next(), parts.next());
        let read_only = match mode {
            None | Some("rw") => Some(false),
            Some("ro") => Some(true),
            Some(_) => None,
        };
        match (source, path, read_only, rest) {
            (Some(source), Some(path), Some(read_only), None)
                if source.starts_with('/') && path.starts_with('/') =>
            {
                let (source, path) = (source.to_owned(), path.to_owned());
                binds.push(Bind { source, path, read_only });
            }
            _ => reader.wrong("binds", format!("`{text}` is not understood"), hint),
        }
    }
    binds
}
