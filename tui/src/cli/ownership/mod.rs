//! `levelhead ownership`: who answers for what, and how it goes to somebody else.

mod args;
mod handoff;
mod status;

pub(crate) use args::OwnershipVerb;

use super::{context::Context, exit::Outcome};

/// Carries out what was typed.
pub(crate) fn run(context: &Context, verb: &OwnershipVerb) -> Outcome {
    match verb {
        OwnershipVerb::Status { .. } => status::run(context),
        OwnershipVerb::Handoff(args) => handoff::run(context, args),
    }
}
