//! The one gate that free text passes before it is kept or shown.
//!
//! `Redacted` can only be made here: control characters and direction marks go, values of keys that name a
//! secret and bearer tokens are replaced, and the length is bounded. Known secret values are taken out by the
//! caller that resolved them, before the text comes here.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::limits;

/// Stands where a secret stood.
pub const MARK: &str = "[redacted]";

const SECRET_KEYS: [&str; 7] =
    ["token", "pass", "secret", "credential", "auth", "apikey", "api_key"];

/// Free text that may be stored and shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Redacted(String);

impl Redacted {
    /// Cleans `text`.
    pub fn new(text: &str) -> Self {
        let mut out = String::with_capacity(text.len().min(limits::TEXT_LEN_MAX));
        let mut after_bearer = false;
        for (n, word) in text.split([' ', '\n', '\t']).enumerate() {
            if n > 0 {
                out.push(' ');
            }
            if after_bearer && !word.is_empty() {
                out.push_str(MARK);
                after_bearer = false;
                continue;
            }
            after_bearer = word.trim_start_matches('"').eq_ignore_ascii_case("bearer");
            push_word(&mut out, word);
        }
        Self(bounded(out))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// True if a key by its name holds a secret.
pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_KEYS.iter().any(|part| key.contains(part)) || key.ends_with("_key") || key == "key"
}

fn push_word(out: &mut String, word: &str) {
    let cut = word.find(['=', ':']).filter(|at| is_secret_key(word.get(..*at).unwrap_or_default()));
    let Some(at) = cut else {
        out.extend(word.chars().filter(|c| is_plain(*c)));
        return;
    };
    let end = at.saturating_add(1);
    out.extend(word.get(..end).unwrap_or_default().chars().filter(|c| is_plain(*c)));
    if word.len() > end {
        out.push_str(MARK);
    }
}

/// False for characters that could move a cursor, colour a terminal or turn the reading direction.
fn is_plain(c: char) -> bool {
    let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    !c.is_control() && !turns
}

fn bounded(mut text: String) -> String {
    if text.len() <= limits::TEXT_LEN_MAX {
        return text;
    }
    let mut end = limits::TEXT_LEN_MAX;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.truncate(end);
    text.push('~');
    text
}

impl<'de> Deserialize<'de> for Redacted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Stored text passed this gate once; passing it again keeps a hand-edited row harmless.
        Ok(Self::new(&String::deserialize(deserializer)?))
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for Redacted {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Redacted {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}
