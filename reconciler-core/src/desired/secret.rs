//! Where a node gets a secret from: a reference, which may be stored and hashed, and never the value (P8).
//!
//! Who reads the value, and keeps it out of every text, is the executor.

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits;

const ENV: &str = "env:";
const FILE: &str = "file:";

/// A reference to a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretRef {
    /// A variable in the environment of the program that starts the node: `env:NAME`.
    Env(String),
    /// The content of a file: `file:PATH`; a relative path starts at the directory of the desired-state file.
    File(String),
}

/// Why a text is no reference. It never quotes the text, which may be the secret itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretRefError {
    /// It says neither where.
    #[error("it is no reference to a secret")]
    NoScheme,
    /// What follows `env:` is no name.
    #[error("what follows `env:` is not a name of an environment variable")]
    BadName,
    /// What follows `file:` is no path.
    #[error("what follows `file:` is not a path")]
    BadPath,
}

/// True for a name that an environment variable can have: letters, digits and underscores, no digit first.
pub fn is_variable_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(first) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl FromStr for SecretRef {
    type Err = SecretRefError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(name) = text.strip_prefix(ENV) {
            let name = Some(name).filter(|name| is_variable_name(name));
            return name.map(|n| Self::Env(n.to_owned())).ok_or(SecretRefError::BadName);
        }
        let path = text.strip_prefix(FILE).ok_or(SecretRefError::NoScheme)?;
        let fits = !path.is_empty() && path.len() <= limits::PATH_LEN_MAX;
        if !fits || path.contains(char::is_control) {
            return Err(SecretRefError::BadPath);
        }
        Ok(Self::File(path.to_owned()))
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "{ENV}{name}"),
            Self::File(path) => write!(f, "{FILE}{path}"),
        }
    }
}

impl Serialize for SecretRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for SecretRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
