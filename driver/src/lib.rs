//! The driver: the stateful loop around the pure decider, and what it shows to the faces.

pub mod config;
pub mod view;
