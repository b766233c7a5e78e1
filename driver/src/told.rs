//! What people are to read in the log, between the pass that it happened in and the log.

use checkpoint::event::Subject;
use reconciler_core::redact::Redacted;
use tracing::Level;

/// An event on its way to the log.
pub(crate) struct Told {
    pub(crate) level: Level,
    pub(crate) subject: Subject,
    pub(crate) kind: &'static str,
    pub(crate) text: Redacted,
}
