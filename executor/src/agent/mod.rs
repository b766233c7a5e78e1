//! The agent: what runs a workload on its node and speaks for it to the driver.
//!
//! [`protocol`] is what the two say to each other and what a node's environment tells its agent; `grant` is the driver's
//! side of a token, and [`run`] the agent itself. Who is let in is decided by `reconciler-core`; the driver's door to
//! agents stands in `driver`.

mod children;
mod grant;
mod link;
mod output;
pub mod protocol;
mod run;
mod settings;
mod workload;

pub use grant::Grants;
pub use run::{AgentError, Ended, run};
pub use settings::{Settings, SettingsError};
pub use workload::become_below;
