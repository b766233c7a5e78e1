//! `levelhead ownership`: who answers for what, and how it goes to somebody else.

mod args;
mod handoff;
mod status;

pub(crate) use args::{HandoffArgs, OwnershipVerb};

pub(crate) use handoff::run as hand_off;
pub(crate) use status::run as status;
