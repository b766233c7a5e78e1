//! The control API: HTTP/1.1 and JSON under `/v1` on a Unix socket that its owner alone may use, and,
//! where it is asked for, over TLS for those who show a token or a certificate.

mod accept;
pub(crate) mod agents;
mod answer;
mod call_error;
mod client;
mod copies;
mod feed;
mod limits;
mod listen;
mod metrics;
mod private;
mod reach;
mod records;
mod remote;
mod rights;
mod serve;
mod server;
mod shared;
mod socket;
mod tally;
mod tokens;
mod watch_client;
mod watching;
mod wire;

pub use call_error::CallError;
pub use client::Client;
pub use listen::{Listen, ListenError, ListenFiles};
pub use remote::{Credentials, RemoteError};
pub(crate) use serve::{Serving, serve};
pub use tokens::{Token, TokenError, Tokens};
pub use watch_client::Seen;
pub(crate) use watch_client::Watch;
