//! `cargo xtask deps`: what the workspace is built from, against `law.rs`.

mod duplicates;
mod graph;
mod licences;
mod manifests;
mod verb;

pub(crate) use verb::run;
