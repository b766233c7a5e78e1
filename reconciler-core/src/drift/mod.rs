//! Drift: where what is observed is not what is desired, each case with its kind, severity and reason.
//!
//! Pure, and beside the decision: what may be repaired is repaired by the decider whether or not anyone reads
//! this; what may not is shown here, and refuses the plans of its group. How a case is named stands in `kind`,
//! how it is found in `classify`, `slot` and `spec`.

mod classify;
mod kind;
mod slot;
mod spec;

pub use classify::{classify, refusals};
pub use kind::{Drift, DriftKind, DriftSubject, Repair, Severity};
