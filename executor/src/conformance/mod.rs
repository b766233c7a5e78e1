//! The battery that every provider must pass, also those that others write.

mod bench;
mod leases;
mod report;
mod run;
mod workloads;

pub use report::{Check, Outcome, Report};
pub use run::{BatteryOptions, run};
