//! The battery that every provider must pass, also those that others write.

mod bench;
mod hooks;
mod leases;
mod options;
mod report;
mod run;
mod seen;
mod workloads;

pub use options::BatteryOptions;
pub use report::{Check, Outcome, Report};
pub use run::run;
