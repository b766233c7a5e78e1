//! The value of a fact that an explanation names.

use alloc::string::String;

use crate::time::Timestamp;

/// What a fact says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// A text.
    Text(String),
    /// A number.
    Count(u64),
    /// A time.
    At(Timestamp),
}
