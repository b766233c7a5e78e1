//! `levelhead ownership`: who answers for what, and how it goes to somebody else.

mod args;
mod handoff;
mod run;
mod status;

pub(crate) use args::OwnershipVerb;
pub(crate) use run::run;
