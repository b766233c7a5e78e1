//! Laws of the executor, proven from outside.

mod process;
mod process_gaps;
mod process_sessions;
mod ward;
