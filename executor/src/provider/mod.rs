//! One module per provider.

pub mod exec;
pub mod process;
mod template;
