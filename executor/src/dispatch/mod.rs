//! Carries durable intents to providers and observations back.

mod bucket;
mod deadline;
mod dedup;
mod ground;
mod job;
mod lane;
mod look;
mod observe;
mod perform;
mod preflights;
mod probe;
mod report;
mod room;
mod run;
mod shared;

pub use preflights::Now;
pub use probe::Probing;
pub use report::{Report, ReportSink};
pub use room::Room;
pub use run::{Dispatcher, Settings};
pub use shared::FenceReader;
