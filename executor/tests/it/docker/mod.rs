//! The docker provider on a real engine.

mod by_hand;
mod calls;
mod conformance;
#[cfg(test)]
mod door;
#[cfg(test)]
pub(crate) mod engine;
mod liar;
mod mapping;
mod options;
mod probes;
#[cfg(test)]
mod pull;
mod refusal;
mod registry;
mod rig;
