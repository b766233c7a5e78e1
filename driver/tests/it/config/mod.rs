//! The desired-state file: what is refused and how it is said, what is accepted, and how the file is read.

mod accept;
mod files;
mod fuzz;
mod gates;
mod guardrails;
mod hints;
mod hooks;
mod probes;
mod refuse;
mod render;
mod secrets;
mod support;
mod update;
