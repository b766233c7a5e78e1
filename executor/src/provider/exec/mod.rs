//! The `exec` provider: a program of the user's own, called once per request with JSON on stdin and stdout.

mod answer;
mod factory;
mod fence;
mod fields;
mod options;
mod pipe;
mod plugin;
mod program;
mod request;
mod wrap;
mod young;

pub use factory::ExecFactory;
