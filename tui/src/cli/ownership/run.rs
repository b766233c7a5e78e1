//! From what was typed to what is done.

use super::{args::OwnershipVerb, handoff, status};
use crate::cli::{context::Context, exit::Outcome};

/// Carries out what was typed.
pub(crate) fn run(context: &Context, verb: &OwnershipVerb) -> Outcome {
    match verb {
        OwnershipVerb::Status { .. } => status::run(context),
        OwnershipVerb::Handoff(args) => handoff::run(context, args),
    }
}
