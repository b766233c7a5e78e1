//! The console: a full-screen view of one run, in which counts are drafted, planned, confirmed and applied.
//!
//! Messages go in ([`message::Msg`]), [`update::update`] folds them into a [`model::Model`] and answers with
//! commands, [`view::draw`] paints the model. Those three are pure; `run` and `terminal` are all that touches
//! the outside. Not here: the driver behind [`link::ConsoleLink`].

mod backoff;
mod census;
mod clock;
mod confirm;
mod cursor;
mod draft;
mod files;
pub mod filter;
mod glyphs;
pub mod key;
pub mod keymap;
mod layout;
pub mod link;
pub mod message;
pub mod model;
mod moment;
pub mod options;
mod order;
mod palette;
mod past;
mod popup;
mod release;
mod replay;
mod rows;
mod run;
pub mod stage;
mod steer;
pub mod tape;
mod terminal;
mod text;
pub mod update;
pub mod view;
mod wake;
mod wish;

pub(crate) use backoff::Backoff;
pub use confirm::Confirmed;
pub(crate) use confirm::Ladder;
pub use release::ConfirmedRelease;
pub use replay::replay;
pub use run::{ConsoleError, run};
