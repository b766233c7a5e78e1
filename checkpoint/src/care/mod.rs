//! Looking after a journal: is it whole, copies of it, putting one back, setting one aside, making it smaller.
//!
//! Everything here that changes a journal holds its run's lock, so that no driver lives beside it, and changes what
//! stands on disk by one rename; a process that is killed anywhere leaves the journal of before or of after.

pub mod backup;
pub mod compact;
mod content;
pub mod finding;
pub mod inspect;
mod links;
pub mod manifest;
mod part;
pub mod replace;
mod rows;
pub(crate) mod succeed;
pub mod verify;
mod vouched;

pub use part::PartError;
