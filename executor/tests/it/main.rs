//! Laws of the executor, proven from outside.
#![expect(clippy::unwrap_used, reason = "what cannot fail in a test fails the test")]

mod dispatch;
#[cfg(feature = "docker")]
mod docker;
mod exec;
mod exec_conformance;
mod exec_doubt;
mod exec_hooks;
mod exec_options;
mod exec_rig;
mod exec_secrets;
mod fake;
mod probes;
mod process;
mod process_gaps;
mod process_hooks;
mod process_sessions;
mod ward;
