//! Canonical JSON (RFC 8785) of the few value kinds that Levelhead hashes.
//!
//! There are no floats here, and 64-bit integers are written as decimal strings: the RFC sends numbers through
//! a double, in which two different counters can become the same bytes.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::cmp::Ordering;

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
pub struct Key(String);

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

    fn push(&self, out: &mut String) {
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

fn push_text(out: &mut String, text: &str) {
    out.push('"');
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
    out.push('"');
}
