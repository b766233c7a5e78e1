//! A canonical value as a tree, and its one text.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::cmp::Ordering;

use crate::redact::{MARK, Redacted, is_secret_key};

/// A value that has exactly one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Canon {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Canon>),
    /// Values by name.
    Object(BTreeMap<Key, Canon>),
}

/// A member name; orders by UTF-16 code units, as the RFC demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(pub(super) String);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.encode_utf16().cmp(other.0.encode_utf16())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Canon {
    /// A text value.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Anything displayable, as text.
    pub fn show(value: impl core::fmt::Display) -> Self {
        Self::Text(value.to_string())
    }

    /// A number, written as a decimal string.
    pub fn num(number: u64) -> Self {
        Self::Text(number.to_string())
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(items.into_iter().collect())
    }

    /// An object.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(k, v)| (Key(k.to_owned()), v)).collect())
    }

    /// An object of texts.
    pub fn text_map(map: &BTreeMap<String, String>) -> Self {
        Self::object(map.iter().map(|(k, v)| (k.as_str(), Self::text(v))))
    }

    /// The one text of this value.
    pub fn write(&self) -> String {
        let mut out = String::new();
        self.push(&mut out);
        out
    }

    /// The same value with every text in it cleaned, and what stands under the name of a secret replaced.
    #[must_use]
    pub fn redacted(&self) -> Self {
        match self {
            Self::Null | Self::Bool(_) => self.clone(),
            Self::Text(text) => Self::text(Redacted::new(text).as_str()),
            Self::List(items) => {
                let mut announced = false;
                let items = items.iter().map(|item| {
                    let hidden = core::mem::replace(&mut announced, item.announces_a_secret());
                    if hidden { Self::text(MARK) } else { item.redacted() }
                });
                Self::List(items.collect())
            }
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let hidden = is_secret_key(&name.0) && matches!(value, Self::Text(_));
                    (name.clone(), if hidden { Self::text(MARK) } else { value.redacted() })
                });
                Self::Object(members.collect())
            }
        }
    }

    /// True for an option of a command whose value, which comes next, is a secret.
    fn announces_a_secret(&self) -> bool {
        let Self::Text(text) = self else { return false };
        text.starts_with('-') && !text.contains(['=', ':', ' ']) && is_secret_key(text)
    }

    pub(super) fn push(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Text(text) => push_text(out, text),
            Self::List(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    item.push(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (n, (key, value)) in members.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    push_text(out, &key.0);
                    out.push(':');
                    value.push(out);
                }
                out.push('}');
            }
        }
    }
}

/// Writes a text in its quotes, with the escapes that it needs and no other.
pub(super) fn push_text(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// Writes the inside of a text.
pub(super) fn push_escaped(out: &mut String, text: &str) {
    // A sum has no early end, so the compiler looks at many bytes at once.
    let special = |b: u8| u32::from(b < 0x20) | u32::from(b == b'"') | u32::from(b == b'\\');
    if text.bytes().fold(0, |found, b| found | special(b)) == 0 {
        return out.push_str(text);
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if u32::from(c) < 0x20 => {
                out.push_str("\\u");
                let digit = |shift: u32| char::from_digit((u32::from(c) >> shift) & 0xf, 16);
                out.extend([12, 8, 4, 0].into_iter().filter_map(digit));
            }
            c => out.push(c),
        }
    }
}
