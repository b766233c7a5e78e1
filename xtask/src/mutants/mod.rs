//! `cargo xtask mutants`: whether a test notices each change of the core.

mod edits;
mod judge;
mod listed;
mod splice;
mod tree;
mod trial;
mod verb;

pub(crate) use verb::run;
