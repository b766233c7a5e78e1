//! Carries durable intents to providers and observations back.

mod bucket;
mod deadline;
mod dedup;
mod ground;
mod lane;
mod observe;
mod perform;
mod report;
mod room;
mod run;

pub use report::{Report, ReportSink};
pub use room::Room;
pub use run::{Dispatcher, FenceReader, Settings};
