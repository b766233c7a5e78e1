//! One module per provider.

#[cfg(feature = "docker")]
pub mod docker;
pub mod exec;
pub(crate) mod last_lines;
pub mod process;
pub(crate) mod template;
