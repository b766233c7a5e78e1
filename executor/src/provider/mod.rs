//! One module per provider.

#[cfg(feature = "docker")]
pub mod docker;
pub mod exec;
mod last_lines;
pub mod process;
mod template;
