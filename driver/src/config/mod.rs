//! The desired-state file: read, checked as a whole with every problem named at its place, turned into a shape.
//!
//! Only here is user TOML read. What a shape means is decided in `reconciler-core`; when a file is applied, in
//! the loop.

mod agent;
mod boot;
mod capacity;
mod catalogue;
mod compare;
mod diagnostic;
mod env;
mod gates;
mod group;
mod guardrail;
mod hooks;
mod keys;
mod lines;
mod load;
mod mask;
mod placeholder;
mod policy;
mod probe_times;
mod probes;
mod provider;
mod quantity;
mod reader;
mod render;
mod setting;
mod shape;
mod source;
mod starter;
mod suggest;
mod syntax;
mod update;
mod writeback;

pub use catalogue::Catalogue;
pub use compare::{differs, revised, revisions};
pub use diagnostic::Diagnostic;
pub use load::{Confirm, FORMAT_VERSION, Loaded, check, identify, load};
pub use provider::ProviderDecl;
pub use render::{ConfigError, PlaceView, ProblemView, Problems, SHOWN_MAX};
pub use source::{FILE_BYTES_MAX, ReadError, Source, read};
pub use starter::starter;
pub use writeback::{WriteBackError, with_counts};
