//! The front end of Levelhead as a library, so that its parts can be tested without a terminal.

pub mod cli;
pub mod console;
mod explained;
pub mod place;
