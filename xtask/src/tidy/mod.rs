//! `cargo xtask tidy`: what neither the compiler nor clippy can see, one file per rule.

mod diagram;
mod docs;
mod law;
mod lex;
mod rooms;
mod seal;
mod size;
mod strict;
mod thresholds;
mod tree;
mod uses;
mod verb;
mod words;

pub(crate) use verb::run;
