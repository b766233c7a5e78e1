//! Folding: what happened becomes what is known. The only writer of observed state.
//!
//! A fact about an older attempt, an older step or a closed session changes nothing (R59); the verdict says so.
//! What the rest of the system must know of a fold beyond the records themselves — how a step ended, what is
//! worth telling a person — is collected as [`Settlement`]s and [`Note`]s.

mod agent;
mod apply;
mod brake;
mod decided;
mod ending;
mod fact;
mod failure;
mod folding;
mod hooks;
mod listing;
mod look;
mod presence;
mod probe;
mod report;
mod rollout;
mod saga;
mod seen;
mod stages;

pub(crate) use apply::forbids_everything;
pub use fact::{Fact, Transition, Verdict};
pub(crate) use probe::is_believed;

pub use crate::observed::{About, Note, NoteKind, Settlement, StepEnd};
