//! The control API: HTTP/1.1 and JSON under `/v1` on a Unix socket that its owner alone may use.

mod client;
mod server;
mod socket;
mod wire;

pub use client::{CallError, Client};
pub(crate) use server::serve;
