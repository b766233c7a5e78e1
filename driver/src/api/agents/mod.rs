//! The driver's door to agents: TLS with a certificate of its own that they pin, and a token for each attempt.

mod door;
mod identity;
mod talk;

pub(super) use door::serve;
pub(crate) use door::{DoorError, Opened, Opening};
pub(crate) use talk::{Heard, Knock, Said, Turned};
