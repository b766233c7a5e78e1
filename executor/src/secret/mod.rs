//! Secrets of nodes: read where they are referred to, handed to what needs them, and kept out of every text.

mod forms;
mod gate;
mod needles;
mod scan;
mod source;
mod stream;
mod vault;

pub(crate) use needles::Needles;
pub use source::Secret;
pub use stream::Cleaner;
pub use vault::{Missing, SecretEnv, Secrets};
