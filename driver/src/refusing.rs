//! How a refusal is made: one word for its kind, and what to tell.

use crate::view::{Refusal, RefusalKind};

/// A refusal of `kind`.
pub(crate) fn refuse(kind: RefusalKind, message: impl Into<String>) -> Refusal {
    Refusal { kind, message: message.into(), moved: Vec::new(), hint: None }
}
