//! The commented starter file that `levelhead init` writes: valid as it is, and a lesson in the format.

use reconciler_core::id::{RunName, Uuid};

/// The starter file for a run.
pub fn starter(run: &RunName, uuid: Uuid) -> String {
    TEMPLATE.replace("@RUN@", run.as_str()).replace("@UUID@", &uuid.to_string())
}

const TEMPLATE: &str = include_str!("starter.toml");
