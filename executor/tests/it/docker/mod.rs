//! The docker provider on a real engine.

mod conformance;
mod engine;
mod rig;
