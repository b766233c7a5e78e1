//! One module per provider.

pub mod process;
