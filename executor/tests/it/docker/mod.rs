//! The docker provider on a real engine.

mod by_hand;
mod conformance;
#[cfg(test)]
pub(crate) mod engine;
mod liar;
mod mapping;
mod options;
mod probes;
mod pull;
mod refusal;
mod registry;
mod rig;
