//! The picture of a model. Pure: it reads the model and paints a frame of any size.

mod content;
mod detail;
mod events;
mod fleet;
mod footer;
mod groups;
mod header;
mod help;
mod holds;
mod operations;
mod outcome;
mod overview;
mod paint;
mod pass;
mod passes;
mod plan;
mod popup;
mod release;
mod replay;
mod screen;

pub(crate) use header::due as header_due;
pub(crate) use popup::{size as popup_size, text as popup_text};
pub(crate) use replay::bar as replay_bar;
pub use screen::draw;
