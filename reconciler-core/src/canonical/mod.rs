//! Canonical JSON (RFC 8785) of the few value kinds that Levelhead hashes.
//!
//! There are no floats here, and 64-bit integers are written as decimal strings: the RFC sends numbers through
//! a double, in which two different counters can become the same bytes.
//! [`Canon`] is a value as a tree; [`write_object`] writes the same text without one, for what comes by the ten
//! thousand; [`read`] takes back nothing but canonical text.

mod read;
mod stream;
mod value;

pub use read::{ReadError, read};
pub use stream::{Members, push_list, push_num, write_object};
pub use value::{Canon, Key};
