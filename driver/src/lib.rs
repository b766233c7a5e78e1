//! The driver: the stateful loop around the pure decider, and what it shows to the faces.
//!
//! `run` owns every wait; `pass` is synchronous and owns every write of observed state; between them stand the
//! journal's barrier and the dispatcher. The faces talk to a [`Handle`] and read [`view`]s.
//!
//! Not here: decisions (`reconciler-core`), storage (`checkpoint`), providers (`executor`).

mod admitting;
mod agent_probing;
mod agents;
mod answering;
mod answers;
pub mod api;
mod capacity;
mod clock;
pub mod config;
mod covering;
mod edits;
mod explaining;
mod follow;
mod following;
mod guarding;
mod handle;
mod health;
mod hearing;
mod history;
mod inbox;
mod journaling;
mod last_lines;
mod link;
mod listings;
mod looping;
mod observing;
mod offline;
mod onlooker;
mod operations;
mod pass;
mod plan_view;
mod planning;
mod prober;
mod probing;
mod publish;
mod recovering;
mod recovery_list;
mod refusing;
mod release;
mod resume;
mod reverting;
mod ring;
mod run;
mod secrets;
mod shown;
#[cfg(feature = "sim")]
pub mod sim;
mod source;
mod start;
mod state;
mod stopping;
mod taking_over;
mod timed;
mod told;
mod totals;
pub mod view;
mod view_build;
mod waiting;
mod waking;
mod watch_file;

pub use agents::AgentPlace;
pub use clock::{Clock, system_clock};
pub use follow::{Content, Load};
pub use handle::Handle;
pub use inbox::StopReason;
pub use link::Link;
pub use offline::{Offline, OfflineError, events};
pub use onlooker::Onlooker;
pub use publish::Published;
pub use run::{DriveError, Ended};
pub use source::{Face, Source};
pub use start::{Begin, Driver, Followed, Ground, Options, StartError, StoreWake, start, start_on};
