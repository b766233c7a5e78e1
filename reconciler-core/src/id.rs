//! One newtype per noun, so that no number or string can stand in for another.
//!
//! Ids are parsed at the edge and only displayed afterwards. Slots and attempts stand in `slot.rs`.

use alloc::{borrow::ToOwned, format, string::String, sync::Arc};
use core::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Serialize, de, ser};
use sha2::{Digest, Sha256};

pub use crate::slot::{AttemptId, LogicalNodeId};
use crate::{
    hex::{push_uuid, with_hex},
    limits,
};

/// Why a text is not an id of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}: {rule}")]
pub struct IdError {
    /// The kind of id that was wanted.
    pub what: &'static str,
    /// The text that was given.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

pub(crate) fn fails(what: &'static str, text: &str, rule: &'static str) -> IdError {
    IdError { what, text: text.to_owned(), rule }
}

/// Checks the common rule of names: a letter first, then letters, digits and single hyphens, all lower case.
fn check_name(what: &'static str, text: &str) -> Result<(), IdError> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() {
        return Err(fails(what, text, "it must not be empty"));
    }
    if text.len() > limits::NAME_LEN_MAX {
        return Err(fails(what, text, "it is longer than 63 characters"));
    }
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(fails(what, text, "it must start with a lower-case letter"));
    }
    if text.ends_with('-') || text.contains("--") || !text.chars().all(legal) {
        return Err(fails(what, text, "only a-z, 0-9 and single inner hyphens are allowed"));
    }
    Ok(())
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name(Arc<str>);

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                // One name is mostly one allocation: records, specs and sets share it.
                if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                check_name($what, text)?;
                Ok(Self(text.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        text_serde!($name);
    };
}

/// Serialises a type as its `Display` text and reads it through `FromStr`.
macro_rules! text_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    };
}

pub(crate) use text_serde;

name_type!(
    /// The name of a run: a named cluster under one driver.
    RunName, "run name"
);
name_type!(
    /// The name of a declared set of like nodes.
    GroupId, "group name"
);
name_type!(
    /// The name under which a provider is configured (`process`, or the name of an exec provider).
    ProviderName, "provider name"
);

macro_rules! number_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Wraps a raw number, as read from a file or a row.
            pub const fn new(raw: u64) -> Self {
                Self(raw)
            }

            /// The raw number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The next one; the last one follows itself.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number_type!(
    /// The controller's epoch: strictly rising with every driver that takes a run.
    Fence
);
number_type!(
    /// The number of a desired shape; rises with its content.
    Generation
);
number_type!(
    /// The number of a pass within one journal.
    PassNumber
);
number_type!(
    /// Which incarnation of a slot this is: 1 for the first, never reused while the slot has a record.
    AttemptOrdinal
);
number_type!(
    /// An operation's row number in the journal.
    OperationId
);
number_type!(
    /// A step's number within the journal; unique over all operations.
    StepId
);
number_type!(
    /// The number of a bootstrap session within its attempt.
    SessionId
);
number_type!(
    /// How many plans this journal has confirmed; part of every plan hash.
    PlanSerial
);

/// Sixteen bytes that name a run or an attempt, written in the usual hyphenated form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// Wraps raw bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Appends its text.
    pub(crate) fn push(&self, out: &mut String) {
        push_uuid(out, &self.0);
    }

    /// The UUID of an attempt, derived so that a dry run gives the same one as the real run (D2).
    ///
    /// A slot that was reaped counts its attempts anew when it is wanted again; that is always in a later
    /// generation, so with `born`, the generation in which the slot got its record, no UUID comes back. An attempt
    /// of a record that was written without a birth has it at zero, and keeps the UUID that it was given.
    pub fn of_attempt(
        run: Self,
        slot: &LogicalNodeId,
        born: Generation,
        ordinal: AttemptOrdinal,
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"levelhead/attempt/1\0");
        hash.update(run.0);
        hash.update(slot.group.as_str().as_bytes());
        hash.update([0]);
        hash.update(slot.index.to_be_bytes());
        hash.update(ordinal.get().to_be_bytes());
        if born != Generation::default() {
            hash.update(born.get().to_be_bytes());
        }
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        // Version 8 (custom) and the standard variant, so that other tools accept it as a UUID.
        if let Some(byte) = bytes.get_mut(6) {
            *byte = (*byte & 0x0f) | 0x80;
        }
        if let Some(byte) = bytes.get_mut(8) {
            *byte = (*byte & 0x3f) | 0x80;
        }
        Self(bytes)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(36);
        self.push(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let rule = "it must be 32 hexadecimal digits in the form 8-4-4-4-12";
        let hyphens = [8, 13, 18, 23];
        let shaped = text.len() == 36
            && text
                .bytes()
                .enumerate()
                .all(|(i, b)| if hyphens.contains(&i) { b == b'-' } else { b.is_ascii_hexdigit() });
        if !shaped {
            return Err(fails("UUID", text, rule));
        }
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let raw = u128::from_str_radix(&digits, 16).map_err(|_bad| fails("UUID", text, rule))?;
        Ok(Self(raw.to_be_bytes()))
    }
}

text_serde!(Uuid);

macro_rules! digest_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// Wraps the 32 bytes of a SHA-256.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// Hashes `bytes`.
            pub fn of(bytes: &[u8]) -> Self {
                Self(Sha256::digest(bytes).into())
            }

            /// The raw bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// The first twelve hexadecimal digits, for people.
            pub fn short(&self) -> String {
                format!("{self}").chars().take(12).collect()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                with_hex(&self.0, |text| f.write_str(text))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let bad = || fails($what, text, "it must be 64 hexadecimal digits");
                if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return Err(bad());
                }
                let mut bytes = [0; 32];
                for (at, byte) in bytes.iter_mut().enumerate() {
                    let start = at.saturating_mul(2);
                    let pair = text.get(start..start.saturating_add(2)).ok_or_else(bad)?;
                    *byte = u8::from_str_radix(pair, 16).map_err(|_bad| bad())?;
                }
                Ok(Self(bytes))
            }
        }

        text_serde!($name);
    };
}

digest_type!(
    /// The hash of everything that a plan was made from; it *is* the confirmation token (P3).
    PlanHash, "plan hash"
);
digest_type!(
    /// The digest of the part of a spec whose change means replacement.
    RevisionDigest, "revision"
);
digest_type!(
    /// What tells the agent that joined from any other that shows its token: the hash of what only it knows.
    AgentSeal, "seal of an agent"
);
digest_type!(
    /// The key by which a provider recognises a request that it has seen.
    IdempotencyKey, "idempotency key"
);
