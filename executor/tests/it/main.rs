//! Laws of the executor, proven from outside.
#![expect(clippy::unwrap_used, reason = "what cannot fail in a test fails the test")]

mod process;
mod process_gaps;
mod process_sessions;
mod ward;
